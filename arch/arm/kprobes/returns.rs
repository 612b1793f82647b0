// SPDX-License-Identifier: GPL-2.0

//! Hooks the return of a function: replaces the return address in the link register.
//!
//! C counterpart: `arch_prepare_kretprobe()` in
//! [`arch/arm/probes/kprobes/core.c`](srctree/arch/arm/probes/kprobes/core.c). C identifies a call
//! by the frame pointer, which not every function sets up.

use super::{
    machine::Arm,
    saved_regs::{
        LR,
        PC,
        SP, //
    }, //
};
use crate::{
    contract::Returns,
    sys::{
        prelude::*,
        symbols, //
    }, //
};

// SAFETY: `rethooks` and `cpu` are the defaults of the trait, which ask C for
// `current->rethooks` and for the number of the current CPU.
unsafe impl Returns for Arm {
    #[inline(always)]
    fn return_frame(registers: &Registers) -> usize {
        registers.uregs[SP]
    }

    #[inline(always)]
    unsafe fn returns_to(registers: &Registers) -> usize {
        registers.uregs[LR]
    }

    #[inline(always)]
    unsafe fn hook_return(registers: &mut Registers) {
        registers.uregs[LR] = Self::trampoline();
    }

    #[inline(always)]
    fn show_return_address(registers: &mut Registers, to: usize) {
        registers.uregs[PC] = symbols::function_address(to).get() as usize;
    }

    #[inline(always)]
    unsafe fn unhook_return(registers: &mut Registers, to: usize) {
        registers.uregs[PC] = to;
        registers.uregs[LR] = to;
    }
}
