// SPDX-License-Identifier: GPL-2.0

//! Entry from detours, `arch/*/kprobes/trampoline.S`. A detour turns preemption off.

use crate::{
    hit::jump,
    slots,
    sys::{
        preempt,
        prelude::*, //
    }, //
};

/// Handles a hit by a jump, which has led to a detour. Preemption is off until this returns.
/// Interrupts are as in the probed code on x86, and off on other architectures.
///
/// # Safety
///
/// `word` is the chain word that the detour names, and `regs` are the registers that it has saved.
#[export]
unsafe extern "C" fn rust_kprobes_detour_hit(word: *const usize, regs: *mut bindings::pt_regs) {
    // SAFETY: `regs` are saved registers, by the precondition. Nothing else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    let call = |no_preempt: &PreemptOff| {
        // SAFETY: By the precondition, this is the word of the detour that this task is in.
        let probes = unsafe { slots::chain(word.cast(), no_preempt) };
        jump::handle_jump(probes, registers, no_preempt);
    };
    // SAFETY: The detour has turned preemption off.
    unsafe { preempt::already_off(call) }
}
