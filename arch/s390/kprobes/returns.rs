// SPDX-License-Identifier: GPL-2.0

//! Hooks the return of a function: replaces the return address in register 14.
//!
//! C counterpart: [`arch/s390/kernel/rethook.c`](srctree/arch/s390/kernel/rethook.c).

use super::{
    isa::S390,
    saved_regs::SavedRegs, //
};
use crate::{
    contract::Returns,
    sys::prelude::*, //
};

/// The register that a function returns to.
const LINK: usize = 14;

// SAFETY: `rethooks` and `cpu` are the defaults of the trait, which ask C for
// `current->rethooks` and for the number of the current CPU.
unsafe impl Returns for S390 {
    #[inline(always)]
    fn return_frame(registers: &Registers) -> usize {
        SavedRegs::of(registers).gprs[15]
    }

    #[inline(always)]
    unsafe fn returns_to(registers: &Registers) -> usize {
        SavedRegs::of(registers).gprs[LINK]
    }

    #[inline(always)]
    unsafe fn hook_return(registers: &mut Registers) {
        SavedRegs::of_mut(registers).gprs[LINK] = Self::trampoline();
    }

    #[inline(always)]
    fn show_return_address(registers: &mut Registers, to: usize) {
        SavedRegs::of_mut(registers).ip = to;
    }

    #[inline(always)]
    unsafe fn unhook_return(registers: &mut Registers, to: usize) {
        let registers = SavedRegs::of_mut(registers);
        registers.ip = to;
        registers.gprs[LINK] = to;
    }
}
