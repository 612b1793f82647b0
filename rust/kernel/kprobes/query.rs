// SPDX-License-Identifier: GPL-2.0

//! Whether there may be a probe, and what a hit of it costs.
//!
//! Nobody but kprobes themselves can tell whether a place may be probed, and they do so when a
//! probe is registered. So a question is a registration, of a probe without handlers, which goes
//! again at once.
//!
//! What keeps a probe from a jump is known to the Rust implementation alone.

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

/// How the kernel comes to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// By a call of ftrace.
    Ftrace,
    /// By a jump, now or soon. That is also said of a probe that is disabled.
    Jump,
    /// By a breakpoint, which costs a trap at each hit, and why.
    Breakpoint(NoJump),
    /// By a breakpoint or a jump: this implementation of kprobes does not tell.
    Untold,
}

/// Why there is no jump instead of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoJump {
    text: &'static CStr,
    at: Option<usize>,
}

impl NoJump {
    /// The reason in words.
    pub const fn text(&self) -> &'static CStr {
        self.text
    }

    /// Where that is what is in the way, if it is not the probe's own place.
    pub const fn at(&self) -> Option<usize> {
        self.at
    }
}

/// May there be a probe at `place`, and how would the kernel come to it?
///
/// Another probe there, or one that comes later, may change the answer.
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
    /// How the kernel comes to this probe.
    pub fn way(&self, here: &ProcessContext) -> Result<Way, Refused> {
        here.check()?;
        // SAFETY: It is registered, and C changes this flag only before.
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
        // SAFETY: It is registered.
        let answer = unsafe { bindings::kprobe_why_no_jump(self.site().probe(), &mut why) };
        if answer != 1 {
            return to_result(answer)
                .map(|()| Way::Jump)
                .map_err(|error| Refused::with(Reason::Gone, error));
        }
        Ok(Way::Breakpoint(NoJump {
            // SAFETY: C answers with a string that is there for ever.
            text: unsafe { CStr::from_char_ptr(why.text) },
            at: (why.at != 0).then_some(why.at),
        }))
    }

    #[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
    fn jump(&self) -> Result<Way, Refused> {
        Ok(Way::Untold)
    }
}
