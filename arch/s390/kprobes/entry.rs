// SPDX-License-Identifier: GPL-2.0

//! The entry of s390 from C: the one of program interruptions, declared in
//! [`arch/s390/include/asm/kprobes.h`](srctree/arch/s390/include/asm/kprobes.h).
//!
//! `__do_pgm_check()` calls it before it turns interrupts on, with preemption off. So the task
//! stays on its CPU, and a page fault of a handler does not wait for its page.

use super::{
    isa::{
        BREAKPOINT,
        S390, //
    },
    machine::PAGE_FAULT,
    saved_regs::SavedRegs, //
};
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::contract::Jumps;
use crate::{
    contract::Machine,
    hit::{
        breakpoint::{
            count_step_fault,
            handle_trap, //
        },
        fault, //
    },
    prelude::TextAddr,
    slots::{
        self,
        COPIES, //
    },
    sys::preempt::{
        self,
        PreemptOff, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The code of an operation exception: the breakpoint is an instruction that does not exist.
const OPERATION: u32 = 1;

/// Handles a program interruption in the kernel. Returns true if the interruption was a probe's.
///
/// # Safety
///
/// `regs` are the registers that a program interruption on this CPU has saved. Interrupts and
/// preemption are off.
#[export]
unsafe extern "C" fn kprobe_pgm_check(regs: *mut bindings::pt_regs) -> bool {
    // SAFETY: By the precondition, the interruption on this CPU has saved the registers on its
    // stack. Only this function uses them until it returns.
    let registers = unsafe { &mut *regs };
    let handle = |no_preempt: &PreemptOff| {
        // For an instruction that EX or EXRL executes, the CPU reports the length of the EX or
        // EXRL. A copy of an instruction that the CPU lacks also raises this exception.
        let is_breakpoint =
            SavedRegs::of(registers).interruption() == (OPERATION, BREAKPOINT.len() as u32);
        is_breakpoint && handle_trap(registers, no_preempt)
            || translate_fault(registers, no_preempt)
    };
    // SAFETY: By the precondition, preemption is off.
    unsafe { preempt::already_off(handle) }
}

/// If a copy of an instruction, or a detour, has faulted, makes the fault one of the original,
/// before interrupts are on. Returns whether a fault handler has resolved it.
#[inline(never)]
fn translate_fault(registers: &mut bindings::pt_regs, no_preempt: &PreemptOff) -> bool {
    let at = S390::ip(registers);
    if !slots::may_cover(at) {
        return false;
    }
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    if let Some((at, taken)) = S390::detour_origin(at, no_preempt) {
        S390::set_ip(registers, at);
        let sp = S390::sp(registers);
        *sp = sp.wrapping_add(taken);
        count_step_fault();
    }
    if !COPIES.covers(at) {
        return false;
    }
    if !fault::faults_in_step(registers, no_preempt) {
        S390::set_ip(registers, slots::original(at, no_preempt).unwrap_or(at));
        count_step_fault();
        return false;
    }
    let (code, len) = SavedRegs::of(registers).interruption();
    // The codes that C passes to `do_exception()`. The first one leaves the PSW after the
    // instruction, which is to run again if a handler has resolved the fault.
    if matches!(code, 0x04 | 0x10 | 0x11 | 0x38..=0x3b) {
        let passed = if code == 0x04 { u64::from(len) } else { 0 };
        S390::set_ip(registers, TextAddr::new(at.get().wrapping_sub(passed)));
        let resolved = fault::handle_fault(registers, PAGE_FAULT as c_int, no_preempt);
        if !resolved {
            let at = S390::ip(registers);
            S390::set_ip(registers, TextAddr::new(at.get().wrapping_add(passed)));
        }
        return resolved;
    }
    fault::end_faulted_step(registers, no_preempt);
    false
}
