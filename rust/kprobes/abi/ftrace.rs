// SPDX-License-Identifier: GPL-2.0

//! Entries from C: calls of ftrace, by way of the callbacks in `abi.c`.

use crate::{
    hit::ftrace,
    sys::{
        flags::Armed,
        preempt,
        prelude::*, //
    }, //
};

/// Handles a call of our plain ftrace user.
///
/// # Safety
///
/// `regs` are the registers that ftrace has saved; preemption is off.
#[export]
unsafe extern "C" fn rust_kprobes_ftrace_hit(ip: usize, regs: *mut bindings::pt_regs) {
    // SAFETY: The precondition is the same.
    unsafe { handle(ip, Armed::Ftrace, regs) };
}

/// Handles a call of our IPMODIFY user.
///
/// # Safety
///
/// As for [`rust_kprobes_ftrace_hit`].
#[export]
unsafe extern "C" fn rust_kprobes_ftrace_ipmodify_hit(ip: usize, regs: *mut bindings::pt_regs) {
    // SAFETY: The precondition is the same.
    unsafe { handle(ip, Armed::FtraceIpmodify, regs) };
}

/// Handles a call of ftrace from `ip`.
///
/// # Safety
///
/// As for [`rust_kprobes_ftrace_hit`].
#[inline(always)]
unsafe fn handle(ip: usize, armed: Armed, regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition. Nothing else uses `regs` until the callback returns.
    let registers = unsafe { &mut *regs };
    let at = TextAddr::new(ip as u64);
    // SAFETY: Preemption is off, by the precondition.
    unsafe {
        preempt::already_off(|no_preempt| ftrace::handle_ftrace(at, armed, registers, no_preempt))
    };
}

/// Notes that ftrace has failed and stops for good.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_ftrace_kill() {
    // SAFETY: All writers of this variable of `abi.c` write this value; readers may see it late.
    unsafe { (&raw mut bindings::kprobe_ftrace_disabled).write_volatile(true) };
}
