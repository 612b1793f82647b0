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
pub(crate) fn handle_fault(registers: &mut Registers, trap: c_int, pinned: &PreemptOff) -> bool {
    let current = Arch::current_probe(pinned);
    let cpu = Arch::this_cpu(pinned);
    let ours = if cpu.now.get().phase.is_stepping() {
        end_faulted_step(registers, pinned)
    } else {
        cpu.context.get() == Context::now(pinned)
    };
    ours && current
        .is_some_and(|current| call_handler(current.probe(pinned), registers, trap, pinned))
}

/// Calls a fault handler. The context is cleared meanwhile: the fault handler has interrupted
/// another handler, and a `jprobe_return()` in the fault handler would end that one. The probe is
/// the current one also after a step, so hits in its fault handler are missed.
fn call_handler(
    probe: &Probe,
    registers: &mut Registers,
    trap: c_int,
    pinned: &PreemptOff,
) -> bool {
    let context = &Arch::this_cpu(pinned).context;
    let outer = context.replace(Context::none());
    let current = Arch::current_probe(pinned);
    Arch::set_current_probe(Some(probe.as_current()), pinned);
    let handled = probe.call_fault_handler(registers, trap);
    Arch::set_current_probe(current, pinned);
    context.set(outer);
    handled
}

/// Ends the step if the stepped copy has faulted: the registers become the registers at the probed
/// instruction, and the hit is over. Returns whether the copy has faulted.
pub(crate) fn end_faulted_step(registers: &mut Registers, pinned: &PreemptOff) -> bool {
    let cpu = Arch::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some(prepared) = faulting_insn(&hit, registers, pinned) else {
        return false;
    };
    Arch::undo_step(prepared, registers, hit.saved);
    count_step_fault();
    end_step(cpu, hit.phase, pinned);
    true
}

/// Ends the hit that this CPU handles, if any, and the hit that it has interrupted.
pub(crate) fn abort(pinned: &PreemptOff) {
    end_step(Arch::this_cpu(pinned), Phase::Stepping, pinned);
}

/// Returns whether the stepped copy has faulted.
pub(crate) fn faults_in_step(registers: &Registers, pinned: &PreemptOff) -> bool {
    faulting_insn(&Arch::this_cpu(pinned).now.get(), registers, pinned).is_some()
}

fn faulting_insn<'a>(
    hit: &Hit,
    registers: &Registers,
    pinned: &'a PreemptOff,
) -> Option<&'a ArchInsn> {
    let (_, prepared) = stepped(hit, pinned)?;
    Arch::faults_in_step(prepared, registers).then_some(prepared)
}
