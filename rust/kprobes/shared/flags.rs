// SPDX-License-Identifier: GPL-2.0

//! What is said of a probe, a bit each. Only one may change it at a time.
//!
//! It takes no order: what was said before a probe came into a chain is seen with the probe, and
//! what is said later makes a difference to later hits only, which a grace period tells apart.

use crate::atomics::{
    AtomicU32,
    Ordering, //
};

/// What is said of a probe.
#[repr(transparent)]
pub(crate) struct Flags(AtomicU32);

impl Flags {
    /// Nothing is said. In the kernel a client makes them, as a part of its probe.
    #[cfg(loom)]
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Is any of these said?
    #[inline(always)]
    pub(crate) fn any(&self, bits: u32) -> bool {
        self.0.load(Ordering::Relaxed) & bits != 0
    }

    /// Says it, or the opposite.
    pub(crate) fn set(&self, bits: u32, on: bool) {
        let all = self.0.load(Ordering::Relaxed);
        let all = if on { all | bits } else { all & !bits };
        self.0.store(all, Ordering::Relaxed);
    }

    /// Says `bits`, and of what was said only what is in `kept`.
    pub(crate) fn begin(&self, kept: u32, bits: u32) {
        let all = self.0.load(Ordering::Relaxed) & kept | bits;
        self.0.store(all, Ordering::Relaxed);
    }
}
