// SPDX-License-Identifier: GPL-2.0

//! Replaces breakpoints by jumps to detours, and jumps by breakpoints.
//!
//! A jump (`b`) replaces one instruction, and has its condition. A detour is one slot:
//!
//! ```text
//! A:           | b detour |
//!
//! detour:   0  | sub sp, sp, #frame          room for the saved registers
//!           4  | stmia sp, {r0 - r12}
//!           8  | str lr, [sp, #lr]
//!          12  | mov lr, pc
//!          16  | ldr pc, [pc, #24]           rust_kprobes_detour saves the rest and calls handlers
//!          20  | ldr lr, [sp, #lr]
//!          24  | ldr sp, [sp, #sp]           drops the frame
//!          28  | copy of the instruction
//!          32  | ldr pc, [pc, #-4]
//!          36    A+4
//!          40    A, the address that a breakpoint shows
//!          44    the address of the word that names the probes whose handlers are called
//!          48    rust_kprobes_detour
//!          52    where a branch leads
//! ```
//!
//! In the place of `b` or `bl` a detour has, from 28 on:
//!
//! ```text
//!         | ldr pc, [pc, #16]                | ldr lr, [pc]
//!         |                                  | ldr pc, [pc, #12]
//! ```
//!
//! `trampoline.S` has `rust_kprobes_detour`, which all detours share, and a template of the first
//! seven instructions.
//!
//! C counterpart: [`arch/arm/probes/kprobes/opt-arm.c`](
//! srctree/arch/arm/probes/kprobes/opt-arm.c).

use super::{
    isa::{
        copy,
        insn::Insn, //
    },
    machine::Arm,
    prepare::{
        poke,
        ArchInsn,
        Run,
        STATE, //
    }, //
};
use crate::{
    contract::{
        ForEachPoint,
        Jumps,
        Machine,
        ReadText, //
    },
    model::text_metadata::TextMetadata,
    slots::{
        Slot,
        DETOURS, //
    },
    sys::{
        prelude::*,
        probe::Chain,
        text, //
    }, //
};

/// The offsets of the copied instruction, and of the jump back.
const COPIED: u64 = 28;
const BACK: u64 = COPIED + 4;

/// The code of a detour that runs `b`: `ldr pc, [pc, #16]`.
const B: [u32; 2] = [0xe59f_f010, 0];
/// The code of a detour that runs `bl`: `ldr lr, [pc]; ldr pc, [pc, #12]`.
const BL: [u32; 2] = [0xe59f_e000, 0xe59f_f00c];

/// A detour.
pub(crate) struct Detour {
    slot: Slot,
    /// The instruction that the jump overwrites.
    overwritten: [u8; 4],
    /// The jump.
    jump: [u8; 4],
}

// SAFETY:
// - a jump is over one instruction. Its copy in a detour is not expected to fault. A call does not
//   return to the detour. An idle task may wait in the copy, and slots wait for idle tasks as well;
// - text changes while all CPUs are stopped;
// - a detour's slot is marked as left by a jump.
unsafe impl Jumps for Arm {
    type Detour = Detour;
    type BranchTargets = ();

    const MAX_OPTIMIZED_LEN: u64 = 4;

    fn make_detour(
        at: TextAddr,
        _function: TextRange,
        _targets: &(),
        prepared: &ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<Detour, NoJump> {
        let (code, to) = match &prepared.run {
            Run::Emulate(_, insn) => {
                let (links, to) = insn.branch(at).ok_or(NoJumpReason::Emulated)?;
                (if links { BL } else { B }, to)
            }
            _ => (Insn::read(STATE, at, read)?.with_jump(), 0),
        };
        let reason = if metadata.may_fault(at) {
            Some(NoJumpReason::MayFault)
        } else if !DETOURS.may_end_in_jump() {
            Some(NoJumpReason::DetoursWait)
        } else {
            None
        };
        let (reason, bytes) = (reason.map(NoJump::from), TextRange::with_len(at, 4)?);
        match reason.or_else(|| metadata.reserved_by(bytes)) {
            Some(no) => Err(no),
            None => Ok(write(prepared, code, to, text_lock)?),
        }
    }

    fn set_chain(detour: &Detour, chain: Option<&Chain>) {
        detour.slot.set_chain(chain);
    }

    fn optimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock) {
        // SAFETY: A point with a jump has an instruction of four bytes; `change_text` calls this.
        let write =
            |text_lock: &mut _| points(&mut |at, _, to| unsafe { poke(at, &to.jump, text_lock) });
        Self::change_text(write, text_lock);
    }

    fn unoptimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock) {
        let write = |text_lock: &mut _| {
            // SAFETY: As for `optimize`.
            points(&mut |at, of, _| unsafe { poke(at, &of.breakpoint, text_lock) })
        };
        Self::change_text(write, text_lock);
    }

    /// A jump replaces one whole instruction, and `disarm` restores it.
    fn disarms_jumps() -> bool {
        true
    }

    fn detour_origin(at: TextAddr, no_preempt: &PreemptOff) -> Option<(TextAddr, usize)> {
        let (place, offset) = DETOURS.first_word(at, no_preempt)?;
        // At the end of the frame, handlers may have moved the stack pointer: not followed here.
        let (passed, taken) = match offset {
            0 | COPIED => (0, 0),
            BACK => (4, 0),
            _ => (0, size_of::<Registers>()),
        };
        Some((TextAddr::new(place.wrapping_add(passed) as u64), taken))
    }

    fn is_jump(code: &[u8]) -> bool {
        matches!(code, [_, _, _, top, ..] if top & 0x0f == 0x0a)
    }

    fn overwritten(detour: &Detour) -> &[u8] {
        &detour.overwritten
    }
}

/// Writes a detour, which calls no handler yet. `code` runs the instruction; `to` is the target of
/// a branch.
fn write(
    of: &ArchInsn,
    code: [u32; 2],
    to: u32,
    text_lock: &mut text::Lock,
) -> Result<Detour, Refusal> {
    let mut slot = DETOURS.take(of.at)?;
    let word = slot.chain_word().ok_or(Refusal::NoMemory)? as u32;
    let template = (&raw const bindings::rust_kprobes_detour_template).addr() as u64;
    let mut saves = [0; COPIED as usize];
    text::read(TextAddr::new(template), &mut saves).ok_or(Refusal::UnreadableText)?;
    let entry = (&raw const bindings::rust_kprobes_detour).addr() as u32;
    let [at, next] = [of.at, of.next()].map(|at| at.get() as u32);
    let rest = [code[0], code[1], next, at, word, entry, to].map(u32::to_le_bytes);
    let code = Code::EMPTY.then(&saves)?.then(rest.as_flattened())?;
    // SAFETY: The slot was taken above, and has room for a detour.
    unsafe { poke(slot.at(), code.bytes(), text_lock) };
    let jump = copy::jump(of.at, slot.at(), of.condition)?;
    slot.set_ends_in_jump();
    slot.set_chain(None);
    Ok(Detour {
        slot,
        overwritten: of.original,
        jump,
    })
}
