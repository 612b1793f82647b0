// SPDX-License-Identifier: GPL-2.0

//! Jprobes: a client's function runs in the place of a probed one, then that runs.
//!
//! A jprobe is a probe on the entry of a function, the oldest at its address, so that all others
//! were asked when it is its turn. What makes it one is where the hit goes on: in the client's
//! handler, whose end is a trap that puts all registers back and carries the hit on from there.
//! From the one to the other the CPU handles the hit of that probe, and preemption is off. Other
//! hits are missed.
//!
//! Interrupts are as in the function. So who takes out the place's breakpoint, and waits until all
//! CPUs have seen it, does not wait for such a hit. Before the place can no longer be found, he
//! waits for all who have preemption off (see `unregister.rs`).
//!
//! All that is here is on the hit path.
//!
//! C counterpart: `setjmp_pre_handler()` and `longjmp_break_handler()` of kernels up to 4.14.

mod register;

pub(crate) use register::batch;

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
use super::ftrace_hit;
use super::{
    hit,
    site, //
};
use crate::{
    arch::Current,
    contract::{
        Machine,
        StandsIn, //
    },
    model::hit_state::Phase,
    prelude::*,
    sys::{
        jprobe::Jprobe,
        preempt::{
            Context,
            Pinned, //
        },
        this_cpu::Hit,
        Registers, //
    }, //
};

/// All other probes at `at` were asked: the hit goes on in the handler of the jprobe, in the
/// context that is given.
#[cold]
#[inline(never)]
pub(super) fn enter(
    jprobe: &Jprobe,
    at: TextAddr,
    context: Context,
    registers: &mut Registers,
    pinned: &Pinned,
) {
    let cpu = Current::this_cpu(pinned);
    cpu.context.set(context);
    Current::enter(registers, jprobe.handler(), pinned);
    Current::stand_in(pinned).begin();
    cpu.now.set(Hit {
        phase: Phase::StandingIn,
        at,
        ..cpu.now.get()
    });
}

/// A trap while a hit is handled: is it the end of a jprobe's handler? Then the hit goes on as if
/// that had never run.
#[cold]
#[inline(never)]
pub(super) fn ended(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    if hit.phase != Phase::StandingIn || !Current::ends(registers) {
        return false;
    }
    Current::leave(registers, pinned);
    Current::stand_in(pinned).end();
    cpu.now.set(Hit {
        phase: Phase::Handling,
        ..hit
    });
    resume(hit.at, registers, pinned);
    true
}

fn resume(at: TextAddr, registers: &mut Registers, pinned: &Pinned) {
    let Some(site) = site::find(at, pinned) else {
        return Current::set_running(None, pinned);
    };
    match site.prepared() {
        Some(prepared) => hit::resume(site, prepared, registers, pinned),
        #[cfg(CONFIG_KPROBES_ON_FTRACE)]
        None => ftrace_hit::resume(site, at, registers, pinned),
        #[cfg(not(CONFIG_KPROBES_ON_FTRACE))]
        None => Current::set_running(None, pinned),
    }
}

/// Where the stack was when the handler was entered that calls this, if a jprobe's does: none that
/// has merely interrupted one.
pub(crate) fn stack(pinned: &Pinned) -> Option<usize> {
    let cpu = Current::this_cpu(pinned);
    let here = Current::is_running(pinned)
        && cpu.now.get().phase == Phase::StandingIn
        && cpu.context.get() == Context::now(pinned);
    here.then(|| Current::stack(pinned))
}
