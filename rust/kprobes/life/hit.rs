// SPDX-License-Identifier: GPL-2.0

//! A hit: find the place, call the handlers, carry out the instruction.
//!
//! Everything here and everything called from here is in `.kprobes.text`: no allocation, no lock,
//! no call that a probe could be on. The CPU stays the same throughout: whoever calls has
//! preemption off.
//!
//! C counterpart: `kprobe_int3_handler()` and its neighbours in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    counters,
    jprobes,
    site::{
        self,
        Prepared,
        Site, //
    }, //
};
use crate::{
    arch::Current,
    contract::Machine,
    model::{
        hit_state::{
            Nested,
            Phase, //
        },
        plan::{
            AfterStep,
            Next, //
        }, //
    },
    prelude::*,
    sys::{
        preempt::{
            Context,
            Pinned, //
        },
        probe::{
            Brief,
            Chain,
            List,
            Probe,
            Running, //
        },
        report,
        this_cpu::{
            self,
            Cpu,
            Hit, //
        },
        Registers, //
    }, //
};
use kernel::prelude::*;

/// Whose a breakpoint is, as C is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Whose {
    /// Somebody else's, and nothing was done.
    Other = 0,
    /// Ours, and the registers are those to go on with.
    Ours = 1,
}

/// A breakpoint was hit; was it ours?
///
/// A place that has one probe, which wants to be called before the instruction only, on a CPU that
/// handles no hit, is what all this is for: it is gone through here without a call but the
/// handler's. Everything else is a call away.
#[inline(always)]
pub(crate) fn breakpoint(registers: &mut Registers, pinned: &Pinned) -> Whose {
    if Current::is_running(pinned) {
        return nested(registers, pinned);
    }
    let Some(site) = site::find(Current::hit_at(registers), pinned) else {
        return Whose::Other;
    };
    let Some(prepared) = site.prepared() else {
        return Whose::Other;
    };
    let Some(probe) = site.probes.lone_before() else {
        return match site.probes.lone() {
            Some(probe) => around(probe, prepared, registers, pinned),
            None => each(site, prepared, registers, pinned),
        };
    };
    Current::set_running(Some(probe.running()), pinned);
    if !probe.before(registers) {
        if let Next::Stepping(kept) = Current::run(prepared, registers, false) {
            return begin_step(prepared, kept, pinned);
        }
    }
    Current::set_running(None, pinned);
    Whose::Ours
}

/// A jump in the place of a breakpoint was taken, to where the handlers of these probes are called.
/// The instruction runs when this is over, whatever they say.
#[inline(always)]
pub(crate) fn jumped(probes: &Chain, registers: &mut Registers, pinned: &Pinned) {
    if Current::is_running(pinned) {
        return probes.iter().for_each(Probe::miss);
    }
    let brief = probes.brief();
    let Brief::Lone(probe) = brief else {
        return match brief {
            Brief::LoneAround(newest) | Brief::Several(newest) => {
                each_jumped(newest, registers, pinned);
            }
            _ => walk_jumped(probes, registers, pinned),
        };
    };
    Current::set_running(Some(probe.running()), pinned);
    probe.before(registers);
    Current::set_running(None, pinned);
}

/// The same for this probe and the older ones. The registers that are kept here for them are not
/// for who comes for one.
#[inline(never)]
fn each_jumped(newest: &Probe, registers: &mut Registers, pinned: &Pinned) {
    // None of them deals with faults, so it does not matter whose handler is the one that runs.
    Current::set_running(Some(newest.running()), pinned);
    List::from(newest).for_each(|probe| {
        if probe.wants_before() {
            probe.before(registers);
        } else {
            seldom();
        }
    });
    Current::set_running(None, pinned);
}

/// Where the code for this is, which hardly ever happens, does not matter.
#[cold]
#[inline(never)]
fn seldom() {}

/// The same for probes of which each has to be asked.
#[cold]
#[inline(never)]
fn walk_jumped(probes: &Chain, registers: &mut Registers, pinned: &Pinned) {
    for probe in probes.iter().filter(|probe| probe.is_enabled()) {
        turn_to(probe, pinned);
        // Who comes so late, by a jump that is no more, cannot go elsewhere.
        if probe.before(registers) && probe.is_jprobe() {
            probe.miss();
        }
    }
    Current::set_running(None, pinned);
}

/// The same for a place with one probe that wants to be called after the instruction, too.
#[cold]
#[inline(never)]
fn around(probe: &Probe, prepared: &Prepared, registers: &mut Registers, pinned: &Pinned) -> Whose {
    Current::set_running(Some(probe.running()), pinned);
    if !probe.before(registers) {
        match Current::run(prepared, registers, true) {
            Next::Done | Next::Released => probe.after(registers),
            Next::Stepping(kept) => return begin_step(prepared, kept, pinned),
        }
    }
    Current::set_running(None, pinned);
    Whose::Ours
}

