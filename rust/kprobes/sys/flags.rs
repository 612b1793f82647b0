// SPDX-License-Identifier: GPL-2.0

//! The flag word of a probe. One task changes it at a time.
//!
//! It needs no order: a hit that finds a probe sees the flags from before the probe came into its
//! chain, and a later change only matters for hits after the next grace period.

use crate::atomics::{
    AtomicU32,
    Ordering, //
};

/// The flag word of a probe.
#[repr(transparent)]
pub(crate) struct Flags(AtomicU32);

impl Flags {
    /// No flag. In the kernel the word is part of the client's probe.
    #[cfg(loom)]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Is any of these flags set?
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

    /// Sets `bits`, and clears all others that are not in `kept`.
    pub(crate) fn begin(&self, kept: u32, bits: u32) {
        let all = self.0.load(Ordering::Relaxed) & kept | bits;
        self.0.store(all, Ordering::Relaxed);
    }
}
