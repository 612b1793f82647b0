// SPDX-License-Identifier: GPL-2.0

//! EDGE: x86's own entries: the breakpoint's, [`arch/x86/include/asm/kprobes.h`](
//! srctree/arch/x86/include/asm/kprobes.h), and the trampoline of return probes.
//!
//! Breakpoints come with interrupts off, and the trampoline turns preemption off, so the CPU stays
//! the same.

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
// Modules that are there in binary form only, and scripts, go by these.
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

/// Is this breakpoint a probe's?
///
/// It may be one in user space: the kernel's text, where probes are, is not where that can be.
///
/// # Safety
///
/// `regs` is what the trap has saved, on this CPU, which stays in it.
#[export]
unsafe extern "C" fn kprobe_int3_handler(regs: *mut bindings::pt_regs) -> c_int {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition: interrupts are off.
    unsafe { preempt::in_trap(|pinned| breakpoint(registers, pinned)) as c_int }
}

/// A hooked function has returned to the trampoline. Preemption is off until this returns.
///
/// # Safety
///
/// `regs` is what the trampoline has saved, behind which is the place for where the task goes on.
#[cfg(CONFIG_KRETPROBES)]
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    let frame = frame::return_address(regs).expose_provenance();
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: By who calls: the CPU cannot be preempted.
    unsafe { preempt::in_trap(|pinned| returns::returned(registers, frame, pinned)) }
}
