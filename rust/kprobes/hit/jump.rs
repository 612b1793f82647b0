// SPDX-License-Identifier: GPL-2.0

//! Hits by a jump: the jump has led to its detour.
//!
//! The detour ignores the return values of the handlers, and runs the copied instructions next.
//!
//! C counterpart: `optimized_callback()` in
//! [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

use super::handlers::make_current;
use crate::{
    registry::prelude::*,
    sys::probe::chain::{
        Chain,
        ChainIter,
        Summary, //
    }, //
};

/// Calls the pre handlers of these probes.
///
/// Fast path: one enabled probe on a CPU that handles no hit.
#[inline(always)]
pub(crate) fn handle_jump(probes: &Chain, registers: &mut Registers, no_preempt: &PreemptOff) {
    if Arch::is_in_hit(no_preempt) {
        return probes.iter().for_each(Probe::miss);
    }
    let summary = probes.summary();
    let Summary::SinglePreOnly(probe) = summary else {
        return match summary {
            Summary::Several(newest) => call_each(newest, registers, no_preempt),
            _ => walk(probes, registers, no_preempt),
        };
    };
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
    probe.call_pre_handler(registers);
    Arch::set_current_probe(None, no_preempt);
}

/// Calls the pre handlers of `newest` and all older probes, which are all simple. Out of line: the
/// caller need not save the registers that the loop uses.
#[inline(never)]
fn call_each(newest: &Probe, registers: &mut Registers, no_preempt: &PreemptOff) {
    // No probe has a fault handler, so the newest one can be the current probe for all.
    Arch::set_current_probe(Some(newest.as_current()), no_preempt);
    ChainIter::from(newest).for_each(|probe| {
        if probe.has_pre_handler() {
            probe.call_pre_handler(registers);
        } else {
            unlikely();
        }
    });
    Arch::set_current_probe(None, no_preempt);
}

/// Empty cold function: marks the caller's branch unlikely. It saves an instruction per probe.
#[cold]
#[inline(never)]
fn unlikely() {}

/// Calls the pre handlers of the enabled probes. A probe with a post handler, or a jprobe, was
/// added after the CPU took the jump. It is missed: a detour calls no post handler, and cannot
/// continue where a pre handler says.
#[cold]
#[inline(never)]
fn walk(probes: &Chain, registers: &mut Registers, no_preempt: &PreemptOff) {
    for probe in probes.iter().filter(|probe| probe.is_enabled()) {
        if probe.has_post_or_jprobe() {
            probe.miss();
        } else {
            make_current(probe, no_preempt);
            probe.call_pre_handler(registers);
        }
    }
    Arch::set_current_probe(None, no_preempt);
}
