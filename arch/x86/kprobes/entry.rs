// SPDX-License-Identifier: GPL-2.0

//! Entries of x86 from C and assembly: the breakpoint trap's entry, which `do_int3()` in
//! [`arch/x86/kernel/traps.c`](srctree/arch/x86/kernel/traps.c) calls, and the entry of the return
//! probes' trampoline.
//!
//! Interrupts are off in the breakpoint trap, and the trampoline disables preemption, so the task
//! stays on its CPU.

#[cfg(CONFIG_KRETPROBES)]
use super::frame;
#[cfg(CONFIG_KRETPROBES)]
use crate::returns;
use crate::{
    hit::breakpoint::breakpoint,
    sys::preempt, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Handles an int3. Returns 1 if it was a kprobe's (a hit, or the end of a step or of a jprobe's
/// handler), otherwise 0.
///
/// The int3 may be in user space: no probe has such an address.
///
/// # Safety
///
/// `regs` are the registers that a trap on this CPU has saved. Interrupts are off.
#[export]
unsafe extern "C" fn kprobe_int3_handler(regs: *mut bindings::pt_regs) -> c_int {
    // SAFETY: By the precondition the trap has saved the registers, and no other code uses them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, interrupts are off.
    unsafe { preempt::pinned(|pinned| breakpoint(registers, pinned)).into() }
}

/// Handles the return of a hooked function to the trampoline.
///
/// # Safety
///
/// `regs` are the registers that the trampoline has saved, followed by the slot for the return
/// address. Preemption is off until this returns.
#[cfg(CONFIG_KRETPROBES)]
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    let frame = frame::return_address(regs).expose_provenance();
    // SAFETY: By the precondition the trampoline has saved the registers on the stack, and no other
    // code uses them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, preemption is off, and the trampoline has saved the registers.
    unsafe { preempt::pinned(|pinned| returns::returned(registers, frame, pinned)) }
}
