// SPDX-License-Identifier: GPL-2.0

//! The arm CPU and its text: arms breakpoints, and executes the instruction of a hit.
//!
//! A breakpoint is an undefined instruction, UDF; in A32 it has the condition of the instruction
//! that it replaces. `do_undefinstr()` asks [`entry`](super::entry) first. Interrupts are off from
//! the exception until its end, so a hit is handled on one CPU. Text changes while all CPUs are
//! stopped: no hit of a breakpoint is under way then.
//!
//! A step runs with interrupts masked, so that its trap comes before any interrupt. Instructions
//! that read or write the mask are emulated if a step would follow. In an IT block of Thumb, a copy
//! cannot end in a jump back, so a step follows there, too.
//!
//! C counterpart: [`arch/arm/probes/kprobes/core.c`](srctree/arch/arm/probes/kprobes/core.c). C
//! executes the instruction in the handler of the exception, with the registers of its task.

use super::{
    isa::{
        boundary,
        emulate::Emulation,
        psr,
        State, //
    },
    prepare::{
        self,
        poke,
        ArchInsn,
        Run,
        STATE, //
    },
    saved_regs::{
        psr as saved_psr,
        set_psr,
        Interrupted,
        PC,
        SP, //
    }, //
};
use crate::{
    contract::{
        Isa,
        Machine,
        ReadText, //
    },
    model::hit_state::{
        AfterStep,
        Outcome, //
    },
    slots::Slot,
    sys::{
        blacklist,
        prelude::*,
        text, //
    }, //
};

/// The back end.
pub(crate) struct Arm;

impl Isa for Arm {
    const DATA_IN_TEXT: bool = true;

    fn is_breakpoint(code: &[u8]) -> bool {
        STATE.is_breakpoint(code)
    }

    fn check_boundary(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal> {
        boundary::check_boundary(STATE, known, at, read)
    }
}

// SAFETY:
// - `cpu_copy` adds this CPU's distance;
// - `arm` and `disarm` change text while all CPUs are stopped, and interrupt them after that. No
//   CPU is stopped in a trap or a step, as both have interrupts off;
// - a slot that a CPU leaves by a jump is marked.
unsafe impl Machine for Arm {
    type ArchInsn = ArchInsn;

    const TRAP_IP_OFFSET: u64 = 0;
    const FTRACE_LEN: u64 = 4;
    /// C passes the fault status of a page fault, not the number of a trap, so there is none here.
    const FAULTS: &'static [c_uint] = &[];

    /// The entries of exceptions and interrupts, and the identity map's code,
    /// which runs with the MMU off.
    fn arch_blacklist() -> impl Iterator<Item = TextRange> {
        [
            blacklist::between(
                &raw const bindings::__irqentry_text_start,
                &raw const bindings::__irqentry_text_end,
            ),
            blacklist::between(
                &raw const bindings::__entry_text_start,
                &raw const bindings::__entry_text_end,
            ),
            blacklist::between(
                &raw const bindings::__idmap_text_start,
                &raw const bindings::__idmap_text_end,
            ),
        ]
        .into_iter()
    }

    #[inline(always)]
    fn cpu_copy<T>(original: *const T, _no_preempt: &PreemptOff) -> *mut T {
        #[cfg_attr(not(CONFIG_SMP), expect(unused_mut))]
        let mut offset = 0_usize;
        // SAFETY: Reads TPIDRPRW, which has this CPU's distance.
        #[cfg(CONFIG_SMP)]
        unsafe {
            core::arch::asm!("mrc p15, 0, {}, c13, c0, 4", out(reg) offset,
                options(nostack, preserves_flags, readonly))
        };
        // Without provenance: the copy is no part of the original.
        core::ptr::with_exposed_provenance_mut(original.addr().wrapping_add(offset))
    }

