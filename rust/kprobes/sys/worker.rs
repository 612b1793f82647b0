// SPDX-License-Identifier: GPL-2.0

//! The worker, which writes jumps and frees unused pages of slots: wakes it, and waits for Tasks
//! RCU and for its passes.
//!
//! The worker is a work item of C and not a thread: creating a thread could fail. The kernel runs
//! the work item once at a time. Its function is `rust_kprobes_worker_pass()`.
//!
//! C counterpart: `kprobe_optimizer_thread()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use kernel::bindings;

/// Queues a pass of the worker, in a few ticks, unless one is queued already. Does not wait for it.
pub(crate) fn wake() {
    // SAFETY: The callers hold a mutex or no lock, or are a callback of RCU. So none of them holds
    // the spinlock of the workqueue.
    unsafe { bindings::rust_kprobes_wake_worker() };
}

/// Waits for a grace period of Tasks RCU: until each task has slept, gone to user space or been
/// idle. The caller holds no lock.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) fn wait_for_tasks() {
    // SAFETY: The caller is the worker, which may sleep.
    unsafe { bindings::rust_kprobes_wait_for_tasks() };
}

/// Begins a queued pass now, and waits until it has ended. The caller holds no lock.
pub(crate) fn wait_for_pass() {
    // SAFETY: A work item of `abi.c` that is initialized at build time; the caller may sleep, as it
    // waits for the optimizer.
    unsafe { bindings::flush_delayed_work(&raw mut bindings::rust_kprobes_worker) };
}
