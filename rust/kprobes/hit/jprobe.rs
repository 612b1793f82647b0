// SPDX-License-Identifier: GPL-2.0

//! The hit side of jprobes: the client's handler runs before the probed function.
//!
//! A jprobe is the last one in the chain of its point, so all other probes are called before it.
//! The hit continues in the client's handler. The handler ends in a trap, which restores all
//! registers and finishes the hit like any other. Until then the CPU handles the hit of the jprobe:
//! preemption is off, and other hits are missed.
//!
//! Interrupts are as they were in the function. So synchronizing all CPUs after a breakpoint was
//! removed does not wait for such a hit; see `lifecycle/unregister.rs`.
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

/// Continues the hit at `at` in the handler of the jprobe. The handler runs in the given context.
#[cold]
#[inline(never)]
pub(super) fn enter(
    jprobe: &Jprobe,
    at: TextAddr,
    context: Context,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    let cpu = Arch::this_cpu(no_preempt);
    cpu.context.set(context);
    Arch::enter_jprobe(registers, jprobe.handler(), no_preempt);
    Arch::jprobe_state(no_preempt).begin_handler();
    cpu.now.set(Hit {
        phase: Phase::InJprobe,
        at,
        ..cpu.now.get()
    });
}

/// Restores the registers and returns the address of the probe if this trap ends a jprobe's
/// handler.
#[cold]
#[inline(never)]
pub(super) fn ended(registers: &mut Registers, no_preempt: &PreemptOff) -> Option<TextAddr> {
    let cpu = Arch::this_cpu(no_preempt);
    let hit = cpu.now.get();
    if hit.phase != Phase::InJprobe || !Arch::ends_jprobe(registers) {
        return None;
    }
    Arch::restore_jprobe(registers, no_preempt);
    Arch::jprobe_state(no_preempt).end_handler();
    cpu.now.set(Hit {
        phase: Phase::NotStepping,
        ..hit
    });
    Some(hit.at)
}

/// Returns the stack pointer at the function's entry if the caller is a jprobe's handler, and not
/// code that has interrupted one.
pub(crate) fn stack(no_preempt: &PreemptOff) -> Option<usize> {
    let cpu = Arch::this_cpu(no_preempt);
    let here = Arch::is_in_hit(no_preempt)
        && cpu.now.get().phase == Phase::InJprobe
        && cpu.context.get() == Context::now(no_preempt);
    here.then(|| Arch::jprobe_sp(no_preempt))
}
