// SPDX-License-Identifier: GPL-2.0

//! Handles a hit of a breakpoint, and the trap at the end of a stepped copy.
//!
//! C counterpart: `kprobe_int3_handler()` and its neighbours in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
use super::ftrace;
use super::{
    handlers::{
        call_post_handlers,
        call_pre_handlers, //
    },
    jprobe, //
};
use crate::{
    model::hit_state::{
        AfterStep,
        Outcome,
        Phase, //
    },
    registry::prelude::*,
    sys::{
        probe::chain::Summary,
        report,
        this_cpu::{
            self,
            CpuHits,
            Hit, //
        }, //
    }, //
};
use core::{
    ops::ControlFlow::{
        self,
        Break,
        Continue, //
    },
    sync::atomic::{
        compiler_fence,
        AtomicUsize,
        Ordering, //
    }, //
};

/// The number of copies that ended before the instruction was executed: the copy faulted, or it was
/// the load of an emulated branch whose memory could be read after all. The breakpoint is hit
/// again, so the handlers run twice, unless a fixup or an oops ends the fault.
pub(crate) static STEP_FAULTS: AtomicUsize = AtomicUsize::new(0);

/// Counts a copy that has ended before the instruction was executed.
pub(crate) fn count_step_fault() {
    STEP_FAULTS.fetch_add(1, Ordering::Relaxed);
}

/// Handles a breakpoint trap: a hit, a nested hit, or the end of a step or of a jprobe's handler.
/// Returns false, and does nothing, if it is none of these.
///
/// Fast path: one enabled probe that has only a pre handler, on a CPU that handles no hit. For most
/// instructions this path calls only the handler, and on some architectures the function that finds
/// per-CPU variables. Other hits are handled out of line.
#[inline(always)]
pub(crate) fn handle_trap(registers: &mut Registers, no_preempt: &PreemptOff) -> bool {
    if Arch::is_in_hit(no_preempt) {
        return inner_trap(registers, no_preempt);
    }
    let (point, prepared) = match lookup(registers, no_preempt) {
        Continue(found) => found,
        Break(handled) => return handled,
    };
    let Summary::SinglePreOnly(probe) = point.probes.summary() else {
        return match point.probes.single() {
            Some(probe) => hit_one_with_post(probe, prepared, registers, no_preempt),
            None => hit_slow(point, prepared, registers, no_preempt),
        };
    };
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
    if !probe.call_pre_handler(registers) {
        if let Outcome::Stepping(saved) = Arch::run(prepared, registers, false) {
            return begin_step(prepared, saved, no_preempt);
        }
    }
    Arch::set_current_probe(None, no_preempt);
    true
}

/// Finds the point whose breakpoint was hit. If there is no point, or if the condition of its
/// instruction fails, the hit is over, and `Break` has the result of [`handle_trap`].
#[inline(always)]
fn lookup<'a>(
    registers: &mut Registers,
    no_preempt: &'a PreemptOff,
) -> ControlFlow<bool, (&'a Point, &'a ArchInsn)> {
    let point = points::find(Arch::hit_at(registers), no_preempt);
    match point.and_then(|point| Some((point, point.prepared()?))) {
        Some((_, prepared)) if Arch::skip_if_condition_fails(prepared, registers) => Break(true),
        Some(found) => Continue(found),
        None if Arch::resume_if_stale(registers) => Break(true),
        None => Break(false),
    }
}

/// Handles a hit for one probe that has, or just had, a post handler.
#[cold]
#[inline(never)]
fn hit_one_with_post(
    probe: &Probe,
    prepared: &ArchInsn,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) -> bool {
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
    if !probe.call_pre_handler(registers) {
        match Arch::run(prepared, registers, true) {
            Outcome::Emulated => probe.call_post_handler(registers),
            Outcome::Redirected => {}
            Outcome::Stepping(saved) => return begin_step(prepared, saved, no_preempt),
        }
    }
    Arch::set_current_probe(None, no_preempt);
    true
}

/// Handles a hit for any number of probes.
#[cold]
#[inline(never)]
fn hit_slow(
    point: &Point,
    prepared: &ArchInsn,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) -> bool {
    let Some(probe) = call_pre_handlers(point, registers, no_preempt) else {
        // No handler has changed where the CPU continues, so the instruction is executed. A jprobe
        // counts as a post handler here: the chain has one flag for both.
        let has_post_or_jprobe = point.probes.has_post_or_jprobe();
        return execute(point, prepared, has_post_or_jprobe, registers, no_preempt);
    };
    match probe.jprobe() {
        Some(jprobe) => {
            let (at, context) = (Arch::insn_addr(prepared), Context::interrupted(no_preempt));
            jprobe::enter(jprobe, at, context, registers, no_preempt);
        }
        None => Arch::set_current_probe(None, no_preempt),
    }
    true
}

/// Finishes a hit of the point at `at` after the handler of its jprobe has ended. No pre handler
/// follows, since a jprobe's handler is called last.
#[inline(never)]
fn finish_jprobe_hit(at: TextAddr, registers: &mut Registers, no_preempt: &PreemptOff) {
    let Some(point) = points::find(at, no_preempt) else {
        return Arch::set_current_probe(None, no_preempt);
    };
    if let Some(prepared) = point.prepared() {
        // Not `has_post_or_jprobe()`: the jprobe alone makes that true, but has no post handler.
        let has_post_handler = point.probes.iter().any(Probe::has_post_handler);
        execute(point, prepared, has_post_handler, registers, no_preempt);
    } else {
        #[cfg(CONFIG_KPROBES_ON_FTRACE)]
        ftrace::finish_jprobe_hit(point, at, registers, no_preempt);
        #[cfg(not(CONFIG_KPROBES_ON_FTRACE))]
        Arch::set_current_probe(None, no_preempt);
    }
}

