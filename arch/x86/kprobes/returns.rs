// SPDX-License-Identifier: GPL-2.0

//! Hooks the return of a function: replaces the return address on the stack.
//!
//! The trampoline in `return.S` pushes its own address where the return address was, and saves the
//! registers below that. An unwinder knows the address of the trampoline, and asks for the real
//! return address.
//!
//! C counterpart: [`arch/x86/kernel/rethook.c`](srctree/arch/x86/kernel/rethook.c).

use super::{
    isa::X86,
    saved_regs, //
};
use crate::{
    contract::Returns,
    sys::prelude::*, //
};
use core::{
    arch::asm,
    ffi::CStr, //
};

// SAFETY: `cpu` and `rethooks` read a per-CPU variable by one instruction. `PreemptOff` shows that
// preemption is off, so the CPU and the task stay the same.
unsafe impl Returns for X86 {
    // This function returns in another task than it was called in.
    const KRETPROBE_BLACKLIST: &'static [&'static CStr] = &[c"__switch_to"];

    #[cfg(CONFIG_SMP)]
    #[inline(always)]
    fn cpu(_no_preempt: &PreemptOff) -> usize {
        let cpu: u32;
        // SAFETY: The instruction only reads this CPU's `cpu_number`.
        unsafe {
            asm!("movl %gs:{word}(%rip), {cpu:e}",
                word = sym bindings::cpu_number,
                cpu = lateout(reg) cpu,
                options(att_syntax, nostack, readonly, preserves_flags));
        }
        cpu as usize
    }

    #[inline(always)]
    fn rethooks(_no_preempt: &PreemptOff) -> *const bindings::llist_head {
        let task: *const bindings::task_struct;
        // SAFETY: The instruction only reads this CPU's `current_task`.
        unsafe {
            asm!("movq %gs:{word}(%rip), {task}",
                word = sym bindings::current_task,
                task = lateout(reg) task,
                options(att_syntax, nostack, readonly, preserves_flags));
        }
        // SAFETY: `task` is the task that runs this, so it is not freed.
        unsafe { &raw const (*task).rethooks }
    }

    #[inline(always)]
    fn return_frame(registers: &Registers) -> usize {
        registers.sp
    }

    #[inline(always)]
    fn frame_returned(registers: &mut Registers) -> usize {
        saved_regs::return_address(registers).addr()
    }

    #[inline(always)]
    unsafe fn returns_to(registers: &Registers) -> usize {
        let place = core::ptr::with_exposed_provenance::<usize>(registers.sp);
        // SAFETY: At the entry of a function the stack pointer points to the return address. By the
        // precondition the registers are those of an entry.
        unsafe { place.read() }
    }

    #[inline(always)]
    unsafe fn hook_return(registers: &mut Registers) {
        let place = core::ptr::with_exposed_provenance_mut::<usize>(registers.sp);
        // SAFETY: As in `returns_to`. An unwinder that finds the address of the trampoline asks for
        // the real return address.
        unsafe { place.write(Self::trampoline()) };
    }

    #[inline(always)]
    fn show_return_address(registers: &mut Registers, to: usize) {
        registers.ip = to;
    }

    #[inline(always)]
    unsafe fn unhook_return(registers: &mut Registers, to: usize) {
        // The trampoline ends with a return. All registers are restored by then, so it takes the
        // flags from the stack: from the place of `ss`, next to the return address.
        registers.__bindgen_anon_2.ssx = registers.flags as u64;
        let place = saved_regs::return_address(registers);
        // SAFETY: By the precondition the trampoline has saved the registers, and it has pushed its
        // own address to that place.
        unsafe { place.write(to) };
    }
}
