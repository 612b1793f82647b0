// SPDX-License-Identifier: GPL-2.0

//! Hooks the return of a function: replaces the return address in register 14.
//!
//! C counterpart: [`arch/s390/kernel/rethook.c`](srctree/arch/s390/kernel/rethook.c).

use super::{
    frame::Trapped,
    isa::S390, //
};
use crate::{
    contract::Returns,
    sys::preempt::Pinned, //
};
use core::ffi::CStr;
use kernel::bindings;

/// The register that a function returns to.
const LINK: usize = 14;

// SAFETY: C's `current` and `raw_smp_processor_id()` are those of this task and CPU, which stay the
// same, as `Pinned` shows that preemption is off.
unsafe impl Returns for S390 {
    const NEVER: &'static [&'static CStr] = &[];

    #[inline(always)]
    fn cpu(_pinned: &Pinned) -> usize {
        // SAFETY: The function may be called from any context.
        unsafe { bindings::rust_kprobes_this_cpu() as usize }
    }

    #[inline(always)]
    fn calls(_pinned: &Pinned) -> *const bindings::llist_head {
        // SAFETY: The function may be called from any context.
        unsafe { bindings::rust_kprobes_calls() }
    }

    #[inline(always)]
    fn trampoline() -> usize {
        bindings::arch_rethook_trampoline as *const () as usize
    }

    #[inline(always)]
    fn frame(registers: &bindings::pt_regs) -> usize {
        Trapped::of(registers).gprs[15]
    }

    #[inline(always)]
    unsafe fn returns_to(registers: &bindings::pt_regs) -> usize {
        Trapped::of(registers).gprs[LINK]
    }

    #[inline(always)]
    unsafe fn hook(registers: &mut bindings::pt_regs) {
        Trapped::of_mut(registers).gprs[LINK] = Self::trampoline();
    }

    #[inline(always)]
    fn show_return_address(registers: &mut bindings::pt_regs, to: usize) {
        Trapped::of_mut(registers).ip = to;
    }

    #[inline(always)]
    unsafe fn unhook(registers: &mut bindings::pt_regs, to: usize) {
        let registers = Trapped::of_mut(registers);
        registers.ip = to;
        registers.gprs[LINK] = to;
    }
}
