// SPDX-License-Identifier: GPL-2.0

//! The s390 CPU and its text: arms breakpoints, and executes the instruction of a hit.
//!
//! A breakpoint is the instruction 0x0002, which does not exist. `__do_pgm_check()` asks
//! [`entry`](super::entry) before it turns interrupts on, so a hit is handled on one CPU, and
//! [`disarm`](Machine::disarm) waits for all hits that began before.
//!
//! A step runs with I/O and external interrupts and machine checks masked, so that its trap comes
//! before any interrupt. Instructions that read or write this mask are emulated.
//!
//! C counterpart: [`arch/s390/kernel/kprobes.c`](srctree/arch/s390/kernel/kprobes.c).

use super::{
    exrl_targets,
    isa::{
        BREAKPOINT,
        S390, //
    },
    prepare::{
        self,
        poke,
        ArchInsn,
        Run, //
    },
    saved_regs::SavedRegs, //
};
use crate::{
    contract::{
        Machine,
        ReadText, //
    },
    model::hit_state::{
        AfterStep,
        Outcome, //
    },
    sys::{
        blacklist,
        prelude::*,
        text, //
    }, //
};

/// The trap number that C passes to `kprobe_fault_handler()` for a page fault.
pub(super) const PAGE_FAULT: c_uint = 14;

/// The bits of the PSW that allow I/O and external interrupts, and machine checks. A machine check
/// in a per-CPU section decodes the instruction at the PSW.
const INTERRUPTS: usize = 0x0304_0000_0000_0000;

// SAFETY:
// - `cpu_copy` adds this CPU's distance;
// - `arm` and `disarm` end after an interrupt to all CPUs, or with all CPUs stopped. A CPU in a
//   trap or a step takes part after that, as both have interrupts off;
// - a slot that a CPU leaves by a jump is marked.
unsafe impl Machine for S390 {
    type ArchInsn = ArchInsn;

    const TRAP_IP_OFFSET: u64 = 2;
    const FTRACE_LEN: u64 = 6;
    const FAULTS: &'static [c_uint] = &[PAGE_FAULT];

    fn read_tables() -> Result<(), Refusal> {
        exrl_targets::read_tables()
    }

    fn module_coming() {
        exrl_targets::forget();
    }

    /// The entry code of system calls, program checks and interrupts, and code in the 31-bit
    /// addressing mode.
    fn arch_blacklist() -> impl Iterator<Item = TextRange> {
        let entry = blacklist::between(
            &raw const bindings::__irqentry_text_start,
            &raw const bindings::__irqentry_text_end,
        );
        // SAFETY: The kernel writes the pointers while it boots on one CPU.
        let amode31 = unsafe { [bindings::__stext_amode31, bindings::__etext_amode31] };
        let [start, end] = amode31.map(<*mut _>::cast_const);
        [entry, blacklist::between(start, end)].into_iter()
    }

    #[inline(always)]
    fn cpu_copy<T>(original: *const T, _no_preempt: &PreemptOff) -> *mut T {
        // SAFETY: The function only reads the lowcore.
        let offset = unsafe { bindings::rust_kprobes_cpu_offset() };
        // Without provenance: the copy is no part of the original.
        core::ptr::with_exposed_provenance_mut(original.addr().wrapping_add(offset))
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
        let write = |text_lock: &mut _| {
            // SAFETY: The code is no longer than an instruction, and `change_text` calls this.
            points.for_each(|of| unsafe { poke(of.at, &BREAKPOINT, text_lock) })
        };
        Self::change_text(write, text_lock);
    }

    fn disarm(points: &mut dyn Iterator<Item = &ArchInsn>, text_lock: &mut text::Lock) {
        // SAFETY: `change_text` calls this.
        let write = |text_lock: &mut _| points.for_each(|of| unsafe { restore(of, text_lock) });
        Self::change_text(write, text_lock);
    }

    fn recover(prepared: &ArchInsn, code: &mut [u8]) {
        // No iterator: functions of core that are not inlined could be probed.
        if let [first, rest @ ..] = code {
            *first = prepared.original[0];
            if let [second, ..] = rest {
                *second = prepared.original[1];
            }
        }
    }

    #[inline(always)]
    fn ip(registers: &Registers) -> TextAddr {
        TextAddr::new(SavedRegs::of(registers).ip as u64)
    }

    #[inline(always)]
    fn set_ip(registers: &mut Registers, ip: TextAddr) {
        SavedRegs::of_mut(registers).ip = ip.get() as usize;
    }

    #[inline(always)]
    fn sp(registers: &mut Registers) -> &mut usize {
        &mut SavedRegs::of_mut(registers).gprs[15]
    }

