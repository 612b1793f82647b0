// SPDX-License-Identifier: GPL-2.0

//! What the CPU is in the middle of.

use crate::base::*;

static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

pub fn interrupt<T>(work: impl FnOnce() -> T) -> T {
    INTERRUPTS.fetch_add(1, Relaxed);
    let result = work();
    INTERRUPTS.fetch_sub(1, Relaxed);
    result
}

/// How many interrupts there are around the caller.
pub(crate) fn depth() -> u32 {
    INTERRUPTS.load(Relaxed)
}

static STAYS: AtomicI32 = AtomicI32::new(0);

/// Preemption is turned off once more, or less.
pub(crate) fn stay(more: i32) {
    STAYS.fetch_add(more, Relaxed);
}

pub fn stays() -> i32 {
    STAYS.load(Relaxed)
}
