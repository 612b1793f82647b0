// SPDX-License-Identifier: GPL-2.0

//! The x86 CPU and its text: arms breakpoints, and executes the instruction of a hit.
//!
//! C keeps the probe being handled in the per-CPU variable `current_kprobe`. One instruction with a
//! `%gs` prefix reads or writes the variable: no function is called, and the task cannot move to
//! another CPU in between.
//!
//! [`prepare`] has prepared the instruction before the hit: an operation to emulate, or copies to
//! run. A step runs with interrupts off, so that its trap comes before any interrupt.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    isa::{
        self,
        emulate,
        encode,
        regs::flag,
        X86, //
    },
    poke,
    prepare::{
        self,
        ArchInsn, //
    },
    saved_regs::SavedRegs, //
};
use crate::{
    contract::{
        Machine,
        ReadText, //
    },
    model::{
        hit_state::{
            AfterStep,
            Outcome, //
        },
        target::ProbeAddr, //
    },
    sys::{
        blacklist,
        prelude::*,
        probe::CurrentProbe,
        text, //
    }, //
};
use core::{
    arch::asm,
    iter::once,
    sync::atomic::Ordering, //
};

/// The interrupt flag.
const IF: usize = flag::IF as usize;

// SAFETY:
// - `set_current_probe` writes `current_kprobe`, and `cpu_copy` adds this CPU's distance;
// - `arm` and `disarm` end with an IPI to all CPUs. A CPU in a trap or a step takes the IPI when
//   the trap or the step is over, as both have interrupts off;
// - a slot that CPUs leave by a jump is freed after a grace period of Tasks RCU.
unsafe impl Machine for X86 {
    type ArchInsn = ArchInsn;

    const TRAP_IP_OFFSET: u64 = encode::INT3_LEN;
    const FTRACE_LEN: u64 = 5;
    const HAS_INSN_ERRNO: bool = true;
    const FAULTS: &'static [c_uint] = &[bindings::X86_TRAP_PF, bindings::X86_TRAP_GP];

    fn adjust_addr(function: TextAddr, offset: u64) -> Option<ProbeAddr> {
        isa::adjust_addr(function, offset, starts_with_endbr(function))
    }

    /// The entry code of system calls, traps and interrupts.
    fn arch_blacklist() -> impl Iterator<Item = TextRange> {
        once(blacklist::between(
            &raw const bindings::__entry_text_start,
            &raw const bindings::__entry_text_end,
        ))
    }

    #[inline(always)]
    fn current_probe(_no_preempt: &PreemptOff) -> Option<CurrentProbe> {
        let probe: *mut bindings::kprobe;
        // SAFETY: Reads this CPU's `current_kprobe`, which is as wide as a pointer.
        unsafe {
            asm!("movq %gs:{word}(%rip), {probe}",
                probe = out(reg) probe,
                word = sym bindings::current_kprobe,
                options(att_syntax, nostack, preserves_flags, readonly));
        }
        // SAFETY: It is the value of `current_kprobe`.
        unsafe { CurrentProbe::from_word(probe) }
    }

    #[inline(always)]
    fn is_in_hit(_no_preempt: &PreemptOff) -> bool {
        // SAFETY: Only compares this CPU's `current_kprobe`.
        unsafe {
            asm!("cmpq $0, %gs:{word}(%rip)",
                "jne {hit}",
                word = sym bindings::current_kprobe,
                hit = label { return true },
                options(att_syntax, nostack, readonly));
        }
        false
    }

    #[inline(always)]
    fn set_current_probe(probe: Option<CurrentProbe>, _no_preempt: &PreemptOff) {
        match probe {
            // SAFETY: Writes this CPU's `current_kprobe`. C may read the probe: by the invariant of
            // `CurrentProbe` it stays while it is the current one.
            Some(probe) => unsafe {
                asm!("movq {probe}, %gs:{word}(%rip)",
                    probe = in(reg) probe.to_word(),
                    word = sym bindings::current_kprobe,
                    options(att_syntax, nostack, preserves_flags));
            },
            // SAFETY: Writes this CPU's `current_kprobe`; NULL says that this CPU handles no hit.
            None => unsafe {
                asm!("movq $0, %gs:{word}(%rip)",
                    word = sym bindings::current_kprobe,
                    options(att_syntax, nostack, preserves_flags));
            },
        }
    }

