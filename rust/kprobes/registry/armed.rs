// SPDX-License-Identifier: GPL-2.0

//! What brings hits to a probe point.
//!
//! Two users of ftrace are ours: one watches, one may change where the function continues
//! (IPMODIFY). While both are called for one hit, the armed state says which of the calls counts.

use crate::atomics::{
    AtomicU8,
    Ordering, //
};

/// What brings hits to a point now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Armed {
    /// Nothing.
    No = 0,
    /// A breakpoint, or the jump in its place.
    Breakpoint,
    /// Ftrace, which calls our first user.
    Watching,
    /// Ftrace, which calls our IPMODIFY user.
    Changing,
}

impl Armed {
    /// Ftrace calls our IPMODIFY user if `changing`, else our first one.
    pub(crate) fn called(changing: bool) -> Self {
        if changing {
            Self::Changing
        } else {
            Self::Watching
        }
    }
}

/// The armed state of a point. One task changes it at a time.
#[repr(transparent)]
pub(crate) struct State(AtomicU8);

impl State {
    /// Not armed.
    pub(crate) const fn new() -> Self {
        Self(AtomicU8::new(Armed::No as u8))
    }

    /// The state, for the task that may change it.
    pub(crate) fn get(&self) -> Armed {
        let armed = self.0.load(Ordering::Relaxed);
        let all = [Armed::Breakpoint, Armed::Watching, Armed::Changing];
        let found = all.into_iter().find(|&one| one as u8 == armed);
        found.unwrap_or(Armed::No)
    }

    /// Is this the state? Then the hit sees the probes that the point was armed for.
    #[inline(always)]
    pub(crate) fn is(&self, armed: Armed) -> bool {
        self.0.load(Ordering::Acquire) == armed as u8
    }

    /// Changes the state, after the probes.
    pub(crate) fn set(&self, armed: Armed) {
        self.0.store(armed as u8, Ordering::Release);
    }
}
