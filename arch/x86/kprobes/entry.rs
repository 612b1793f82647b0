// SPDX-License-Identifier: GPL-2.0

//! EDGE: where x86's traps come in, [`arch/x86/include/asm/kprobes.h`](
//! srctree/arch/x86/include/asm/kprobes.h).
//!
//! Breakpoints come with interrupts off; faults only if the CPU cannot be preempted; detours turn
//! preemption off. So the CPU stays the same for as long as any of these takes.

use super::detour;
#[cfg(CONFIG_KRETPROBES)]
use super::frame;
#[cfg(CONFIG_KRETPROBES)]
use crate::returns;
use crate::{
    hit::{
        breakpoint,
        fault,
        jump, //
    },
    prelude::*,
    registry::recover,
    slots::{
        self,
        COPIES,
        DETOURS, //
    },
    sys::preempt::{
        self,
        Pinned, //
    }, //
};
use core::{
    mem::offset_of,
    sync::atomic::AtomicUsize, //
};
use kernel::{
    bindings,
    prelude::*, //
};

const PAGE_FAULT: c_int = bindings::X86_TRAP_PF as c_int;
const GENERAL_PROTECTION: c_int = bindings::X86_TRAP_GP as c_int;

macro_rules! at_offset {
    ($($field:ident = $offset:literal),*) => {
        $(const _: () = assert!(offset_of!(bindings::kprobe, $field) == $offset);)*
    };
}
// Modules that are there in binary form only, and scripts, go by these.
at_offset!(
    hlist = 0,
    list = 16,
    nmissed = 32,
    addr = 40,
    symbol_name = 48,
    offset = 56,
    pre_handler = 64,
    post_handler = 72,
    opcode = 80,
    ainsn = 88,
    flags = 120
);

/// Is this breakpoint a probe's?
///
/// It may be one in user space: the kernel's text, where probes are, is not where that can be.
///
/// # Safety
///
/// `regs` is what the trap has saved, on this CPU, which stays in it.
#[export]
unsafe extern "C" fn kprobe_int3_handler(regs: *mut bindings::pt_regs) -> c_int {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition: interrupts are off.
    unsafe { preempt::in_trap(|pinned| breakpoint::breakpoint(registers, pinned)) as c_int }
}

/// A jump has led to a detour. Preemption is off until this returns; interrupts are as they were.
///
/// # Safety
///
/// `owner` is what the detour names, and `regs` what it has saved.
#[export]
unsafe extern "C" fn rust_kprobes_detour_hit(owner: *const usize, regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    let word: *const AtomicUsize = owner.cast();
    let call = |pinned: &Pinned| {
        // SAFETY: By the precondition.
        let probes = unsafe { detour::owner(word, pinned) };
        jump::jumped(probes, registers, pinned);
    };
    // SAFETY: By who calls: the CPU cannot be preempted.
    unsafe { preempt::in_trap(call) }
}

/// A hooked function has returned to the trampoline. Preemption is off until this returns.
///
/// # Safety
///
/// `regs` is what the trampoline has saved, behind which is the place for where the task goes on.
#[cfg(CONFIG_KRETPROBES)]
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    let frame = frame::return_address(regs).expose_provenance();
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: By who calls: the CPU cannot be preempted.
    unsafe { preempt::in_trap(|pinned| returns::returned(registers, frame, pinned)) }
}

/// Has this fault happened in the handling of a probe's hit?
///
/// # Safety
///
/// `regs` is what the trap has saved; the CPU cannot be preempted and handles a hit.
#[export]
unsafe extern "C" fn kprobe_fault_handler(regs: *mut bindings::pt_regs, trap: c_int) -> c_int {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition.
    unsafe { preempt::in_trap(|pinned| fault::fault(registers, trap, pinned)) }.into()
}

