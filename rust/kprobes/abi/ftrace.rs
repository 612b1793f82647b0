// SPDX-License-Identifier: GPL-2.0

//! Where ftrace's calls come in, through `abi.c`, which has the part that only C can say.

use crate::{
    hit::ftrace,
    prelude::*,
    sys::{
        flags::Armed,
        preempt, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Ftrace has called, and goes on where it was.
///
/// # Safety
///
/// `regs` is what ftrace has saved; preemption is off.
#[export]
unsafe extern "C" fn rust_kprobes_ftrace_watched(ip: usize, regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition.
    unsafe { called(ip, Armed::Watching, regs) };
}

/// Ftrace has called, and goes on where the registers say.
///
/// # Safety
///
/// As for [`rust_kprobes_ftrace_watched`].
#[export]
unsafe extern "C" fn rust_kprobes_ftrace_changed(ip: usize, regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition.
    unsafe { called(ip, Armed::Changing, regs) };
}

/// Ftrace has called from `ip`.
///
/// # Safety
///
/// As for [`rust_kprobes_ftrace_watched`].
#[inline(always)]
unsafe fn called(ip: usize, armed: Armed, regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    let at = TextAddr::new(ip as u64);
    // SAFETY: By the precondition.
    unsafe { preempt::in_trap(|pinned| ftrace::called(at, armed, registers, pinned)) };
}

/// Ftrace would have called the user that changes where it goes on, or the other, but is itself in
/// the middle of a call.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_ftrace_missed(ip: usize, changes: bool) {
    let at = TextAddr::new(ip as u64);
    ftrace::missed(at, Armed::called(changes), &preempt::Pinned::new());
}

/// Ftrace is broken, and nobody is to be called any more.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_ftrace_kill() {
    // SAFETY: A variable of `abi.c` that is only ever set, to this value, and that readers may see
    // late.
    unsafe { (&raw mut bindings::kprobe_ftrace_disabled).write_volatile(true) };
}
