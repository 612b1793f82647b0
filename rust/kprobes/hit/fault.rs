// SPDX-License-Identifier: GPL-2.0

//! Faults while a hit is handled: in a handler, or in the copy of an instruction that is stepped.
//!
//! C counterpart: `kprobe_fault_handler()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c), and the fault
//! handlers of clients in kernels up to 5.13.

use super::breakpoint::{
    count_step_fault,
    end_step,
    stepped, //
};
use crate::{
    model::hit_state::Phase,
    registry::prelude::*,
    sys::this_cpu::Hit, //
};
use kernel::prelude::*;

/// Handles a fault on a CPU that handles a hit. Returns whether the fault handler of the current
/// probe has resolved the fault.
///
/// If a stepped copy has faulted, the registers become the registers at the probed instruction,
/// which the rest of the kernel expects, and the hit is over. The fault handler is not called for a
/// fault of an interrupt or NMI that came during the hit, of a missed hit, or in a fault handler.
pub(crate) fn handle_fault(
    registers: &mut Registers,
    trap: c_int,
    no_preempt: &PreemptOff,
) -> bool {
    let current = Arch::current_probe(no_preempt);
    let cpu = Arch::this_cpu(no_preempt);
    let ours = if cpu.now.get().phase.is_stepping() {
        end_faulted_step(registers, no_preempt)
    } else {
        cpu.context.get() == Context::now(no_preempt)
    };
    ours && current
        .is_some_and(|current| call_handler(current.probe(no_preempt), registers, trap, no_preempt))
}

/// Calls a fault handler. The context is cleared meanwhile: the fault handler has interrupted
/// another handler, and a `jprobe_return()` in the fault handler would end that one. The probe is
/// the current one also after a step, so hits in its fault handler are missed.
fn call_handler(
    probe: &Probe,
    registers: &mut Registers,
    trap: c_int,
    no_preempt: &PreemptOff,
) -> bool {
    let context = &Arch::this_cpu(no_preempt).context;
    let outer = context.replace(Context::none());
    let current = Arch::current_probe(no_preempt);
    Arch::set_current_probe(Some(probe.as_current()), no_preempt);
    let handled = probe.call_fault_handler(registers, trap);
    Arch::set_current_probe(current, no_preempt);
    context.set(outer);
    handled
}

/// Ends the step if the stepped copy has faulted: the registers become the registers at the probed
/// instruction, and the hit is over. Returns whether the copy has faulted.
pub(crate) fn end_faulted_step(registers: &mut Registers, no_preempt: &PreemptOff) -> bool {
    let cpu = Arch::this_cpu(no_preempt);
    let hit = cpu.now.get();
    let Some(prepared) = faulting_insn(&hit, registers, no_preempt) else {
        return false;
    };
    Arch::undo_step(prepared, registers, hit.saved);
    count_step_fault();
    end_step(cpu, hit.phase, no_preempt);
    true
}

/// Ends the hit that this CPU handles, if any, and the hit that it has interrupted.
pub(crate) fn abort(no_preempt: &PreemptOff) {
    end_step(Arch::this_cpu(no_preempt), Phase::Stepping, no_preempt);
}

/// Returns whether the stepped copy has faulted.
pub(crate) fn faults_in_step(registers: &Registers, no_preempt: &PreemptOff) -> bool {
    faulting_insn(&Arch::this_cpu(no_preempt).now.get(), registers, no_preempt).is_some()
}

fn faulting_insn<'a>(
    hit: &Hit,
    registers: &Registers,
    no_preempt: &'a PreemptOff,
) -> Option<&'a ArchInsn> {
    let (_, prepared) = stepped(hit, no_preempt)?;
    Arch::faults_in_step(prepared, registers).then_some(prepared)
}
