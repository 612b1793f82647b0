// SPDX-License-Identifier: GPL-2.0

//! The hit side of jprobes: the client's function runs instead of the probed one, then that runs.
//!
//! A jprobe is the oldest probe at the entry of a function, so that all other probes were called
//! before it. The hit continues in the client's handler. The end of the handler is a trap, which
//! restores all registers; the hit is then finished like any other. In between the CPU handles
//! the hit of that probe, preemption is off, and other hits are missed.
//!
//! Interrupts are as they were in the function. So the round to all CPUs that follows the removal
//! of a breakpoint does not wait for such a hit; see `core/unregister.rs`.
//!
//! C counterpart: `setjmp_pre_handler()` and `longjmp_break_handler()` of kernels up to 4.14.

use crate::{
    contract::JprobeOps,
    model::hit_state::Phase,
    registry::prelude::*,
    sys::{
        jprobe::Jprobe,
        this_cpu::Hit, //
    }, //
};

/// Continues the hit at `at` in the handler of the jprobe, which runs in the given context.
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
    Current::stand_in(pinned).begin_handler();
    cpu.now.set(Hit {
        phase: Phase::StandingIn,
        at,
        ..cpu.now.get()
    });
}

/// If this trap is the end of a jprobe's handler, restores the registers and returns the address
/// of the probe.
#[cold]
#[inline(never)]
pub(super) fn ended(registers: &mut Registers, pinned: &Pinned) -> Option<TextAddr> {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    if hit.phase != Phase::StandingIn || !Current::ends(registers) {
        return None;
    }
    Current::restore(registers, pinned);
    Current::stand_in(pinned).end_handler();
    cpu.now.set(Hit {
        phase: Phase::Handling,
        ..hit
    });
    Some(hit.at)
}

/// If the caller is a jprobe's handler, and not something that has interrupted one: where the
/// stack was when the handler was entered.
pub(crate) fn stack(pinned: &Pinned) -> Option<usize> {
    let cpu = Current::this_cpu(pinned);
    let here = Current::is_running(pinned)
        && cpu.now.get().phase == Phase::StandingIn
        && cpu.context.get() == Context::now(pinned);
    here.then(|| Current::stack(pinned))
}