    #[inline(always)]
    fn cpu_copy<T>(original: *const T, _no_preempt: &PreemptOff) -> *mut T {
        #[cfg_attr(not(CONFIG_SMP), expect(unused_mut))]
        let mut at = original.cast_mut();
        // SAFETY: Reads this CPU's offset and adds it. The sum is in another allocation, so it is
        // formed in assembly, where no provenance of `original` is assumed.
        #[cfg(CONFIG_SMP)]
        unsafe {
            asm!("addq %gs:{base}(%rip), {at}",
                at = inout(reg) at,
                base = sym bindings::this_cpu_off,
                options(att_syntax, readonly, nostack));
        }
        at
    }

    fn prepare(
        at: TextAddr,
        _function: TextRange,
        fixup: bool,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<ArchInsn, Refusal> {
        prepare::prepare(at, fixup, read, text_lock)
    }

    fn arm(points: &mut dyn Iterator<Item = &ArchInsn>, text_lock: &mut text::Lock) {
        poke_each(points, |prepared| (prepared.first, encode::INT3), text_lock);
    }

    fn disarm(points: &mut dyn Iterator<Item = &ArchInsn>, text_lock: &mut text::Lock) {
        poke_each(points, |prepared| (encode::INT3, prepared.first), text_lock);
    }

    fn recover(prepared: &ArchInsn, code: &mut [u8]) {
        if let Some(first) = code.first_mut() {
            *first = prepared.first;
        }
    }

    #[inline(always)]
    fn ip(registers: &Registers) -> TextAddr {
        TextAddr::new(registers.ip as u64)
    }

    #[inline(always)]
    fn set_ip(registers: &mut Registers, ip: TextAddr) {
        registers.ip = ip.get() as usize;
    }

    #[inline(always)]
    fn sp(registers: &mut Registers) -> &mut usize {
        &mut registers.sp
    }

    #[inline(always)]
    fn run(prepared: &ArchInsn, registers: &mut Registers, has_post_handler: bool) -> Outcome {
        let next = prepared.resume_at;
        match prepared.redirect_ip.load(Ordering::Acquire) {
            to if to != 0 && !has_post_handler => {
                registers.ip = to;
                Outcome::Redirected
            }
            _ => {
                // SAFETY: The core passes the registers of this CPU's breakpoint trap, whose entry
                // code leaves the gap.
                let regs = unsafe { SavedRegs::of(registers) };
                match emulate::emulate_common(&prepared.op, next, regs) {
                    true => Outcome::Emulated,
                    false => run_slow(prepared, registers),
                }
            }
        }
    }

    #[inline(always)]
    fn insn_addr(prepared: &ArchInsn) -> TextAddr {
        prepared.at
    }

    #[inline(always)]
    fn ends_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        let len = u64::from(prepared.copy_len);
        let trapped_at = Self::hit_at(registers).get();
        let slot = prepared.slot.as_ref();
        slot.is_some_and(|slot| slot.at().get().wrapping_add(len) == trapped_at)
    }

    #[inline(always)]
    fn after_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) -> AfterStep {
        // The copy was only the load of an emulated branch, for memory that the emulation could not
        // read. The load did not fault after all: the breakpoint is hit again.
        if prepared.op.is_some() {
            registers.flags = saved;
            registers.ip = prepared.at.get() as usize;
            return AfterStep::Again;
        }
        registers.flags |= saved & IF;
        registers.ip = prepared.resume_at.get() as usize;
        AfterStep::Done
    }

    fn faults_in_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        let slot = prepared.slot.as_ref();
        slot.is_some_and(|slot| slot.at().get() == registers.ip as u64)
    }

    fn undo_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) {
        registers.ip = prepared.at.get() as usize;
        registers.flags |= saved & IF;
    }
}

