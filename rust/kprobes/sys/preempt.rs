// SPDX-License-Identifier: GPL-2.0

//! Preemption off: staying on one CPU.
//!
//! The hit path calls no function that can be probed. So these functions call functions of `abi.c`
//! in `.kprobes.text`, and not the helpers of the `kernel` crate.

use kernel::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// Evidence that preemption is off, so that the task stays on its CPU.
///
/// # Invariants
///
/// This task has turned preemption off once for this value.
pub(crate) struct Pinned(NotThreadSafe);

impl Pinned {
    /// Turns preemption off until the value is dropped.
    pub(crate) fn new() -> Self {
        // SAFETY: The function may be called from any context.
        unsafe { bindings::rust_kprobes_preempt_disable() };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }

    /// Leaves preemption off; [`resume`](Pinned::resume) gets the value back.
    pub(crate) fn leave_off(self) {
        core::mem::forget(self);
    }

    /// The value that this task gave to [`leave_off`](Pinned::leave_off) earlier.
    ///
    /// # Safety
    ///
    /// This task has called [`leave_off`](Pinned::leave_off) once more often than this function.
    pub(crate) unsafe fn resume() -> Self {
        // INVARIANT: By the precondition there is a call of `leave_off`, which kept preemption off.
        Self(NotThreadSafe)
    }
}

/// The context that code runs in: the NMIs, hard interrupts and softirqs of this CPU that are not
/// over. Faults do not change it, and neither does turning off interrupts or preemption.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Context(c_uint);

impl Context {
    /// The context of the caller.
    pub(crate) fn now(_pinned: &Pinned) -> Self {
        // SAFETY: The function may be called from any context.
        Self(unsafe { bindings::rust_kprobes_context() })
    }

    /// A context that no code runs in.
    pub(crate) fn none() -> Self {
        Self(c_uint::MAX)
    }

    /// The context of the code that the caller, the trap of a breakpoint, has interrupted.
    pub(crate) fn interrupted(_pinned: &Pinned) -> Self {
        // SAFETY: The function only computes a number, which has no meaning outside of a trap.
        Self(unsafe { bindings::rust_kprobes_interrupted_context() })
    }
}

/// Calls `work` in a trap, where preemption is off already.
///
/// # Safety
///
/// Until the function returns, this task cannot be preempted.
#[inline(always)]
pub(crate) unsafe fn in_trap<T>(work: impl FnOnce(&Pinned) -> T) -> T {
    // INVARIANT: By the precondition preemption is off. The caller turns it on again, as
    // `leave_off` keeps this value from doing so.
    let pinned = Pinned(NotThreadSafe);
    let result = work(&pinned);
    pinned.leave_off();
    result
}

/// Reschedules soon after the trap that the caller is in, if a task waits for the CPU: preemption
/// was off before the trap and is on after it, which the exit from the trap does not check.
pub(crate) fn resched_soon() {
    // SAFETY: The function may be called from any context, and is of use in a trap.
    unsafe { bindings::rust_kprobes_resched_soon() };
}

/// Waits for all code that runs with preemption off now.
pub(crate) fn wait_for_all() {
    kernel::sync::rcu::synchronize_rcu();
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: By the invariant preemption was turned off for this value, which is gone now.
        unsafe { bindings::rust_kprobes_preempt_enable() };
    }
}
