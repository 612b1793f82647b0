// SPDX-License-Identifier: GPL-2.0

//! Hits by ftrace: ftrace calls us from a probe point.
//!
//! Handlers see the registers as a breakpoint at the call would show them. The probed instruction
//! is the call of ftrace itself, so no instruction is executed.
//!
//! C counterpart: `kprobe_ftrace_handler()` in
//! [`arch/x86/kernel/kprobes/ftrace.c`](srctree/arch/x86/kernel/kprobes/ftrace.c).

use super::{
    handlers::{
        call_post_handlers,
        call_pre_handlers, //
    },
    jprobe, //
};
use crate::{
    registry::prelude::*,
    sys::ftrace, //
};

/// Handles a call of ftrace from `at`. `armed` names the user of ftrace that was called.
#[inline(always)]
pub(crate) fn handle_ftrace(
    at: TextAddr,
    armed: Armed,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    let Some(point) = points::find(at, no_preempt) else {
        return;
    };
    // Ftrace may call both users for one hit. Only the call of the user that the point is armed for
    // counts.
    if !point.armed.is(armed) {
        return;
    }
    if Arch::is_in_hit(no_preempt) {
        return miss(point);
    }
    let Some(probe) = point.probes.single() else {
        return hit_slow(point, at, registers, no_preempt);
    };
    let next = Arch::enter_ftrace(registers, at);
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
    if !probe.call_pre_handler(registers) {
        if probe.has_post_handler() {
            Arch::pass_ftrace(registers, at);
            probe.call_post_handler(registers);
        }
        Arch::set_ip(registers, next);
    }
    Arch::set_current_probe(None, no_preempt);
}

#[cold]
#[inline(never)]
fn miss(point: &Point) {
    point.probes.iter().for_each(Probe::miss);
}

/// Handles the hit for any number of probes.
#[inline(never)]
fn hit_slow(point: &Point, at: TextAddr, registers: &mut Registers, no_preempt: &PreemptOff) {
    let next = Arch::enter_ftrace(registers, at);
    let Some(probe) = call_pre_handlers(point, registers, no_preempt) else {
        return finish(point, at, next, registers, no_preempt);
    };
    let Some(jprobe) = probe.jprobe() else {
        return Arch::set_current_probe(None, no_preempt);
    };
    if ftrace::has_other_trampoline(at) {
        probe.miss();
        return finish(point, at, next, registers, no_preempt);
    }
    Arch::set_ip(registers, next);
    jprobe::enter(jprobe, at, Context::now(no_preempt), registers, no_preempt);
}

/// Calls the post handlers after the pre handlers, and lets the CPU continue at `next`.
#[inline(always)]
fn finish(
    point: &Point,
    at: TextAddr,
    next: TextAddr,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    if point.probes.has_post_or_jprobe() {
        Arch::pass_ftrace(registers, at);
        call_post_handlers(point, registers, no_preempt);
    }
    Arch::set_ip(registers, next);
    Arch::set_current_probe(None, no_preempt);
}

/// Finishes a hit after its last handler, the jprobe's, has ended. The CPU continues with these
/// registers.
#[inline(never)]
pub(super) fn finish_jprobe_hit(
    point: &Point,
    at: TextAddr,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    let next = Arch::enter_ftrace(registers, at);
    finish(point, at, next, registers, no_preempt);
}
