// SPDX-License-Identifier: GPL-2.0

//! Entries from C about code in slots. They handle faults in a copy or a handler. For the exception
//! table, oopses and unwinders, they translate an address in a copy to the original address.
//!
//! [`kprobe_fault_handler`] is called with preemption off, so the task stays on its CPU.

use crate::{
    arch::Arch,
    contract::Machine,
    hit::{
        breakpoint,
        fault, //
    },
    registry::recover,
    slots::{
        self,
        COPIES, //
    },
    sys::{
        preempt,
        prelude::*, //
    }, //
};
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::{
    contract::Jumps,
    slots::DETOURS, //
};

/// Handles a fault on a CPU that handles a hit. Returns 1 if a fault handler has resolved it.
///
/// # Safety
///
/// `regs` are the registers that the trap has saved; preemption is off, and this CPU handles a hit.
#[export]
unsafe extern "C" fn kprobe_fault_handler(regs: *mut bindings::pt_regs, trap: c_int) -> c_int {
    // SAFETY: `regs` are saved registers, by the precondition. Nothing else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    // SAFETY: Preemption is off, by the precondition.
    unsafe { preempt::already_off(|no_preempt| fault::handle_fault(registers, trap, no_preempt)) }
        .into()
}

/// Translates a fault in a copy of an instruction to a fault at the original address. Ends the hit
/// if the copy is a stepped one. If C calls [`kprobe_fault_handler`] next, for a trap in `FAULTS`
/// without a fixup, that function does both for a stepped copy.
///
/// # Safety
///
/// `regs` are the registers that a fault has saved.
#[export]
unsafe extern "C" fn kprobe_leave_copy(regs: *mut bindings::pt_regs, trap: c_int, fixup: bool) {
    // SAFETY: `regs` are saved registers, by the precondition. Nothing else uses them meanwhile.
    let registers = unsafe { &mut *regs };
    let at = Arch::ip(registers);
    if !COPIES.covers(at) {
        return;
    }
    let no_preempt = PreemptOff::new();
    if !fault::faults_in_step(registers, &no_preempt) {
        Arch::set_ip(registers, slots::original(at, &no_preempt).unwrap_or(at));
        if !fixup {
            breakpoint::count_step_fault();
        }
    } else if fixup || !Arch::FAULTS.contains(&(trap as c_uint)) {
        fault::end_faulted_step(registers, &no_preempt);
    }
}

/// Ends the hit that this CPU handles, if any: the task has died in a handler or in a copy.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_abort_hit() {
    fault::abort(&PreemptOff::new());
}

/// Reads the code of an instruction at `ip` without our breakpoint. The instruction has an entry in
/// the exception table, so no jump covers it. Breakpoints in later instructions stay.
///
/// # Safety
///
/// `code` has room for `len` bytes, and `len` bytes can be read at `ip`.
#[export]
unsafe extern "C" fn kprobe_original_code(code: *mut u8, ip: usize, len: usize) {
    let no_preempt = PreemptOff::new();
    let from = core::ptr::with_exposed_provenance::<u8>(ip);
    // If a point was removed after the first read, its text was restored before that: read again.
    for _ in 0..2 {
        for byte in 0..len {
            // SAFETY: By the precondition. The read is volatile, as the text may change meanwhile.
            unsafe { code.add(byte).write(from.add(byte).read_volatile()) };
        }
        // SAFETY: `code` has `len` bytes, by the precondition, and the loop has written them.
        let code = unsafe { core::slice::from_raw_parts_mut(code, len) };
        if recover::recover(TextAddr::new(ip as u64), code, &no_preempt) {
            break;
        }
    }
}

/// Returns the original address if `ip` is in a copy of an instruction or in a detour, else `ip`.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_original_ip(ip: usize) -> usize {
    original(TextAddr::new(ip as u64)).map_or(ip, |(at, _)| at.get() as usize)
}

/// Replaces the address and the stack pointer by the original ones if the address is in a copy of
/// an instruction or in a detour. Returns whether they were replaced.
///
/// # Safety
///
/// `ip` and `sp` can be read and written.
#[export]
unsafe extern "C" fn kprobe_original_frame(ip: *mut usize, sp: *mut usize) -> bool {
    // SAFETY: `ip` can be read, by the precondition.
    let found = original(TextAddr::new(unsafe { ip.read() } as u64));
    if let Some((at, pushed)) = found {
        // SAFETY: `ip` and `sp` can be read and written, by the precondition.
        unsafe {
            ip.write(at.get() as usize);
            sp.write(sp.read().wrapping_add(pushed));
        }
        #[cfg(CONFIG_RUST_KPROBES_CHECK_HANDLERS)]
        // SAFETY: The function may be called from any context.
        unsafe {
            bindings::rust_kprobes_frame_in_slot()
        };
    }
    found.is_some()
}

/// Translates registers that an oops shows and no CPU continues with, if their address is in a copy
/// of an instruction or in a detour.
///
/// # Safety
///
/// `regs` may be written to, and nothing else uses them meanwhile.
#[export]
unsafe extern "C" fn kprobe_translate_oops(regs: *mut bindings::pt_regs) {
    // SAFETY: `regs` may be written to and are not shared, by the precondition.
    let registers = unsafe { &mut *regs };
    if let Some((at, pushed)) = original(Arch::ip(registers)) {
        Arch::set_ip(registers, at);
        let sp = Arch::sp(registers);
        *sp = sp.wrapping_add(pushed);
    }
}

/// Returns the original address, and the number of bytes that the detour has pushed.
fn original(at: TextAddr) -> Option<(TextAddr, usize)> {
    let no_preempt = slots::may_cover(at).then(PreemptOff::new)?;
    let copy = slots::original(at, &no_preempt).map(|at| (at, 0));
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    let copy = copy.or_else(|| <Arch as Jumps>::detour_origin(at, &no_preempt));
    copy
}

/// Returns whether a slot has the address. Without jumps, C asks about copies only.
///
/// # Safety
///
/// None is needed: the pointer is only compared.
#[export]
unsafe extern "C" fn __is_insn_slot_addr(
    _cache: *mut bindings::kprobe_insn_cache,
    addr: usize,
) -> bool {
    let at = TextAddr::new(addr as u64);
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    if core::ptr::eq(_cache, &raw const bindings::kprobe_optinsn_slots) {
        return DETOURS.covers(at);
    }
    COPIES.covers(at)
}
