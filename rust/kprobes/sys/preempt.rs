// SPDX-License-Identifier: GPL-2.0

//! Staying on one CPU.
//!
//! The hit path must not call what could be probed, so this goes through functions of `abi.c` that
//! are in the same section as this crate, and not through the helpers of the `kernel` crate.

use kernel::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// Evidence that preemption is off, so that the CPU stays the same.
///
/// # Invariants
///
/// This task has turned preemption off once for this value.
pub(crate) struct Pinned(NotThreadSafe);

impl Pinned {
    /// Turns preemption off until the value is dropped.
    pub(crate) fn new() -> Self {
        // SAFETY: May be called from any context.
        unsafe { bindings::rust_kprobes_preempt_disable() };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }

    /// Leaves preemption off; [`resume`](Pinned::resume) gets the value back.
    pub(crate) fn leave(self) {
        core::mem::forget(self);
    }

    /// The value that this task has left earlier.
    ///
    /// # Safety
    ///
    /// This task has called [`leave`](Pinned::leave) once more often than this.
    pub(crate) unsafe fn resume() -> Self {
        // INVARIANT: By the precondition: `leave` keeps preemption off.
        Self(NotThreadSafe)
    }
}

/// What this CPU is in the middle of: by how many interrupts, of what kind, the task is held up. A
/// fault does not change it, and neither does turning off what could hold up the task.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Context(c_uint);

impl Context {
    /// That of the caller.
    pub(crate) fn now(_pinned: &Pinned) -> Self {
        // SAFETY: May be called from any context.
        Self(unsafe { bindings::rust_kprobes_context() })
    }

    /// Nobody's.
    pub(crate) fn none() -> Self {
        Self(c_uint::MAX)
    }

    /// That of what the caller, the trap of a breakpoint, has interrupted.
    pub(crate) fn interrupted(_pinned: &Pinned) -> Self {
        // SAFETY: Only computes a number; what it is outside of a trap is of no use.
        Self(unsafe { bindings::rust_kprobes_interrupted_context() })
    }
}

/// Does `work` in a trap, which leaves preemption off.
///
/// # Safety
///
/// Until this returns, this task cannot be preempted.
#[inline(always)]
pub(crate) unsafe fn in_trap<T>(work: impl FnOnce(&Pinned) -> T) -> T {
    // INVARIANT: Somebody has turned it off, by the precondition, and turns it on again: `leave`
    // sees to it that it is not we who do.
    let pinned = Pinned(NotThreadSafe);
    let result = work(&pinned);
    pinned.leave();
    result
}

/// Lets who wants the CPU have it soon after the trap that the caller is, which does not see to
/// that: preemption was off before the trap, and is not any more.
pub(crate) fn make_way() {
    // SAFETY: The caller is a trap.
    unsafe { bindings::rust_kprobes_make_way() };
}

/// Waits for all who have preemption off now.
pub(crate) fn wait_for_all() {
    kernel::sync::rcu::synchronize_rcu();
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: By the invariant, preemption was turned off for this value, which is gone now.
        unsafe { bindings::rust_kprobes_preempt_enable() };
    }
}