    fn prepare(
        at: TextAddr,
        function: TextRange,
        fixup: bool,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<ArchInsn, Refusal> {
        prepare::prepare(at, function, fixup, read, text_lock)
    }

    fn arm(points: &mut dyn Iterator<Item = &ArchInsn>, text_lock: &mut text::Lock) {
        poke_each(points, |of| &of.breakpoint, text_lock);
    }

    fn disarm(points: &mut dyn Iterator<Item = &ArchInsn>, text_lock: &mut text::Lock) {
        poke_each(points, |of| &of.original, text_lock);
    }

    fn recover(prepared: &ArchInsn, code: &mut [u8]) {
        let original @ [first, second, ..] = prepared.original;
        // No iterator: functions of core that are not inlined could be probed.
        match code {
            [a, b, ..] if prepared.len() == 2 => [*a, *b] = [first, second],
            [a, b, c, d, ..] => [*a, *b, *c, *d] = original,
            _ => {}
        }
    }

    /// Of a 32-bit Thumb instruction, the first halfword is the high one.
    fn opcode(prepared: &ArchInsn) -> bindings::kprobe_opcode_t {
        let code = u32::from_le_bytes(prepared.original);
        match (STATE, prepared.len()) {
            (State::Thumb, 4) => code.rotate_left(16),
            _ => code,
        }
    }

    #[inline(always)]
    fn ip(registers: &Registers) -> TextAddr {
        TextAddr::new(registers.uregs[PC] as u64)
    }

    #[inline(always)]
    fn set_ip(registers: &mut Registers, ip: TextAddr) {
        registers.uregs[PC] = ip.get() as usize;
    }

    #[inline(always)]
    fn sp(registers: &mut Registers) -> &mut usize {
        &mut registers.uregs[SP]
    }

    #[inline(always)]
    fn skip_if_condition_fails(prepared: &ArchInsn, registers: &mut Registers) -> bool {
        let (condition, psr) = (prepared.condition, saved_psr(registers));
        let is_always = condition == psr::ALWAYS && !in_it_block(psr);
        let holds = is_always || psr::holds(condition, psr);
        if !holds {
            if in_it_block(psr) {
                set_psr(registers, psr::advanced(psr));
            }
            Self::set_ip(registers, prepared.next());
        }
        !holds
    }

    #[inline(always)]
    fn run(prepared: &ArchInsn, registers: &mut Registers, has_post_handler: bool) -> Outcome {
        match &prepared.run {
            Run::Copy(slot) | Run::CopyOrEmulate(slot, _)
                if slot.ends_in_jump()
                    && !has_post_handler
                    && !in_it_block(saved_psr(registers)) =>
            {
                Self::set_ip(registers, slot.boosted_copy());
                Outcome::Redirected
            }
            Run::Copy(slot) => step(slot, registers),
            Run::CopyOrEmulate(slot, emulation) => {
                emulate(prepared.at, emulation, Some(slot), registers)
            }
            Run::Emulate(slot, emulation) => {
                emulate(prepared.at, emulation, slot.as_ref(), registers)
            }
        }
    }

    #[inline(always)]
    fn insn_addr(prepared: &ArchInsn) -> TextAddr {
        prepared.at
    }

    #[inline(always)]
    fn ends_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        let end = |slot: &Slot| slot.at().get().wrapping_add(prepared.len());
        prepared.slot().map(end) == Some(Self::hit_at(registers).get())
    }

    #[inline(always)]
    fn after_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) -> AfterStep {
        let psr = psr::after_step(saved as u32, saved_psr(registers));
        set_psr(registers, psr);
        Self::set_ip(registers, prepared.next());
        AfterStep::Done
    }

    fn faults_in_step(prepared: &ArchInsn, registers: &Registers) -> bool {
        prepared.slot().map(Slot::at) == Some(Self::ip(registers))
    }

    fn undo_step(prepared: &ArchInsn, registers: &mut Registers, saved: usize) {
        set_psr(registers, saved as u32);
        Self::set_ip(registers, prepared.at);
    }
}

/// Whether the CPU is in an IT block, which the kernel is only in if it is compiled to Thumb.
#[inline(always)]
fn in_it_block(psr: u32) -> bool {
    STATE == State::Thumb && psr::is_in_it_block(psr)
}

/// Sends the CPU to the copy that ends in a breakpoint.
#[inline(always)]
fn step(slot: &Slot, registers: &mut Registers) -> Outcome {
    let saved = saved_psr(registers);
    set_psr(registers, psr::for_step(saved));
    Arm::set_ip(registers, slot.at());
    Outcome::Stepping(saved as usize)
}

/// Emulates the instruction. If it accesses memory that emulation may not touch, sends the CPU to
/// the copy, which faults.
#[inline(never)]
fn emulate(
    at: TextAddr,
    emulation: &Emulation,
    slot: Option<&Slot>,
    registers: &mut Registers,
) -> Outcome {
    let faults = slot.is_none();
    let to = emulation.run(at, &mut Interrupted { registers, faults });
    match (to, slot) {
        (None, Some(slot)) => return step(slot, registers),
        // Without a copy, the emulation takes a fault itself.
        (to, _) => Arm::set_ip(registers, to.unwrap_or(at)),
    }
    Outcome::Emulated
}

/// Replaces each instruction, and returns when every CPU sees that.
fn poke_each(
    points: &mut dyn Iterator<Item = &ArchInsn>,
    code: fn(&ArchInsn) -> &[u8; 4],
    text_lock: &mut text::Lock,
) {
    let code = |of| code(of).get(..of.len() as usize).unwrap_or_default();
    // SAFETY: The code has the length of the point's instruction, and `change_text` calls this.
    let write =
        |text_lock: &mut _| points.for_each(|of| unsafe { poke(of.at, code(of), text_lock) });
    Arm::change_text(write, text_lock);
}