/// Returns whether a function starts with ENDBR64.
#[cfg(CONFIG_X86_KERNEL_IBT)]
fn starts_with_endbr(function: TextAddr) -> bool {
    let at = core::ptr::with_exposed_provenance_mut(function.get() as usize);
    // SAFETY: The function checks that it may read there.
    unsafe { bindings::is_endbr(at) }
}

#[cfg(not(CONFIG_X86_KERNEL_IBT))]
fn starts_with_endbr(_function: TextAddr) -> bool {
    false
}

/// Emulates one of the less frequent operations, or sends the CPU to the stepped copy.
#[inline(never)]
fn run_slow(prepared: &ArchInsn, registers: &mut Registers) -> Outcome {
    let done = prepared.op.is_some_and(|op| {
        // SAFETY: As in `run`.
        let regs = unsafe { SavedRegs::of(registers) };
        emulate::emulate(&op, prepared.resume_at, regs).is_ok()
    });
    match &prepared.slot {
        Some(slot) if !done => {
            let saved = registers.flags;
            registers.flags &= !IF;
            registers.ip = slot.at().get() as usize;
            Outcome::Stepping(saved)
        }
        _ => Outcome::Emulated,
    }
}

/// Replaces the first byte of each instruction, and returns when every CPU sees that. `change`
/// returns the byte before and after.
fn poke_each(
    points: &mut dyn Iterator<Item = &ArchInsn>,
    change: fn(&ArchInsn) -> (u8, u8),
    text_lock: &mut text::Lock,
) {
    for prepared in points {
        let (before, after) = change(prepared);
        // SAFETY: An instruction starts at its address. Its text is there: the notifier of a module
        // that goes locks the registry, and marks the points as gone. They are not written then.
        unsafe { poke::write(prepared.at, &[after], text_lock) };
        poke::tell_perf(prepared.at, &[before], &[after]);
    }
    poke::synchronize(text_lock);
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_x86_machine)]
mod tests {
    use super::*;
    use crate::{
        slots,
        sys::this_cpu, //
    };

    fn running() -> *const bindings::kprobe {
        // SAFETY: Only reads this CPU's word, and the caller stays on the CPU.
        unsafe { bindings::rust_kprobes_test_running() }
    }

    #[test]
    fn c_sees_the_current_probe() {
        let busy = this_cpu::busy();
        let no_preempt = PreemptOff::new();
        let before = running();
        X86::set_current_probe(busy, &no_preempt);
        let during = running();
        let read_back = X86::current_probe(&no_preempt) == busy;
        X86::set_current_probe(None, &no_preempt);
        let after = running();
        drop(no_preempt);

        assert!(before.is_null());
        assert!(busy.is_some_and(|busy| core::ptr::eq(during, busy.to_word())));
        assert!(read_back);
        assert!(after.is_null());
    }

    #[test]
    fn kprobe_busy_end_leaves_no_current_probe() {
        // SAFETY: May be called from any context.
        unsafe { bindings::kprobe_busy_begin() };
        let during = running();
        // SAFETY: Follows `kprobe_busy_begin`.
        unsafe { bindings::kprobe_busy_end() };

        let no_preempt = PreemptOff::new();
        let after = running();
        drop(no_preempt);
        assert!(!during.is_null());
        assert!(after.is_null());
    }

    #[test]
    fn kernel_text_address_covers_copies() -> Result<(), Refusal> {
        let slot = slots::COPIES.take(TextAddr::new(16))?;
        let at = slot.at().get() as usize;
        // SAFETY: Only looks the address up.
        let is_text = |at| unsafe { bindings::kernel_text_address(at) } != 0;
        assert!(is_text(at) && is_text(at + slots::SLOT_LEN - 1));
        assert!(!is_text(16));
        Ok(())
    }

    #[test]
    fn entry_text_is_reserved() {
        let entry = &raw const bindings::__entry_text_start;
        let is_reserved = |at| X86::arch_blacklist().any(|range| range.contains(at));
        assert!(is_reserved(TextAddr::new(entry.addr() as u64)));
        assert!(!is_reserved(TextAddr::new(16)));
    }
}
