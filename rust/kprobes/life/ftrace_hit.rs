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
    hit::{
        self,
        Registers, //
    },
    site::{
        self,
        Armed,
        Site, //
    }, //
};
use crate::{
    arch::Current,
    contract::Machine,
    model::addr::TextAddr,
    sys::{
        preempt::Pinned,
        probe::Probe, //
    },
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
        if probe.comes_back() {
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
    if !hit::before(site, registers, pinned) {
        if site.probes.comes_back() {
            Current::pass_ftrace(registers, at);
            hit::after(site, registers, pinned);
        }
        Current::leave_ftrace(registers, next);
    }
    Current::set_running(None, pinned);
}
