// SPDX-License-Identifier: GPL-2.0

//! A hit through ftrace.
//!
//! The compiler has left room for a call at the entry of functions, and ftrace calls us from there
//! on demand. Handlers see registers as of a breakpoint; the instruction is the room itself, so
//! there is nothing to carry out.
//!
//! C counterpart: `kprobe_ftrace_handler()` in
//! [`arch/x86/kernel/kprobes/ftrace.c`](srctree/arch/x86/kernel/kprobes/ftrace.c).

use super::{
    hit,
    jprobes,
    site::{
        self,
        Armed,
        Site, //
    }, //
};
use crate::{
    arch::Current,
    contract::Machine,
    prelude::*,
    sys::{
        ftrace,
        preempt::{
            Context,
            Pinned, //
        },
        probe::Probe,
        Registers, //
    }, //
};

/// Ftrace has called from `at`, where it does so if the place is armed like that.
#[inline(always)]
pub(crate) fn called(at: TextAddr, armed: Armed, registers: &mut Registers, pinned: &Pinned) {
    let Some(site) = site::find(at, pinned) else {
        return;
    };
    // Both may call, and one of them counts.
    if !site.is_armed(armed) {
        return;
    }
    if Current::is_running(pinned) {
        return count(site);
    }
    let Some(probe) = site.probes.lone() else {
        return each(site, at, registers, pinned);
    };
    let next = Current::enter_ftrace(registers, at);
    Current::set_running(Some(probe.running()), pinned);
    if !probe.before(registers) {
        if probe.wants_after() {
            Current::pass_ftrace(registers, at);
            probe.after(registers);
        }
        Current::leave_ftrace(registers, next);
    }
    Current::set_running(None, pinned);
}

/// Ftrace would have called from `at`, where it does so if the place is armed like that, but is
/// itself in the middle of a call.
pub(crate) fn missed(at: TextAddr, armed: Armed, pinned: &Pinned) {
    // While both call, one of them counts.
    if let Some(site) = site::find(at, pinned).filter(|site| site.is_armed(armed)) {
        count(site);
    }
}

#[cold]
#[inline(never)]
fn count(site: &Site) {
    site.probes.iter().for_each(Probe::miss);
}

/// Handles the call for any number of probes.
#[inline(never)]
fn each(site: &Site, at: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    let next = Current::enter_ftrace(registers, at);
    let Some(probe) = hit::before(site, registers, pinned) else {
        return go_on(site, at, next, registers, pinned);
    };
    let Some(jprobe) = probe.jprobe() else {
        return Current::set_running(None, pinned);
    };
    if ftrace::leads_elsewhere(at) {
        probe.miss();
        return go_on(site, at, next, registers, pinned);
    }
    Current::leave_ftrace(registers, next);
    jprobes::enter(jprobe, at, Context::now(pinned), registers, pinned);
}

/// The handlers from before the instruction were called: the CPU goes on behind it, at `next`, and
/// the others are called.
#[inline(always)]
fn go_on(site: &Site, at: TextAddr, next: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    if site.probes.comes_back() {
        Current::pass_ftrace(registers, at);
        hit::after(site, registers, pinned);
    }
    Current::leave_ftrace(registers, next);
    Current::set_running(None, pinned);
}

/// The same after the handler of a jprobe, which was called last. The registers are those to go on
/// with.
#[inline(never)]
pub(super) fn resume(site: &Site, at: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    let next = Current::enter_ftrace(registers, at);
    go_on(site, at, next, registers, pinned);
}
