// SPDX-License-Identifier: GPL-2.0

//! Disabling preemption: staying on one CPU.
//!
//! These functions are on the hit path. So they call functions of `abi.c` in `.kprobes.text`, and
//! not the helpers of the `kernel` crate, which may be probed.

use kernel::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// Evidence that preemption is off: the task is pinned to its CPU.
///
/// # Invariants
///
/// This task has disabled preemption once for this value.
pub(crate) struct PreemptOff(NotThreadSafe);

impl PreemptOff {
    /// Disables preemption until the value is dropped.
    pub(crate) fn new() -> Self {
        // SAFETY: The function may be called from any context.
        unsafe { bindings::rust_kprobes_preempt_disable() };
        // INVARIANT: Preemption was disabled just now.
        Self(NotThreadSafe)
    }

    /// Leaves preemption disabled; [`resume`](PreemptOff::resume) returns the value later.
    pub(crate) fn keep_disabled(self) {
        core::mem::forget(self);
    }

    /// Returns the value that this task gave to [`keep_disabled`](PreemptOff::keep_disabled).
    ///
    /// # Safety
    ///
    /// This task has called [`keep_disabled`](PreemptOff::keep_disabled) once more often than this
    /// function.
    pub(crate) unsafe fn resume() -> Self {
        // INVARIANT: By the precondition, a call of `keep_disabled` has left preemption disabled.
        Self(NotThreadSafe)
    }
}

/// The context that code runs in: the NMIs, hard interrupts and softirqs of this CPU that have not
/// ended. Faults do not change it; disabling interrupts or preemption does not either.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Context(c_uint);

impl Context {
    /// Returns the context of the caller.
    pub(crate) fn now(_no_preempt: &PreemptOff) -> Self {
        // SAFETY: The function may be called from any context.
        Self(unsafe { bindings::rust_kprobes_context() })
    }

    /// Returns a context that no code runs in.
    pub(crate) fn none() -> Self {
        Self(c_uint::MAX)
    }

    /// Returns the context of the code that the caller, the trap of a breakpoint, has interrupted.
    pub(crate) fn interrupted(_no_preempt: &PreemptOff) -> Self {
        // SAFETY: The function only computes a number, which has no meaning outside of a trap.
        Self(unsafe { bindings::rust_kprobes_interrupted_context() })
    }
}

/// Calls `work` where preemption is already off: in a trap, for example.
///
/// # Safety
///
/// Until the function returns, this task cannot be preempted.
#[inline(always)]
pub(crate) unsafe fn already_off<T>(work: impl FnOnce(&PreemptOff) -> T) -> T {
    // INVARIANT: By the precondition preemption is off. The caller enables it again:
    // `keep_disabled` keeps this value from enabling it.
    let no_preempt = PreemptOff(NotThreadSafe);
    let result = work(&no_preempt);
    no_preempt.keep_disabled();
    result
}

/// Reschedules soon after the trap that the caller runs in, if a task waits for the CPU. The trap
/// turns preemption on for the interrupted code, and its exit does not check for waiting tasks.
pub(crate) fn resched_soon() {
    // SAFETY: The function may be called from any context, and has an effect in a trap.
    unsafe { bindings::rust_kprobes_resched_soon() };
}

/// Waits for all code that runs with preemption off now.
pub(crate) fn synchronize_rcu() {
    kernel::sync::rcu::synchronize_rcu();
}

impl Drop for PreemptOff {
    fn drop(&mut self) {
        // SAFETY: By the invariant preemption was disabled for this value, which is dropped now.
        unsafe { bindings::rust_kprobes_preempt_enable() };
    }
}