    /// As C does, and unlike a breakpoint: shows the entry itself.
    #[inline(always)]
    fn enter_ftrace(registers: &mut Registers, at: TextAddr) -> TextAddr {
        let next = Self::ip(registers);
        Self::set_ip(registers, at);
        next
    }

    #[inline(always)]
    fn run(prepared: &ArchInsn, registers: &mut Registers, has_post_handler: bool) -> Outcome {
        let regs = SavedRegs::of_mut(registers);
        let emulated = match &prepared.run {
            Run::Branch(branch) => branch.run(prepared.at, regs),
            Run::OpenPerCpu(register) => {
                regs.percpu_register = *register;
                Some(prepared.next())
            }
            Run::SystemMask(code) => regs.system_mask(*code).then(|| prepared.next()),
            Run::Copy => None,
        };
        let (outcome, to) = match (&prepared.slot, emulated) {
            (Some(slot), None) if slot.ends_in_jump() && !has_post_handler => {
                (Outcome::Redirected, slot.boosted_copy())
            }
            (Some(slot), None) => {
                let saved = regs.mask;
                regs.mask &= !INTERRUPTS;
                (Outcome::Stepping(saved), slot.at())
            }
            (_, to) => (Outcome::Emulated, to.unwrap_or(prepared.at)),
        };
        regs.ip = to.get() as usize;
        outcome
    }

    #[inline(always)]
    fn insn_addr(prepared: &ArchInsn) -> TextAddr {
        prepared.at
    }

    #[inline(always)]
    fn ends_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        let trapped_at = Self::hit_at(registers).get();
        let end = |at: TextAddr| at.get().wrapping_add(prepared.len.into());
        prepared.stepped().map(end) == Some(trapped_at)
    }

    #[inline(always)]
    fn after_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) -> AfterStep {
        let regs = SavedRegs::of_mut(registers);
        // The code in the slot was only the memory access of an emulated instruction. The access
        // did not fault after all: the breakpoint is hit again.
        if !matches!(prepared.run, Run::Copy) {
            regs.mask = saved;
            regs.ip = prepared.at.get() as usize;
            return AfterStep::Again;
        }
        regs.mask |= saved & INTERRUPTS;
        regs.ip = prepared.next().get() as usize;
        AfterStep::Done
    }

    fn faults_in_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        offset_in_copy(prepared, registers).is_some()
    }

    fn undo_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) {
        let offset = offset_in_copy(prepared, registers).unwrap_or_default();
        SavedRegs::of_mut(registers).mask |= saved & INTERRUPTS;
        let at = prepared.at.get().wrapping_add(offset);
        Self::set_ip(registers, TextAddr::new(at));
    }
}

/// If the CPU is at the stepped code, or after it, which is where a fault of the code leaves the
/// PSW, returns the distance.
#[inline(always)]
fn offset_in_copy(prepared: &ArchInsn, registers: &Registers) -> Option<u64> {
    let copy = prepared.stepped()?.get();
    let offset = S390::ip(registers).get().wrapping_sub(copy);
    (offset == 0 || offset == prepared.len.into()).then_some(offset)
}

/// Returns whether all CPUs are stopped while text changes.
#[inline]
pub(super) fn stops_cpus() -> bool {
    // SAFETY: It can be called anywhere.
    unsafe { bindings::rust_kprobes_stops_cpus() }
}

/// Replaces a breakpoint, or a jump, by the instruction.
///
/// A jump is replaced by a breakpoint first: CPUs that are stopped go on executing the loop that
/// they wait in, and must not find a part of the jump behind a part of the instruction.
///
/// # Safety
///
/// The caller is in [`Machine::change_text`].
unsafe fn restore(of: &ArchInsn, text_lock: &mut text::Lock) {
    let (head, tail) = of.original.split_at(BREAKPOINT.len());
    let mut found = [0; BREAKPOINT.len()];
    // If the text cannot be read, all of it is written.
    if text::read(of.at, &mut found).is_none() || found != BREAKPOINT {
        let rest = usize::from(of.len).wrapping_sub(BREAKPOINT.len());
        let tail = tail.get(..rest).unwrap_or_default();
        let after = TextAddr::new(of.at.get().wrapping_add(2));
        // SAFETY: The code is no longer than the instruction; the rest is the precondition.
        unsafe { poke(of.at, &BREAKPOINT, text_lock) };
        // SAFETY: As above.
        unsafe { poke(after, tail, text_lock) };
    }
    // SAFETY: As above.
    unsafe { poke(of.at, head, text_lock) };
}
