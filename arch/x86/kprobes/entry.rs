// SPDX-License-Identifier: GPL-2.0

//! X86's own entries from C and assembly: the breakpoint trap's, declared in
//! [`arch/x86/include/asm/kprobes.h`](srctree/arch/x86/include/asm/kprobes.h), and the one of the
//! return probes' trampoline.
//!
//! The breakpoint trap has interrupts off, and the trampoline turns preemption off, so the task
//! stays on its CPU.

#[cfg(CONFIG_KRETPROBES)]
use super::frame;
#[cfg(CONFIG_KRETPROBES)]
use crate::returns;
use crate::{
    hit::breakpoint::breakpoint,
    sys::preempt, //
};
use core::mem::offset_of;
use kernel::{
    bindings,
    prelude::*, //
};

macro_rules! at_offset {
    ($($field:ident = $offset:literal),*) => {
        $(const _: () = assert!(offset_of!(bindings::kprobe, $field) == $offset);)*
    };
}
// Binary modules and scripts rely on these offsets.
at_offset!(
    hlist = 0,
    list = 16,
    nmissed = 32,
    addr = 40,
    symbol_name = 48,
    offset = 56,
    pre_handler = 64,
    post_handler = 72,
    opcode = 80,
    ainsn = 88,
    flags = 120
);

/// Handles an int3. Returns 1 if it was a probe's.
///
/// The int3 may be one in user space: no probe has such an address.
///
/// # Safety
///
/// `regs` are the registers that a trap on this CPU has saved. Interrupts are off.
#[export]
unsafe extern "C" fn kprobe_int3_handler(regs: *mut bindings::pt_regs) -> c_int {
    // SAFETY: By the precondition, the trap has saved them on its stack, where only this uses them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, interrupts are off.
    unsafe { preempt::in_trap(|pinned| breakpoint(registers, pinned)) as c_int }
}

/// Handles the return of a hooked function to the trampoline.
///
/// # Safety
///
/// `regs` are the registers that the trampoline has saved, with the slot for the return address
/// behind them. Preemption is off until this returns.
#[cfg(CONFIG_KRETPROBES)]
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    let frame = frame::return_address(regs).expose_provenance();
    // SAFETY: By the precondition, the trampoline has saved them on the stack, where only this uses
    // them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, preemption is off, and the trampoline has saved the registers.
    unsafe { preempt::in_trap(|pinned| returns::returned(registers, frame, pinned)) }
}
