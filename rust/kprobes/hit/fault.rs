// SPDX-License-Identifier: GPL-2.0

//! Faults while a hit is handled: in a handler, or in the copy of an instruction that is stepped.
//!
//! C counterpart: `kprobe_fault_handler()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c), and the fault
//! handlers of clients, which C had up to 5.13.

use super::breakpoint::{
    leave_step,
    step_fault,
    stepped, //
};
use crate::{
    registry::prelude::*,
    sys::this_cpu::Hit, //
};
use kernel::prelude::*;

/// A fault came on a CPU that handles a hit. Says whether the fault handler of the running probe
/// has dealt with it.
///
/// If the copy of an instruction has faulted, the registers become those at the probed instruction,
/// as all others want to see them, and the hit is over. The fault handler is not called for a
/// fault of an interrupt or NMI that came during the hit, nor for one of a fault handler.
pub(crate) fn fault(registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let running = Current::running(pinned);
    let cpu = Current::this_cpu(pinned);
    let ours = if cpu.now.get().phase.is_stepping() {
        faulted(registers, pinned)
    } else {
        cpu.context.get() == Context::now(pinned)
    };
    ours && running.is_some_and(|running| ask(running.probe(pinned), registers, trap, pinned))
}

/// Calls a fault handler. It runs on top of the handler that has faulted and is no part of the hit:
/// a `jprobe_return()` in it would end the handler below.
fn ask(probe: &Probe, registers: &mut Registers, trap: c_int, pinned: &Pinned) -> bool {
    let context = &Current::this_cpu(pinned).context;
    let outer = context.replace(Context::none());
    let handled = probe.fault(registers, trap);
    context.set(outer);
    handled
}

/// If a fault came in the copy of an instruction that is stepped, ends the step: the registers
/// become those at the probed instruction, and the hit is over. Says whether that was so.
pub(crate) fn faulted(registers: &mut Registers, pinned: &Pinned) -> bool {
    let cpu = Current::this_cpu(pinned);
    let hit = cpu.now.get();
    let Some(prepared) = faults_in(&hit, registers, pinned) else {
        return false;
    };
    Current::faulted(prepared, registers, hit.kept);
    step_fault();
    leave_step(cpu, hit.phase, pinned);
    true
}

/// Did a fault come in the copy of an instruction that is stepped?
pub(crate) fn faults_in_step(registers: &Registers, pinned: &Pinned) -> bool {
    let hit = Current::this_cpu(pinned).now.get();
    faults_in(&hit, registers, pinned).is_some()
}

fn faults_in<'a>(hit: &Hit, registers: &Registers, pinned: &'a Pinned) -> Option<&'a ArchInsn> {
    let (_, prepared) = stepped(hit, pinned)?;
    Current::faults_in_step(prepared, registers).then_some(prepared)
}
