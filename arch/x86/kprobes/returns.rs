// SPDX-License-Identifier: GPL-2.0

//! How the return of a function is hooked: its return address is on the stack.
//!
//! The trampoline in `return.S` puts its own address where the return address was, so that an
//! unwinder finds one that it knows to ask about, and saves the registers below that.
//!
//! C counterpart: [`arch/x86/kernel/rethook.c`](srctree/arch/x86/kernel/rethook.c).

use super::{
    frame,
    isa::X86, //
};
use crate::{
    contract::Returns,
    sys::preempt::Pinned, //
};
use core::{
    arch::asm,
    ffi::CStr, //
};
use kernel::bindings;

// SAFETY: Both are read by one instruction each, on the CPU and in the task that stay, as `Pinned`
// says.
unsafe impl Returns for X86 {
    // It returns in another task than it was called in.
    const NEVER: &'static [&'static CStr] = &[c"__switch_to"];

    #[inline(always)]
    fn cpu(_pinned: &Pinned) -> usize {
        let cpu: u32;
        // SAFETY: Only reads this CPU's `cpu_number`.
        unsafe {
            asm!("movl %gs:{word}(%rip), {cpu:e}",
                word = sym bindings::cpu_number,
                cpu = lateout(reg) cpu,
                options(att_syntax, nostack, readonly, preserves_flags));
        }
        cpu as usize
    }

    #[inline(always)]
    fn calls(_pinned: &Pinned) -> *const bindings::llist_head {
        let task: *const bindings::task_struct;
        // SAFETY: Only reads this CPU's `current_task`.
        unsafe {
            asm!("movq %gs:{word}(%rip), {task}",
                word = sym bindings::current_task,
                task = lateout(reg) task,
                options(att_syntax, nostack, readonly, preserves_flags));
        }
        // SAFETY: It is this task, which stays while it runs.
        unsafe { &raw const (*task).rethooks }
    }

    #[inline(always)]
    fn trampoline() -> usize {
        bindings::arch_rethook_trampoline as *const () as usize
    }

    #[inline(always)]
    fn frame(registers: &bindings::pt_regs) -> usize {
        registers.sp
    }

    #[inline(always)]
    fn returns_to(registers: &bindings::pt_regs) -> usize {
        let place = core::ptr::with_exposed_provenance::<usize>(registers.sp);
        // SAFETY: It is on the stack, by who has called the function.
        unsafe { place.read() }
    }

    #[inline(always)]
    fn hook(registers: &mut bindings::pt_regs) {
        let place = core::ptr::with_exposed_provenance_mut::<usize>(registers.sp);
        // SAFETY: As before; whoever looks at it finds out where it was to lead.
        unsafe { place.write(Self::trampoline()) };
    }

    #[inline(always)]
    fn goes_on(registers: &mut bindings::pt_regs, to: usize) {
        registers.ip = to;
    }

    #[inline(always)]
    fn unhook(registers: &mut bindings::pt_regs, to: usize) {
        // The trampoline ends as functions do: it has nothing but the stack for the flags then, and
        // takes them from where the stack's segment is, the last of what it has saved.
        registers.__bindgen_anon_2.ssx = registers.flags as u64;
        let place = frame::return_address(registers);
        // SAFETY: There the trampoline has its own address.
        unsafe { place.write(to) };
    }
}
