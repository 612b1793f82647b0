// SPDX-License-Identifier: GPL-2.0

// How returns are hooked where there is no machine code: Miri has none. What `arch/x86` reads of
// its CPU is read from the kernel's variables; the rest is the same.

use super::Arch;
use crate::{contract::Returns, sys::preempt::PreemptOff};
use core::ffi::CStr;
use kernel::{bindings, tasks};

// SAFETY: There is one CPU, which stays in its task until a test says otherwise.
unsafe impl Returns for Arch {
    const KRETPROBE_BLACKLIST: &'static [&'static CStr] = &[c"__switch_to"];

    fn cpu(_no_preempt: &PreemptOff) -> usize {
        // SAFETY: Nothing else runs.
        unsafe { (&raw const bindings::cpu_number).read() as usize }
    }

    fn rethooks(_no_preempt: &PreemptOff) -> *const bindings::llist_head {
        // SAFETY: Nothing else runs.
        let task = unsafe { (&raw const bindings::current_task).read() };
        // SAFETY: It is this task, which stays while it runs.
        unsafe { &raw const (*task).rethooks }
    }

    fn trampoline() -> usize {
        tasks::trampoline()
    }

    fn return_frame(registers: &bindings::pt_regs) -> usize {
        registers.sp
    }

    fn frame_returned(registers: &mut bindings::pt_regs) -> usize {
        core::ptr::from_mut(registers).wrapping_add(1).addr()
    }

    unsafe fn returns_to(registers: &bindings::pt_regs) -> usize {
        let place = core::ptr::with_exposed_provenance::<usize>(registers.sp);
        // SAFETY: It is on the stack, by who has called the function.
        unsafe { place.read() }
    }

    unsafe fn hook_return(registers: &mut bindings::pt_regs) {
        let place = core::ptr::with_exposed_provenance_mut::<usize>(registers.sp);
        // SAFETY: As before.
        unsafe { place.write(Self::trampoline()) };
    }

    fn show_return_address(registers: &mut bindings::pt_regs, to: usize) {
        registers.ip = to;
    }

    unsafe fn unhook_return(registers: &mut bindings::pt_regs, to: usize) {
        let behind = core::ptr::from_mut(registers).wrapping_add(1);
        // SAFETY: There the trampoline has its own address.
        unsafe { behind.cast::<usize>().write(to) };
    }
}