/// Executes the instruction after the pre handlers, and calls the post handlers.
#[inline(always)]
fn execute(
    point: &Point,
    prepared: &ArchInsn,
    has_post_handler: bool,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) -> bool {
    match Arch::run(prepared, registers, has_post_handler) {
        Outcome::Emulated if has_post_handler => call_post_handlers(point, registers, no_preempt),
        Outcome::Emulated | Outcome::Redirected => {}
        Outcome::Stepping(saved) => {
            // If the step faults, the fault handler of the newest enabled probe is called.
            let newest = point.probes.iter().find(|probe| probe.is_enabled());
            Arch::set_current_probe(newest.map(Probe::as_current), no_preempt);
            return begin_step(prepared, saved, no_preempt);
        }
    }
    Arch::set_current_probe(None, no_preempt);
    true
}

/// Notes that the CPU will run a copy of the instruction that ends in a trap. Returns true: the
/// breakpoint is a probe's.
#[inline(always)]
fn begin_step(prepared: &ArchInsn, saved: usize, no_preempt: &PreemptOff) -> bool {
    // If all probes were disabled meanwhile, there is no current probe. The CPU handles a hit until
    // the step ends, so the busy probe stands for them.
    if !Arch::is_in_hit(no_preempt) {
        Arch::set_current_probe(this_cpu::busy(), no_preempt);
    }
    Arch::this_cpu(no_preempt).now.set(Hit {
        phase: Phase::Stepping,
        at: Arch::insn_addr(prepared),
        saved,
    });
    true
}

/// Finishes the step and its hit if this trap ends a step. Returns whether the trap ends a step.
#[inline(always)]
fn try_end_step(registers: &mut Registers, no_preempt: &PreemptOff) -> bool {
    let cpu = Arch::this_cpu(no_preempt);
    let hit = cpu.now.get();
    let Some((point, prepared)) = stepped(&hit, no_preempt) else {
        return false;
    };
    if !Arch::ends_step(prepared, registers) {
        return false;
    }
    let end = Arch::after_step(prepared, registers, hit.saved);
    if hit.phase == Phase::Stepping && end == AfterStep::Done {
        cpu.now.set(Hit {
            phase: Phase::NotStepping,
            ..hit
        });
        match point.probes.single() {
            Some(probe) => {
                // The point may have got another probe in place of the one that began the step.
                Arch::set_current_probe(Some(probe.as_current()), no_preempt);
                probe.call_post_handler(registers);
            }
            None => call_post_handlers(point, registers, no_preempt),
        }
        Arch::set_current_probe(None, no_preempt);
    } else {
        if end == AfterStep::Again {
            count_step_fault();
        }
        end_step(cpu, hit.phase, no_preempt);
    }
    true
}

/// Ends a step and its hit. If the hit is nested in an outer hit, the outer hit continues.
#[inline(never)]
pub(super) fn end_step(cpu: &CpuHits, phase: Phase, no_preempt: &PreemptOff) {
    // Read both before the phase changes: a hit that interrupts the code below may overwrite them.
    let (outer, outer_probe) = (cpu.outer.get(), cpu.outer_probe.get());
    compiler_fence(Ordering::SeqCst);
    if phase == Phase::NestedStep {
        cpu.now.set(outer);
        Arch::set_current_probe(outer_probe, no_preempt);
    } else {
        cpu.now.set(Hit {
            phase: Phase::NotStepping,
            ..cpu.now.get()
        });
        Arch::set_current_probe(None, no_preempt);
    }
}

/// Returns the point whose instruction is being stepped.
#[inline(always)]
pub(super) fn stepped<'a>(
    hit: &Hit,
    no_preempt: &'a PreemptOff,
) -> Option<(&'a Point, &'a ArchInsn)> {
    if !hit.phase.is_stepping() || !Arch::is_in_hit(no_preempt) {
        return None;
    }
    let point = points::find(hit.at, no_preempt)?;
    Some((point, point.prepared()?))
}

/// Handles a trap of a CPU that handles a hit already: the end of a step or of a jprobe's handler,
/// or a nested hit.
#[inline(never)]
fn inner_trap(registers: &mut Registers, no_preempt: &PreemptOff) -> bool {
    if try_end_step(registers, no_preempt) {
        return true;
    }
    let Some(at) = jprobe::ended(registers, no_preempt) else {
        return reenter(registers, no_preempt);
    };
    finish_jprobe_hit(at, registers, no_preempt);
    true
}

/// Handles a nested hit: counts its probes as missed, and executes the instruction.
#[inline(never)]
fn reenter(registers: &mut Registers, no_preempt: &PreemptOff) -> bool {
    let (point, prepared) = match lookup(registers, no_preempt) {
        Continue(found) => found,
        Break(handled) => return handled,
    };
    let cpu = Arch::this_cpu(no_preempt);
    let outer = cpu.now.get();
    let newest = point.probes.iter().next();
    if !outer.phase.can_nest() {
        report::unrecoverable(newest);
    }
    point.probes.iter().for_each(Probe::miss);
    if let Outcome::Stepping(saved) = Arch::run(prepared, registers, false) {
        cpu.outer.set(outer);
        cpu.outer_probe.set(Arch::current_probe(no_preempt));
        cpu.now.set(Hit {
            phase: Phase::NestedStep,
            at: Arch::insn_addr(prepared),
            saved,
        });
        // No handler is called for a missed hit, also not for a fault of its step.
        Arch::set_current_probe(this_cpu::busy(), no_preempt);
    }
    true
}
