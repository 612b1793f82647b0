// SPDX-License-Identifier: GPL-2.0

//! The entry from C: `do_int3()` in [`arch/x86/kernel/traps.c`](srctree/arch/x86/kernel/traps.c)
//! calls it in the trap of a breakpoint.
//!
//! Interrupts are off in the breakpoint trap, so the task stays on its CPU.

use crate::{
    hit::breakpoint::handle_trap,
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
    unsafe { preempt::already_off(|no_preempt| handle_trap(registers, no_preempt)).into() }
}
