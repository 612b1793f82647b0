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
    hit::Registers,
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

/// Ftrace has called from `at`; `changing` tells as which of its two users.
pub(crate) fn called(at: TextAddr, changing: bool, registers: &mut Registers, pinned: &Pinned) {
    let armed = if changing {
        Armed::Changing
    } else {
        Armed::Watching
    };
    let Some(site) = site::find(at, pinned) else {
        return;
    };
    // While a place changes from one way to the other, both call.
    if !site.is_armed(armed) {
        return;
    }
    if Current::running(pinned).is_some() {
        return count(site);
    }
    handle(site, at, registers, pinned);
    Current::set_running(None, pinned);
}

/// Ftrace would have called from `at`, but is itself in the middle of a call.
pub(crate) fn missed(at: TextAddr, pinned: &Pinned) {
    if let Some(site) = site::find(at, pinned) {
        count(site);
    }
}

#[cold]
#[inline(never)]
fn count(site: &Site) {
    site.probes.iter().for_each(Probe::miss);
}

#[inline(always)]
fn handle(site: &Site, at: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    let next = Current::enter_ftrace(registers, at);
    for probe in site.probes.iter() {
        Current::set_running(Some(probe.running()), pinned);
        if probe.is_enabled() && probe.before(registers) {
            return;
        }
    }
    if site.comes_back() {
        after(site, at, registers, pinned);
    }
    Current::leave_ftrace(registers, next);
}

#[inline(never)]
fn after(site: &Site, at: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    Current::pass_ftrace(registers, at);
    for probe in site.probes.iter() {
        if probe.comes_back() && probe.is_enabled() {
            Current::set_running(Some(probe.running()), pinned);
            probe.after(registers);
        }
    }
}