/// The same for any number of probes.
#[cold]
#[inline(never)]
fn each(site: &Site, prepared: &Prepared, registers: &mut Registers, pinned: &Pinned) -> Whose {
    let Some(probe) = before(site, registers, pinned) else {
        let comes_back = site.probes.comes_back();
        return carry_out(site, prepared, comes_back, registers, pinned);
    };
    match probe.jprobe() {
        Some(jprobe) => {
            let (at, context) = (Current::place(prepared), Context::interrupted(pinned));
            jprobes::enter(jprobe, at, context, registers, pinned);
        }
        None => Current::set_running(None, pinned),
    }
    Whose::Ours
}

/// The same after the handler of a jprobe, which was called last.
#[inline(never)]
pub(super) fn resume(site: &Site, prepared: &Prepared, registers: &mut Registers, pinned: &Pinned) {
    // The jprobe itself does not.
    let comes_back = site.probes.iter().any(Probe::wants_after);
    carry_out(site, prepared, comes_back, registers, pinned);
}

/// The handlers from before the instruction were called: carries it out, and calls the others.
#[inline(always)]
fn carry_out(
    site: &Site,
    prepared: &Prepared,
    comes_back: bool,
    registers: &mut Registers,
    pinned: &Pinned,
) -> Whose {
    match Current::run(prepared, registers, comes_back) {
        Next::Done if comes_back => after(site, registers, pinned),
        Next::Done | Next::Released => {}
        Next::Stepping(kept) => {
            // Whose handler is asked if the step faults.
            let newest = site.probes.iter().find(|probe| probe.is_enabled());
            Current::set_running(newest.map(Probe::running), pinned);
            return begin_step(prepared, kept, pinned);
        }
    }
    Current::set_running(None, pinned);
    Whose::Ours
}

/// Notes that a copy of the instruction is run now, which will come back.
#[inline(always)]
fn begin_step(prepared: &Prepared, kept: usize, pinned: &Pinned) -> Whose {
    // If no probe is enabled (any more), nobody handles the hit.
    if !Current::is_running(pinned) {
        Current::set_running(this_cpu::nobody(), pinned);
    }
    Current::this_cpu(pinned).now.set(Hit {
        phase: Phase::Stepping,
        at: Current::place(prepared),
        kept,
    });
    Whose::Ours
}

/// Who is called first when the place at an address is hit.
pub(crate) fn newest(at: TextAddr, pinned: &Pinned) -> Option<Running> {
    let site = site::find(at, pinned)?;
    site.probes.iter().next().map(Probe::running)
}

/// A fault came while this CPU handles a hit; has its probe's handler dealt with it?
///
/// If it was the copy of an instruction that faulted, the registers become those at the place
/// itself, as everybody else wants to see them, and the hit is over. A fault of an interrupt, or of
/// an NMI, that came while a copy is run or a handler is called, is nobody's here. Nor is one that
/// comes while a handler for faults is called.
pub(crate) fn fault(registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let running = Current::running(pinned);
    let ours = if is_stepping(pinned) {
        faulted(registers, pinned)
    } else {
        Current::this_cpu(pinned).context.get() == Context::now(pinned)
    };
    ours && running.is_some_and(|running| ask(running.probe(pinned), registers, trap, pinned))
}

/// Asks a probe's handler about a fault. It runs on top of the handler that has faulted, and is
/// none of the hit's: `jprobe_return()` in it would end what is beneath it.
fn ask(probe: &Probe, registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let context = &Current::this_cpu(pinned).context;
    let outer = context.replace(Context::none());
    let handled = probe.fault(registers, trap);
    context.set(outer);
    handled
}

/// Makes `code`, which was read at `at`, what it is without a breakpoint; tells whether there is a
/// place that has one.
pub(crate) fn restore(at: TextAddr, code: &mut [u8], pinned: &Pinned) -> bool {
    // What has gone is not what is there now.
    let site = site::find(at, pinned).filter(|site| !site.is_gone());
    let prepared = site.and_then(Site::prepared);
    if let Some(prepared) = prepared {
        Current::restore(prepared, code);
    }
    prepared.is_some()
}

/// Is a copy of an instruction stepped on this CPU?
fn is_stepping(pinned: &Pinned) -> bool {
    Current::this_cpu(pinned).now.get().phase.is_stepping()
}

/// A fault came: was it in the copy of an instruction that is stepped? Then the registers become
/// those at the place itself, and the hit is over.
pub(crate) fn faulted(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some(prepared) = faults_in(&hit, registers, pinned) else {
        return false;
    };
    Current::faulted(prepared, registers, hit.kept);
    counters::UNFINISHED_STEPS.count();
    leave_step(cpu, hit.phase, pinned);
    true
}

/// A fault came: was it in the copy of an instruction that is stepped?
pub(crate) fn faults_in_step(registers: &Registers, pinned: &Pinned) -> bool {
    let hit = Current::this_cpu(pinned).now.get();
    faults_in(&hit, registers, pinned).is_some()
}

