// SPDX-License-Identifier: GPL-2.0

//! Asks whether a place may be probed, and what a hit there costs.
//!
//! Only kprobes know whether a place may be probed, and they check that when a probe is registered.
//! So a query registers a probe without handlers, and unregisters it at once.
//!
//! Only the Rust implementation knows why a probe has no jump.

use super::{
    kind::{
        Kind,
        Nothing, //
    },
    Place,
    ProcessContext,
    Refused,
    Registration, //
};
use crate::{
    bindings,
    prelude::*, //
};

/// The way in which a hit reaches a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// By a call of ftrace.
    Ftrace,
    /// By a jump, now or soon. A disabled probe also has this way.
    Jump,
    /// By a breakpoint, which costs a trap at each hit, and the reason.
    Breakpoint(NoJump),
    /// By a breakpoint or a jump: this implementation of kprobes does not tell which.
    Unknown,
}

/// The reason why a breakpoint is not replaced by a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoJump {
    text: &'static CStr,
    at: Option<usize>,
}

impl NoJump {
    /// Returns the reason in words.
    pub const fn text(&self) -> &'static CStr {
        self.text
    }

    /// Returns the address that prevents the jump, if there is a single one.
    pub const fn at(&self) -> Option<usize> {
        self.at
    }
}

/// Returns how a hit at `place` would reach a probe, or why no probe may be there.
///
/// Another probe there, or a later one, may change the result.
///
/// # Examples
///
/// ```
/// use kernel::kprobes::{
///     query,
///     Place,
///     ProcessContext,
///     Way, //
/// };
///
/// let here = ProcessContext::here()?;
/// match query(&here, Place::symbol(c"kernel_clone")) {
///     Ok(Way::Breakpoint(why)) => pr_info!("each hit would cost a trap: {:?}\n", why.text()),
///     Ok(way) => pr_info!("yes: {way:?}\n"),
///     Err(refused) => pr_info!("no: {refused}\n"),
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn query(here: &ProcessContext, place: Place<'_>) -> Result<Way, Refused> {
    Registration::<Nothing>::register(here, place, ())?.way(here)
}

impl<K: Kind> Registration<K> {
    /// Returns the way in which a hit reaches this probe.
    pub fn way(&self, here: &ProcessContext) -> Result<Way, Refused> {
        here.check()?;
        // SAFETY: The probe is registered. C changes this flag only during registration.
        let flags = unsafe { (&raw const (*self.site().probe()).flags).read_volatile() };
        if flags & bindings::KPROBE_FLAG_FTRACE != 0 {
            return Ok(Way::Ftrace);
        }
        self.jump()
    }

    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    fn jump(&self) -> Result<Way, Refused> {
        use super::Reason;
        use crate::error::to_result;

        let mut why = pin_init::zeroed::<bindings::kprobe_no_jump>();
        // SAFETY: The probe is registered.
        let answer = unsafe { bindings::kprobe_why_no_jump(self.site().probe(), &mut why) };
        if answer != 1 {
            return to_result(answer)
                .map(|()| Way::Jump)
                .map_err(|error| Refused::with(Reason::Gone, error));
        }
        Ok(Way::Breakpoint(NoJump {
            // SAFETY: C returns a string that is never freed.
            text: unsafe { CStr::from_char_ptr(why.text) },
            at: (why.at != 0).then_some(why.at),
        }))
    }

    #[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
    fn jump(&self) -> Result<Way, Refused> {
        Ok(Way::Unknown)
    }
}