/// A fault in a copy of an instruction is one in the original. The hit of a step is over, unless
/// [`kprobe_fault_handler`] comes next: when there is no fixup for what it is called for.
///
/// # Safety
///
/// `regs` is what a fault has saved.
#[export]
unsafe extern "C" fn kprobe_fault_ip(regs: *mut bindings::pt_regs, trap: c_int, fixup: bool) {
    // SAFETY: By the precondition, and nobody else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    let pinned = Pinned::new();
    let at = TextAddr::new(registers.ip as u64);
    if !COPIES.covers(at, &pinned) {
        return;
    }
    let asked = trap == PAGE_FAULT || trap == GENERAL_PROTECTION;
    if !fault::faults_in_step(registers, &pinned) {
        registers.ip = slots::original(at, &pinned).unwrap_or(at).get() as usize;
        if !fixup {
            breakpoint::step_fault();
        }
    } else if fixup || !asked {
        fault::faulted(registers, &pinned);
    }
}

/// Reads the code of an instruction as if no probe were there.
///
/// # Safety
///
/// `code` has room for `len` bytes, and there are as many at `ip`.
#[export]
unsafe extern "C" fn kprobe_original_code(code: *mut u8, ip: usize, len: usize) {
    let pinned = Pinned::new();
    let from = core::ptr::with_exposed_provenance::<u8>(ip);
    // A probe that was there, and is not any more, has restored the text before it went.
    for _ in 0..2 {
        for byte in 0..len {
            // SAFETY: By the precondition. It may change meanwhile, a byte at a time.
            unsafe { code.add(byte).write(from.add(byte).read_volatile()) };
        }
        // SAFETY: By the precondition, and it was written just now.
        let code = unsafe { core::slice::from_raw_parts_mut(code, len) };
        if recover::recover(TextAddr::new(ip as u64), code, &pinned) {
            break;
        }
    }
}

/// If the address is in a copy of an instruction: the one in the original.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_original_ip(ip: usize) -> usize {
    let (at, pinned) = (TextAddr::new(ip as u64), Pinned::new());
    original(at, &pinned).map_or(ip, |(at, _)| at.get() as usize)
}

/// If the address is in a copy of an instruction, or in a detour on the way to one: makes that and
/// the stack pointer those of the original, and says so.
///
/// # Safety
///
/// Both can be read and written.
#[export]
unsafe extern "C" fn kprobe_original_frame(ip: *mut usize, sp: *mut usize) -> bool {
    // SAFETY: By the precondition.
    let (ip, sp) = unsafe { (&mut *ip, &mut *sp) };
    let found = original(TextAddr::new(*ip as u64), &Pinned::new());
    if let Some((at, pushed)) = found {
        *ip = at.get() as usize;
        *sp = sp.wrapping_add(pushed as usize);
    }
    found.is_some()
}

/// Registers are to be shown, and nobody goes on with them: if they are in a detour they become
/// those of the original. What is in other copies is back there already.
///
/// # Safety
///
/// Nobody else uses `regs` meanwhile.
#[export]
unsafe extern "C" fn kprobe_oops(regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition.
    let registers = unsafe { &mut *regs };
    let at = TextAddr::new(registers.ip as u64);
    if let Some((at, pushed)) = detour::original(at, &Pinned::new()) {
        registers.ip = at.get() as usize;
        registers.sp = registers.sp.wrapping_add(pushed as usize);
    }
}

/// What an address in a copy stands for, and how much is on the stack that is not there.
fn original(at: TextAddr, pinned: &Pinned) -> Option<(TextAddr, u64)> {
    let copy = slots::original(at, pinned).map(|at| (at, 0));
    copy.or_else(|| detour::original(at, pinned))
}

/// Is there a slot at the address?
///
/// # Safety
///
/// None is needed: the pointer is only compared.
#[export]
unsafe extern "C" fn __is_insn_slot_addr(
    cache: *mut bindings::kprobe_insn_cache,
    addr: usize,
) -> bool {
    let (at, pinned) = (TextAddr::new(addr as u64), Pinned::new());
    let detours = core::ptr::eq(cache, &raw const bindings::kprobe_optinsn_slots);
    if detours { &DETOURS } else { &COPIES }.covers(at, &pinned)
}
