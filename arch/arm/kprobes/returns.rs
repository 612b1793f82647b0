// SPDX-License-Identifier: GPL-2.0

//! Hooks the return of a function: replaces the return address in the link register.
//!
//! C counterpart: `arch_prepare_kretprobe()` in
//! [`arch/arm/probes/kprobes/core.c`](srctree/arch/arm/probes/kprobes/core.c). C identifies a call
//! by the frame pointer, which not every function sets up.

use super::{
    frame::{
        LR,
        PC,
        SP, //
    },
    isa::A32, //
};
use crate::{
    contract::Returns,
    sys::preempt::Pinned, //
};
use core::ffi::CStr;
use kernel::bindings;

// SAFETY: C's `current` and `raw_smp_processor_id()` are those of this task and CPU, which stay the
// same, as `Pinned` shows that preemption is off.
unsafe impl Returns for A32 {
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
        registers.uregs[SP]
    }

    #[inline(always)]
    unsafe fn returns_to(registers: &bindings::pt_regs) -> usize {
        registers.uregs[LR]
    }

    #[inline(always)]
    unsafe fn hook(registers: &mut bindings::pt_regs) {
        registers.uregs[LR] = Self::trampoline();
    }

    #[inline(always)]
    fn show_return_address(registers: &mut bindings::pt_regs, to: usize) {
        registers.uregs[PC] = to;
    }

    #[inline(always)]
    unsafe fn unhook(registers: &mut bindings::pt_regs, to: usize) {
        registers.uregs[PC] = to;
        registers.uregs[LR] = to;
    }
}
