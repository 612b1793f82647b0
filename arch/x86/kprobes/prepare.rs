// SPDX-License-Identifier: GPL-2.0

//! Preparing a place: what its instruction does, or a copy of it to run.
//!
//! The instruction is decoded where it is and classified, and copies of it are written, once. After
//! that a hit looks at neither.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    isa::{
        call_check,
        classify::{
            self,
            Exec, //
        },
        decode,
        emulate::{
            self,
            Op, //
        },
        encode,
        insn::{
            Insn,
            MAX_INSN, //
        },
        relocate, //
    },
    poke, //
};
use crate::{
    contract::ReadText,
    prelude::*,
    slots::{
        Slot,
        COPIES, //
    },
    sys::text, //
};
use core::sync::atomic::{
    AtomicUsize,
    Ordering, //
};

/// Length of the jump behind a copy.
const JUMP_LEN: u8 = 5;

/// All it takes to break at a place and to carry out the instruction there.
pub(crate) struct ArchInsn {
    /// What the instruction does, if we do that.
    pub(super) op: Option<Op>,
    /// What is run if we do not: a copy that comes back, and maybe one that goes on by itself. If
    /// we could not read memory for the instruction: what reads it, and faults in its place.
    pub(super) slot: Option<Slot>,
    /// Where the instruction is.
    pub(super) at: TextAddr,
    /// Where the CPU goes on after it, unless it says otherwise.
    pub(super) next: TextAddr,
    /// Where the CPU has to go if nobody wants it to come back, when that is all there is to do, or
    /// zero: where a branch leads that is always taken, a copy that goes on by itself, or a detour.
    pub(super) straight: AtomicUsize,
    /// Its length.
    len: u8,
    /// The length of what reads memory in its place.
    load_len: u8,
    /// Its first byte, which the breakpoint is over.
    pub(super) first: u8,
}

// There is one for each probe: with all else that belongs to it, 128 bytes.
const _: () = assert!(size_of::<ArchInsn>() <= 64);

impl ArchInsn {
    /// The length of what is in the slot and comes back.
    pub(super) fn copy_len(&self) -> u8 {
        match self.op {
            Some(_) => self.load_len,
            None => self.len,
        }
    }

    /// Where the copy is that goes on by itself, if there is one.
    fn boosted(&self) -> Option<TextAddr> {
        let slot = self.slot.as_ref().filter(|slot| slot.lingers());
        slot.map(Slot::second)
    }

    /// Lets the CPU go to a detour if nobody wants it to come back, or where it went without one.
    ///
    /// Who goes there finds what was written there before: by the order of the two, and since
    /// returning from a trap lets the CPU forget what it has fetched.
    pub(crate) fn redirect(&self, detour: Option<TextAddr>) {
        let usual = match self.op {
            Some(Op::Nothing) => Some(self.next),
            _ => self.boosted(),
        };
        self.straight
            .store(to_word(detour.or(usual)), Ordering::Release);
    }
}

impl Drop for ArchInsn {
    /// Tells perf that what was in the slot is no more.
    fn drop(&mut self) {
        let Some(slot) = &self.slot else {
            return;
        };
        poke::forget(
            slot.at(),
            self.copy_len().wrapping_add(encode::INT3_LEN as u8),
        );
        if let Some(boosted) = self.boosted() {
            poke::forget(boosted, self.len.wrapping_add(JUMP_LEN));
        }
    }
}

/// Prepares the place at `at`, whose instruction is expected to fault if there is a `fixup`.
pub(super) fn prepare(
    at: TextAddr,
    fixup: bool,
    read: ReadText<'_>,
    text: &mut text::Lock,
) -> Result<ArchInsn, Refusal> {
    let insn = read_insn(at, read)?;
    check_call(at, &insn)?;
    let mut next = at.after(insn.len() as u64)?;
    let after = read_insn(next, read).ok();
    let first = insn.bytes().first().copied().unwrap_or_default();
    let mut load_len = 0;
    let (op, slot) = match classify::classify(&insn, after.as_ref(), fixup)? {
        Exec::Emulate(op @ (Op::JumpMemory(_) | Op::CallMemory(_))) => {
            let slot = COPIES.take(at)?;
            let load = relocate::probing_load(&insn, at, slot.at())?;
            load_len = load.bytes().len() as u8;
            poke::code(slot.at(), load.then(&[encode::INT3])?.bytes(), text);
            (Some(op), Some(slot))
        }
        Exec::Emulate(op) => match emulate::unconditional_target(&op, next) {
            Some(to) => {
                next = to;
                (Some(Op::Nothing), None)
            }
            None => (Some(emulate::resolve_call(op, next)), None),
        },
        Exec::Step => step(at, &insn, text)?,
        // It may do without, at the price of a second trap.
        Exec::Boost if !COPIES.may_linger() => step(at, &insn, text)?,
        Exec::Boost => {
            let mut slot = COPIES.take(at)?;
            let boosted = slot.second();
            let step = relocate::copy(&insn, at, slot.at())?;
            let copy = relocate::copy(&insn, at, boosted)?;
            let jump = encode::jmp32(boosted.after(insn.len() as u64)?, next)?;
            slot.linger();
            poke::code(slot.at(), step.then(&[encode::INT3])?.bytes(), text);
            poke::code(boosted, copy.then(jump.bytes())?.bytes(), text);
            (None, Some(slot))
        }
    };
    let prepared = ArchInsn {
        op,
        slot,
        at,
        next,
        straight: AtomicUsize::new(0),
        len: insn.len() as u8,
        load_len,
        first,
    };
    prepared.redirect(None);
    Ok(prepared)
}

/// A copy of the instruction at `at` that comes back.
fn step(
    at: TextAddr,
    insn: &Insn,
    text: &mut text::Lock,
) -> Result<(Option<Op>, Option<Slot>), Refusal> {
    let slot = COPIES.take(at)?;
    let copy = relocate::copy(insn, at, slot.at())?;
    poke::code(slot.at(), copy.then(&[encode::INT3])?.bytes(), text);
    Ok((None, Some(slot)))
}

/// The instruction at `at`.
fn read_insn(at: TextAddr, read: ReadText<'_>) -> Result<Insn, Refusal> {
    let mut bytes = [0; MAX_INSN];
    // Where the text ends, so does what can be read.
    let readable = (1..=MAX_INSN).rev().find(|&len| {
        let part = bytes.get_mut(..len);
        part.is_some_and(|part| read(at, part).is_some())
    });
    let part = readable.and_then(|len| bytes.get(..len));
    decode::decode(part.ok_or(Refusal::OutOfText)?)
}

/// Says no to the instructions by which the compiler checks the target of an indirect call.
fn check_call(at: TextAddr, insn: &Insn) -> Result<(), Refusal> {
    match call_check::trap(insn) {
        Some(behind) if text::is_cfi_trap(at.after(behind)?) => Err(Refusal::CallCheck),
        _ => Ok(()),
    }
}

fn to_word(at: Option<TextAddr>) -> usize {
    at.map_or(0, |at| at.get() as usize)
}
