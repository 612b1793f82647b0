// SPDX-License-Identifier: GPL-2.0

//! The entry of arm from C: the one of undefined instructions, which `machine.c` calls.

use crate::{
    hit::breakpoint::handle_trap,
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
    unsafe { preempt::already_off(|no_preempt| handle_trap(registers, no_preempt)) }
}
