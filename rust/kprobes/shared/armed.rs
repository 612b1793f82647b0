// SPDX-License-Identifier: GPL-2.0

//! What makes a place be hit.
//!
//! Ftrace has two ways to call, and may call a place in both for one hit. Then the one counts that
//! the place says: each call asks whether that is how the place is armed.

use crate::atomics::{
    AtomicU8,
    Ordering, //
};

/// What makes a place be hit, right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Armed {
    /// Nothing.
    No = 0,
    /// The breakpoint is there.
    Breakpoint,
    /// Ftrace calls us, and goes on where it was.
    Watching,
    /// Ftrace calls us, and goes on where we say.
    Changing,
}

impl Armed {
    /// Ftrace calls us, and goes on where we say if it is `changing`.
    pub(crate) fn called(changing: bool) -> Self {
        if changing {
            Self::Changing
        } else {
            Self::Watching
        }
    }
}

/// What a place says of it. Only one may change it at a time.
#[repr(transparent)]
pub(crate) struct State(AtomicU8);

impl State {
    /// Nothing makes it be hit.
    pub(crate) const fn new() -> Self {
        Self(AtomicU8::new(Armed::No as u8))
    }

    /// What makes it be hit, for who may change it.
    pub(crate) fn get(&self) -> Armed {
        let armed = self.0.load(Ordering::Relaxed);
        let all = [Armed::Breakpoint, Armed::Watching, Armed::Changing];
        let found = all.into_iter().find(|&one| one as u8 == armed);
        found.unwrap_or(Armed::No)
    }

    /// Is this what makes it be hit? Then the probes that it was armed for are seen.
    #[inline(always)]
    pub(crate) fn is(&self, armed: Armed) -> bool {
        self.0.load(Ordering::Acquire) == armed as u8
    }

    /// Notes what makes it be hit, after the probes have been.
    pub(crate) fn set(&self, armed: Armed) {
        self.0.store(armed as u8, Ordering::Release);
    }
}
