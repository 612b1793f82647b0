// SPDX-License-Identifier: GPL-2.0

//! A hit: find the place, call the handlers, carry out the instruction.
//!
//! Everything here and everything called from here is in `.kprobes.text`: no allocation, no lock,
//! no call that a probe could be on. The CPU stays the same throughout: whoever calls has preemption
//! off.
//!
//! C counterpart: `kprobe_int3_handler()` and its neighbours in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::site::{
    self,
    Prepared,
    Site, //
};
use crate::{
    arch::Current,
    contract::Machine,
    model::{
        addr::TextAddr,
        hit_state::{
            Nested,
            Phase, //
        },
        plan::{
            AfterStep,
            Next, //
        }, //
    },
    sys::{
        preempt::Pinned,
        probe::{
            List,
            Probe,
            Running, //
        },
        report,
        this_cpu::{
            self,
            Hit, //
        }, //
    },
};

use kernel::prelude::*;

/// The registers of what a hit interrupted.
pub(crate) type Registers = <Current as Machine>::Registers;

type Cpu = this_cpu::Cpu<<Current as Machine>::Kept>;

/// A breakpoint was hit; was it ours?
///
/// A place that has one probe, on a CPU that handles no hit, is what all this is for: it is gone
/// through here without a call but the handler's. Everything else is a call away.
#[inline(always)]
pub(crate) fn breakpoint(registers: &mut Registers, pinned: &Pinned) -> bool {
    if Current::running(pinned).is_some() {
        return nested(registers, pinned);
    }
    let Some(site) = site::find(Current::hit_at(registers), pinned) else {
        return false;
    };
    let Some(prepared) = site.prepared() else {
        return false;
    };
    let mut probes = site.probes.iter();
    if let Some(newest) = probes.next() {
        if before(newest, registers, pinned)
            || probes.has_more() && others(probes, registers, pinned)
        {
            Current::set_running(None, pinned);
            return true;
        }
    }
    go_on(site, prepared, registers, pinned);
    true
}

/// Calls the handler of one probe from before the instruction; tells whether it chose another path.
#[inline(always)]
fn before(probe: &Probe, registers: &mut Registers, pinned: &Pinned) -> bool {
    if !probe.is_enabled() {
        return false;
    }
    Current::set_running(Some(probe.running()), pinned);
    probe.before(registers)
}

/// Calls those of the other probes; tells whether one chose another path.
#[inline(never)]
fn others(mut probes: List<'_>, registers: &mut Registers, pinned: &Pinned) -> bool {
    probes.any(|probe| before(probe, registers, pinned))
}

/// Carries out the instruction, or begins to.
#[inline(always)]
fn go_on(site: &Site, prepared: &Prepared, registers: &mut Registers, pinned: &Pinned) {
    match Current::run(prepared, registers) {
        Next::Done if Current::follows(prepared) => after(site, registers, pinned),
        Next::Done | Next::Released => Current::set_running(None, pinned),
        Next::Stepping(kept) => {
            // If no probe is enabled (any more), nobody handles the hit.
            let running = Current::running(pinned).or(this_cpu::nobody());
            Current::set_running(running, pinned);
            Current::this_cpu(pinned).now.set(Hit {
                phase: Phase::Stepping,
                at: Current::place(prepared),
                kept,
            });
        }
    }
}

/// Who is called first when the place at an address is hit.
pub(crate) fn newest(at: TextAddr, pinned: &Pinned) -> Option<Running> {
    let site = site::find(at, pinned)?;
    site.probes.iter().next().map(Probe::running)
}

/// A fault came while this CPU handles a hit; has its probe's handler dealt with it?
///
/// If it was the copy of an instruction that faulted, the registers become those at the place
/// itself, as everybody else wants to see them, and the hit is over. A fault of something else
/// while a copy is run (an NMI's handler) is nobody's here.
pub(crate) fn fault(registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let running = Current::running(pinned);
    if is_stepping(pinned) && !faulted(registers, pinned) {
        return false;
    }
    running.is_some_and(|running| running.probe(pinned).fault(registers, trap))
}

/// Is a copy of an instruction stepped on this CPU?
pub(crate) fn is_stepping(pinned: &Pinned) -> bool {
    Current::this_cpu(pinned).now.get().phase.is_stepping()
}

/// A fault came: was it in the copy of an instruction that is stepped? Then the registers become
/// those at the place itself, and the hit is over.
pub(crate) fn faulted(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some((_, prepared)) = stepped(&hit, pinned) else {
        return false;
    };
    let faulted = Current::faulted(prepared, registers, hit.kept);
    if faulted {
        leave_step(cpu, hit.phase, pinned);
    }
    faulted
}

/// A trap while an instruction is stepped: is it the end of the step?
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
        after(site, registers, pinned);
    } else {
        leave_step(cpu, hit.phase, pinned);
    }
    true
}

/// The step is over, and with it the hit; one that it came into the middle of goes on.
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
fn stepped<'a>(
    hit: &Hit<<Current as Machine>::Kept>,
    pinned: &'a Pinned,
) -> Option<(&'a Site, &'a Prepared)> {
    if !hit.phase.is_stepping() || Current::running(pinned).is_none() {
        return None;
    }
    breakpoint_at(hit.at, pinned)
}

/// The place at an address, if a breakpoint is how it is hit.
fn breakpoint_at(at: TextAddr, pinned: &Pinned) -> Option<(&Site, &Prepared)> {
    let site = site::find(at, pinned)?;
    Some((site, site.prepared()?))
}

/// A breakpoint, or the end of a step, while this CPU handles a hit.
#[inline(never)]
fn nested(registers: &mut Registers, pinned: &Pinned) -> bool {
    if came_back(registers, pinned) {
        return true;
    }
    let at = Current::hit_at(registers);
    let Some((site, prepared)) = breakpoint_at(at, pinned) else {
        return false;
    };
    let cpu = Current::this_cpu(pinned);
    let outer = cpu.now.get();
    let newest = site.probes.iter().next();
    if outer.phase.nested() == Nested::Hopeless {
        report::hopeless(newest);
    }
    site.probes.iter().for_each(Probe::miss);
    if let Next::Stepping(kept) = Current::run(prepared, registers) {
        cpu.outer.set(outer);
        cpu.outer_running.set(Current::running(pinned));
        let phase = Phase::SteppingInside;
        cpu.now.set(Hit { phase, at, kept });
        Current::set_running(newest.map(Probe::running), pinned);
    }
    true
}

/// Calls the handlers from after the instruction; that is the end of the hit.
#[inline(never)]
fn after(site: &Site, registers: &mut Registers, pinned: &Pinned) {
    for probe in site.probes.iter() {
        if probe.comes_back() && probe.is_enabled() {
            Current::set_running(Some(probe.running()), pinned);
            probe.after(registers);
        }
    }
    Current::set_running(None, pinned);
}
