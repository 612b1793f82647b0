// SPDX-License-Identifier: GPL-2.0

//! Calling the handlers of a point's probes.

use crate::{
    registry::prelude::*,
    sys::this_cpu, //
};

/// Makes a probe the current one of this CPU, before its handler is called.
///
/// If the probe has a fault handler, notes the context of the handlers first. The current probe is
/// [`busy`](this_cpu::busy) until then: a fault meanwhile calls no fault handler, and a hit that
/// interrupts this function is nested, so it does not note its own context.
#[inline(always)]
pub(crate) fn make_current(probe: &Probe, no_preempt: &PreemptOff) {
    if probe.has_fault_handler() {
        Arch::set_current_probe(this_cpu::busy(), no_preempt);
        note_context(no_preempt);
    }
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
}

/// Notes the context in which the handlers are called.
#[cold]
#[inline(never)]
fn note_context(no_preempt: &PreemptOff) {
    let context = Context::now(no_preempt);
    Arch::this_cpu(no_preempt).context.set(context);
}

/// Calls the pre handlers of all enabled probes up to the first one that changes where the CPU
/// continues, and returns that probe.
#[inline(always)]
pub(super) fn call_pre_handlers<'a>(
    point: &'a Point,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) -> Option<&'a Probe> {
    point.probes.iter().find(|probe| {
        probe.is_enabled() && {
            make_current(probe, no_preempt);
            probe.call_pre_handler(registers)
        }
    })
}

/// Calls the post handlers of all enabled probes.
#[inline(always)]
pub(super) fn call_post_handlers(
    point: &Point,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    for probe in point.probes.iter() {
        if probe.has_post_handler() && probe.is_enabled() {
            make_current(probe, no_preempt);
            probe.call_post_handler(registers);
        }
    }
}

/// Makes all hits on this CPU missed until [`busy_end`], as if a handler ran: C's
/// `kprobe_busy_begin()`. Preemption is off meanwhile.
pub(crate) fn busy_begin() {
    let no_preempt = PreemptOff::new();
    Arch::set_current_probe(this_cpu::busy(), &no_preempt);
    no_preempt.keep_disabled();
}

/// Ends the busy state: C's `kprobe_busy_end()`. `no_preempt` stands for the preemption that
/// [`busy_begin`] has left off.
pub(crate) fn busy_end(no_preempt: PreemptOff) {
    Arch::set_current_probe(None, &no_preempt);
}
