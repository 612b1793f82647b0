// SPDX-License-Identifier: GPL-2.0

//! The entries of arm from C: the one of undefined instructions, which `machine.c` calls, and the
//! one of the return probes' trampoline.

#[cfg(CONFIG_KRETPROBES)]
use super::machine::Arm;
#[cfg(CONFIG_KRETPROBES)]
use crate::{
    contract::Machine,
    returns, //
};
use crate::{
    hit::breakpoint::breakpoint,
    sys::preempt, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Handles an undefined instruction in the kernel. Returns true if it was a probe's breakpoint.
///
/// # Safety
///
/// `regs` are the registers that the exception on this CPU has saved, in SVC mode. Interrupts are
/// off.
#[export]
unsafe extern "C" fn rust_kprobes_undefined(regs: *mut bindings::pt_regs) -> bool {
    // SAFETY: By the precondition, the exception has saved them on its stack, where only this uses
    // them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, interrupts are off.
    unsafe { preempt::pinned(|pinned| breakpoint(registers, pinned)) }
}

/// Handles the return of a hooked function to the trampoline.
///
/// # Safety
///
/// `regs` are the registers that the trampoline has saved. Preemption is off until this returns.
#[cfg(CONFIG_KRETPROBES)]
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition, the trampoline has saved them on the stack, where only this uses
    // them.
    let registers = unsafe { &mut *regs };
    let frame = *Arm::sp(registers);
    // SAFETY: By the precondition, preemption is off, and the trampoline has saved the registers.
    unsafe { preempt::pinned(|pinned| returns::returned(registers, frame, pinned)) }
}