fn faults_in<'a>(hit: &Hit, registers: &Registers, pinned: &'a Pinned) -> Option<&'a Prepared> {
    let (_, prepared) = stepped(hit, pinned)?;
    Current::faults_in_step(prepared, registers).then_some(prepared)
}

/// A trap while an instruction is stepped: is it the end of the step?
#[inline(always)]
fn came_back(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some((site, prepared)) = stepped(&hit, pinned) else {
        return false;
    };
    if !Current::ends_step(prepared, registers) {
        return false;
    }
    let end = Current::after_step(prepared, registers, hit.kept);
    if hit.phase == Phase::Stepping && end == AfterStep::Done {
        cpu.now.set(Hit {
            phase: Phase::Handling,
            ..hit
        });
        match site.probes.lone() {
            Some(probe) => {
                // It need not be the one that was lone before the step.
                Current::set_running(Some(probe.running()), pinned);
                probe.after(registers);
            }
            None => after(site, registers, pinned),
        }
        Current::set_running(None, pinned);
    } else {
        if end == AfterStep::Again {
            counters::UNFINISHED_STEPS.count();
        }
        leave_step(cpu, hit.phase, pinned);
    }
    true
}

/// The step is over, and with it the hit; one that it came into the middle of goes on.
#[inline(never)]
fn leave_step(cpu: &Cpu, phase: Phase, pinned: &Pinned) {
    // From the first change on, a hit that comes in between may put itself aside there.
    let (outer, outer_running) = (cpu.outer.get(), cpu.outer_running.get());
    if phase == Phase::SteppingInside {
        cpu.now.set(outer);
        Current::set_running(outer_running, pinned);
    } else {
        cpu.now.set(Hit {
            phase: Phase::Handling,
            ..cpu.now.get()
        });
        Current::set_running(None, pinned);
    }
}

/// The place whose instruction is being stepped.
#[inline(always)]
fn stepped<'a>(hit: &Hit, pinned: &'a Pinned) -> Option<(&'a Site, &'a Prepared)> {
    if !hit.phase.is_stepping() || !Current::is_running(pinned) {
        return None;
    }
    let site = site::find(hit.at, pinned)?;
    Some((site, site.prepared()?))
}

/// A breakpoint, or the end of a step, while this CPU handles a hit.
#[inline(never)]
fn nested(registers: &mut Registers, pinned: &Pinned) -> Whose {
    if came_back(registers, pinned) || jprobes::ended(registers, pinned) {
        Whose::Ours
    } else {
        inside(registers, pinned)
    }
}

/// A breakpoint while this CPU handles a hit.
#[inline(never)]
fn inside(registers: &mut Registers, pinned: &Pinned) -> Whose {
    let Some(site) = site::find(Current::hit_at(registers), pinned) else {
        return Whose::Other;
    };
    let Some(prepared) = site.prepared() else {
        return Whose::Other;
    };
    let cpu = Current::this_cpu(pinned);
    let outer = cpu.now.get();
    let newest = site.probes.iter().next();
    if outer.phase.nested() == Nested::Hopeless {
        report::hopeless(newest);
    }
    site.probes.iter().for_each(Probe::miss);
    if let Next::Stepping(kept) = Current::run(prepared, registers, false) {
        cpu.outer.set(outer);
        cpu.outer_running.set(Current::running(pinned));
        cpu.now.set(Hit {
            phase: Phase::SteppingInside,
            at: Current::place(prepared),
            kept,
        });
        let enabled = site.probes.iter().find(|probe| probe.is_enabled());
        let running = enabled.map(Probe::running).or_else(this_cpu::nobody);
        Current::set_running(running, pinned);
    }
    Whose::Ours
}

/// A probe's handler is called next. Until it is noted where, nobody is asked about faults, and a
/// hit that comes in between, which may have something to note itself, is one inside another.
#[inline(always)]
pub(crate) fn turn_to(probe: &Probe, pinned: &Pinned) {
    if probe.handles_faults() {
        Current::set_running(this_cpu::nobody(), pinned);
        note_context(pinned);
    }
    Current::set_running(Some(probe.running()), pinned);
}

/// Handlers are called here.
#[cold]
#[inline(never)]
fn note_context(pinned: &Pinned) {
    let context = Context::now(pinned);
    Current::this_cpu(pinned).context.set(context);
}

/// Calls the handlers from before the instruction, up to one that chooses another path; tells
/// whose that was.
#[inline(always)]
pub(super) fn before<'a>(
    site: &'a Site,
    registers: &mut Registers,
    pinned: &Pinned,
) -> Option<&'a Probe> {
    site.probes.iter().find(|probe| {
        probe.is_enabled() && {
            turn_to(probe, pinned);
            probe.before(registers)
        }
    })
}

/// Calls the handlers from after the instruction.
#[inline(always)]
pub(super) fn after(site: &Site, registers: &mut Registers, pinned: &Pinned) {
    for probe in site.probes.iter() {
        if probe.wants_after() && probe.is_enabled() {
            turn_to(probe, pinned);
            probe.after(registers);
        }
    }
}
