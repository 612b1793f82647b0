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
        plan::Next, //
    },
    sys::{
        preempt::Pinned,
        probe::{
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
pub(crate) fn breakpoint(registers: &mut Registers, pinned: &Pinned) -> bool {
    let at = Current::hit_at(registers);
    let Some((site, prepared)) = breakpoint_at(at, pinned) else {
        return came_back(registers, pinned);
    };
    let hit = Breakpoint { at, site, prepared };
    if Current::running(pinned).is_some() {
        hit.missed(registers, pinned);
    } else if hit.before(registers, pinned) {
        hit.go_on(registers, pinned);
    }
    true
}

/// Who is called first when the place at an address is hit.
pub(crate) fn newest(at: TextAddr, pinned: &Pinned) -> Option<Running> {
    let site = site::find(at, pinned)?;
    site.probes.iter().next().map(Probe::running)
}

/// A fault came while this CPU handles a hit; has its probe's handler dealt with it?
///
/// If it was the copy of an instruction that faulted, the registers become those at the place
/// itself, as everybody else wants to see them, and the hit is over.
pub(crate) fn fault(registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let running = Current::running(pinned);
    faulted(registers, pinned);
    running.is_some_and(|running| running.probe(pinned).fault(registers, trap))
}

/// A fault came: if it is in the copy of an instruction that is stepped, the registers become those
/// at the place itself, and the hit is over.
pub(crate) fn faulted(registers: &mut Registers, pinned: &Pinned) {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some((_, prepared)) = stepped(&hit, pinned) else {
        return;
    };
    if Current::faulted(prepared, hit.at, registers, hit.kept) {
        leave_step(cpu, hit.phase, pinned);
    }
}

/// A trap that is no place's breakpoint: is it the end of a step?
fn came_back(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some((site, prepared)) = stepped(&hit, pinned) else {
        return false;
    };
    if !Current::ends_step(prepared, registers) {
        return false;
    }
    Current::after_step(prepared, hit.at, registers, hit.kept);
    if hit.phase == Phase::Stepping {
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
    if phase == Phase::SteppingInside {
        cpu.now.set(cpu.outer.get());
        Current::set_running(cpu.outer_running.get(), pinned);
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

/// A breakpoint that was hit.
struct Breakpoint<'a> {
    at: TextAddr,
    site: &'a Site,
    prepared: &'a Prepared,
}

impl Breakpoint<'_> {
    /// Calls the handlers from before the instruction; tells whether it is to be carried out.
    fn before(&self, registers: &mut Registers, pinned: &Pinned) -> bool {
        for probe in self.site.probes.iter() {
            Current::set_running(Some(probe.running()), pinned);
            if probe.is_enabled() && probe.before(registers) {
                Current::set_running(None, pinned);
                return false;
            }
        }
        true
    }

    /// Carries out the instruction, or begins to.
    fn go_on(&self, registers: &mut Registers, pinned: &Pinned) {
        match Current::run(self.prepared, self.at, registers) {
            Next::Done => after(self.site, registers, pinned),
            Next::Released => Current::set_running(None, pinned),
            Next::Stepping(kept) => Current::this_cpu(pinned).now.set(Hit {
                phase: Phase::Stepping,
                at: self.at,
                kept,
            }),
        }
    }

    /// The CPU handles another hit: this one is counted, and its instruction carried out.
    fn missed(&self, registers: &mut Registers, pinned: &Pinned) {
        let cpu = Current::this_cpu(pinned);
        let outer = cpu.now.get();
        if outer.phase.nested() == Nested::Hopeless {
            report::hopeless(self.site.probes.iter().next());
        }
        self.site.probes.iter().for_each(Probe::miss);
        if let Next::Stepping(kept) = Current::run(self.prepared, self.at, registers) {
            cpu.outer.set(outer);
            cpu.outer_running.set(Current::running(pinned));
            cpu.now.set(Hit {
                phase: Phase::SteppingInside,
                at: self.at,
                kept,
            });
            let probe = self.site.probes.iter().next();
            Current::set_running(probe.map(Probe::running), pinned);
        }
    }
}

/// Calls the handlers from after the instruction; that is the end of the hit.
fn after(site: &Site, registers: &mut Registers, pinned: &Pinned) {
    for probe in site.probes.iter() {
        if probe.comes_back() && probe.is_enabled() {
            Current::set_running(Some(probe.running()), pinned);
            probe.after(registers);
        }
    }
    Current::set_running(None, pinned);
}
