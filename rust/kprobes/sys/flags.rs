// SPDX-License-Identifier: GPL-2.0

//! Words that hits read while one task changes them: the flags of a probe, and the armed state of a
//! probe point.
//!
//! The flags need no order: a hit that finds a probe sees its flags from before it was added to the
//! chain, and a later change only matters for hits after the next grace period.
//!
//! The armed state needs acquire and release. We have two ftrace users: the plain user, and the
//! IPMODIFY user, which may change where the function continues. While ftrace calls both for one
//! hit, the state says which of the calls counts.

use crate::atomics::{
    AtomicU32,
    AtomicU8,
    Ordering, //
};

/// The flag word of a probe.
#[repr(transparent)]
pub(crate) struct Flags(AtomicU32);

impl Flags {
    /// Makes a word without flags. In the kernel the word is part of the client's probe.
    #[cfg(loom)]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Returns whether any of these flags is set.
    #[inline(always)]
    pub(crate) fn any(&self, bits: u32) -> bool {
        self.0.load(Ordering::Relaxed) & bits != 0
    }

    /// Sets or clears flags.
    pub(crate) fn set(&self, bits: u32, on: bool) {
        let all = self.0.load(Ordering::Relaxed);
        let all = if on { all | bits } else { all & !bits };
        self.0.store(all, Ordering::Relaxed);
    }

    /// Sets `bits`, and clears all other flags that are not in `kept`.
    pub(crate) fn reset(&self, kept: u32, bits: u32) {
        let all = self.0.load(Ordering::Relaxed) & kept | bits;
        self.0.store(all, Ordering::Relaxed);
    }
}

/// How a point is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Armed {
    /// Not armed.
    No = 0,
    /// By a breakpoint, or by the jump that replaces it.
    Breakpoint = 1,
    /// By ftrace, which calls our plain user.
    Ftrace = 2,
    /// By ftrace, which calls our IPMODIFY user.
    FtraceIpmodify = 3,
}

/// The armed state of a point. One task changes it at a time.
#[repr(transparent)]
pub(crate) struct AtomicArmed(AtomicU8);

impl AtomicArmed {
    /// Makes the state of an unarmed point.
    pub(crate) const fn new() -> Self {
        Self(AtomicU8::new(Armed::No as u8))
    }

    /// Returns the state, for the task that may change it.
    pub(crate) fn get(&self) -> Armed {
        match self.0.load(Ordering::Relaxed) {
            1 => Armed::Breakpoint,
            2 => Armed::Ftrace,
            3 => Armed::FtraceIpmodify,
            _ => Armed::No,
        }
    }

    /// Returns whether this is the state. The hit then sees the probes of that state.
    #[inline(always)]
    pub(crate) fn is(&self, armed: Armed) -> bool {
        self.0.load(Ordering::Acquire) == armed as u8
    }

    /// Changes the state. A hit that sees the new state also sees earlier changes of the probes.
    pub(crate) fn set(&self, armed: Armed) {
        self.0.store(armed as u8, Ordering::Release);
    }
}
