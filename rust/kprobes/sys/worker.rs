// SPDX-License-Identifier: GPL-2.0

//! The worker that brings jumps into the text: when it runs, and what it waits for.
//!
//! It is a work item of the kernel's, and not a thread: so it need not be created, which could
//! fail. The kernel runs it once at a time. What it does is in `optimize/worker.rs`.
//!
//! C counterpart: `kprobe_optimizer_thread()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::model::opt_state::Tell;
use kernel::bindings;

/// Tells the worker when to begin a pass. Does not wait for it.
pub(crate) fn tell(tell: Tell) {
    let now = match tell {
        Tell::Nothing => return,
        Tell::Soon => false,
        Tell::Now => true,
    };
    // SAFETY: May be called from any context that may take a spinlock.
    unsafe { bindings::rust_kprobes_kick(now) };
}

/// Waits until each task has slept, gone to user space or been idle. To be called with no lock
/// held.
pub(crate) fn wait_for_tasks() {
    // SAFETY: The caller may sleep, as the worker does.
    unsafe { bindings::rust_kprobes_wait_for_tasks() };
}

/// Passes of the worker up to some time.
#[derive(Clone, Copy)]
pub(crate) struct Passes(usize);

impl Passes {
    /// Those that are over.
    pub(crate) fn now() -> Self {
        // SAFETY: Only reads a counter.
        Self(unsafe { bindings::rust_kprobes_passes() })
    }

    /// Waits until there is another one. To be called with no lock held.
    pub(crate) fn wait_for_more(self) {
        // SAFETY: The caller may sleep.
        unsafe { bindings::rust_kprobes_wait_for_pass(self.0) };
    }
}

/// A pass is over.
pub(crate) fn pass_is_over() {
    // SAFETY: Only wakes those who wait.
    unsafe { bindings::rust_kprobes_pass_is_over() };
}
