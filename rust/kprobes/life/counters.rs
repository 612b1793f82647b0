// SPDX-License-Identifier: GPL-2.0

//! How often happened what is worth knowing and seldom.
//!
//! On the hit path: counting is one atomic instruction.
//!
//! C counterpart: none.

use crate::slots;
use core::sync::atomic::{
    AtomicUsize,
    Ordering, //
};
use kernel::prelude::*;

/// How often something has happened since boot.
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Once more.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How often up to now.
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Copies that ended before their instruction was carried out, by a fault or by memory that was
/// there after all. It starts again, and the handlers run a second time, unless the fault ends in a
/// fixup or not at all.
pub(crate) static UNFINISHED_STEPS: Counter = Counter::new();

/// All counters, by name.
pub(crate) fn all() -> [(&'static CStr, usize); 2] {
    [
        (c"steps_unfinished", UNFINISHED_STEPS.get()),
        (c"slots_waiting", slots::waiting()),
    ]
}
