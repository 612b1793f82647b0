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
//!          24  | add sp, sp, #frame          takes the room down
//!          28  | copy of the instruction
//!          32  | ldr pc, [pc, #-4]
//!          36    A+4
//!          40    A, the address that a breakpoint shows
//!          44    the address of the word that names the probes whose handlers are called
//!          48    rust_kprobes_detour
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
        insn::Insn,
        State,
        A32, //
    },
    machine::{
        change,
        put,
        Write, //
    },
    prepare::{
        ArchInsn,
        Run, //
    }, //
};
use crate::{
    contract::{
        ForEachPoint,
        Jumps,
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

/// A detour.
pub(crate) struct Detour {
    slot: Slot,
    /// The instruction that the jump overwrites.
    under: [u8; 4],
    /// The jump.
    jump: [u8; 4],
}

// SAFETY:
// - a jump is over one instruction. Its copy in a detour does not call, and is not expected to
//   fault. An idle task may wait in the copy, and slots wait for idle tasks as well;
// - text changes while all CPUs are stopped;
// - a detour's slot is marked as left by a jump.
unsafe impl Jumps for A32 {
    type Detour = Detour;
    type BranchTargets = ();

    const MAX_OPTIMIZED_LEN: u64 = 4;

    fn detour(
        at: TextAddr,
        _function: TextRange,
        _targets: &(),
        prepared: &ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<Detour, NoJump> {
        let reason = if matches!(prepared.run, Run::Emulate(..)) {
            Some(Reason::Emulated)
        } else if metadata.may_fault(at) {
            Some(Reason::MayFault)
        } else if !DETOURS.may_be_left_by_jump() {
            Some(Reason::DetoursWait)
        } else {
            metadata.owner(TextRange::with_len(at, 4)?)
        };
        if let Some(reason) = reason {
            return Err(reason.into());
        }
        let insn = Insn::read(State::A32, at, read)?;
        Ok(write(prepared, &insn, text)?)
    }

    fn set_owner(detour: &Detour, owner: Option<&Chain>) {
        detour.slot.set_owner(owner);
    }

    fn optimize(places: ForEachPoint<'_, Self>, text: &mut text::Lock) {
        let write: Write<'_> = &mut |text| places(&mut |at, _, to| put(at, &to.jump, text));
        change(write, text);
    }

    fn unoptimize(places: ForEachPoint<'_, Self>, text: &mut text::Lock) {
        let write: Write<'_> = &mut |text| places(&mut |at, of, _| put(at, &of.breakpoint, text));
        change(write, text);
    }

    fn original(at: TextAddr, pinned: &Pinned) -> Option<(TextAddr, usize)> {
        let (place, into) = DETOURS.origin(at, pinned)?;
        let (behind, taken) = match into {
            0 | COPIED => (0, 0),
            BACK => (4, 0),
            _ => (0, size_of::<Registers>()),
        };
        Some((TextAddr::new(place.wrapping_add(behind) as u64), taken))
    }

    fn is_jump(code: &[u8]) -> bool {
        matches!(code, [_, _, _, top, ..] if top & 0x0f == 0x0a)
    }

    fn recover_jump(at: TextAddr, detour: &Detour, from: TextAddr, code: &mut [u8]) {
        let into = at.get().wrapping_sub(from.get()) as usize;
        let end = into.wrapping_add(detour.under.len());
        if let Some(code) = code.get_mut(into..end) {
            code.copy_from_slice(&detour.under);
        }
    }
}

/// Writes the detour of an instruction, which calls no handler yet.
fn write(prepared: &ArchInsn, insn: &Insn, text: &mut text::Lock) -> Result<Detour, Refusal> {
    let at = prepared.at;
    let mut slot = DETOURS.take(at)?;
    let word = slot.owner_word().ok_or(Refusal::NoMemory)?;
    let template = (&raw const bindings::rust_kprobes_detour_template).addr() as u64;
    let mut code = [0; COPIED as usize];
    text::read(TextAddr::new(template), &mut code).ok_or(Refusal::UnreadableText)?;
    let code = Code::EMPTY.then(&code)?;
    let code = code.then(insn.boosted(prepared.next())?.bytes())?;
    let entry = (&raw const bindings::rust_kprobes_detour).addr();
    let code = code.then(&(at.get() as u32).to_le_bytes())?;
    let code = code
        .then(&(word as u32).to_le_bytes())?
        .then(&entry.to_le_bytes())?;
    put(slot.at(), code.bytes(), text);
    let jump = copy::jump(at, slot.at(), insn.condition())?;
    slot.set_left_by_jump();
    slot.set_owner(None);
    Ok(Detour {
        slot,
        under: prepared.original,
        jump,
    })
}
