// SPDX-License-Identifier: GPL-2.0

//! What the slots of a page ask of atomics, by what must come true.
//!
//! C counterpart: none; there, all is behind a mutex.

use core::sync::atomic::{
    AtomicBool,
    AtomicU64,
    Ordering, //
};

/// Bits that come and go at any time.
pub(crate) trait Word {
    /// Sets bits. What this CPU did before is seen by who [sees](Word::seen) or
    /// [drains](Word::drain) them.
    fn add(&self, bits: u64);

    /// What is set.
    fn seen(&self) -> u64;

    /// Clears bits. It needs no order: nobody sees that they are not there.
    fn remove(&self, bits: u64);

    /// Clears all bits; what was set.
    fn drain(&self) -> u64;
}

/// A flag that whoever raises it has until it is lowered.
pub(crate) trait Flag {
    /// Raises it; tells whether it was down. Then what who lowered it did before is seen.
    fn raise(&self) -> bool;

    /// Lowers it. What this CPU did before is seen by the next one who raises it, or sees it down;
    /// and what those did before who found it raised is seen by this CPU. For the latter a store
    /// will not do, not even where stores are never late: it could come after this CPU's next load.
    fn lower(&self);

    /// Is it raised?
    fn is_raised(&self) -> bool;
}

impl Word for AtomicU64 {
    fn add(&self, bits: u64) {
        self.fetch_or(bits, Ordering::Release);
    }

    fn seen(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn remove(&self, bits: u64) {
        self.fetch_and(!bits, Ordering::Relaxed);
    }

    fn drain(&self) -> u64 {
        self.swap(0, Ordering::Acquire)
    }
}

impl Flag for AtomicBool {
    fn raise(&self) -> bool {
        !self.swap(true, Ordering::AcqRel)
    }

    fn lower(&self) {
        self.swap(false, Ordering::AcqRel);
    }

    fn is_raised(&self) -> bool {
        self.load(Ordering::Acquire)
    }
}
