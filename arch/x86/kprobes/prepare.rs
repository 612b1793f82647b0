// SPDX-License-Identifier: GPL-2.0

//! Prepares a probed instruction: decodes and classifies it, and writes its copies.
//!
//! This happens once, when the first probe at an address is registered. A hit decodes nothing. The
//! caller has called `Isa::check_boundary()`, so an instruction starts at the address.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    isa::{
        boundary,
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
        relocate,
        restrict, //
    },
    poke, //
};
use crate::{
    contract::ReadText,
    prelude::*,
    slots::{
        Slot,
        COPIES,
        COPY_LEN, //
    },
    sys::text, //
};
use core::sync::atomic::{
    AtomicUsize,
    Ordering, //
};

/// A probed instruction: its first byte, and how it is executed.
pub(crate) struct ArchInsn {
    /// The operation, if the instruction is emulated.
    pub(super) op: Option<Op>,
    /// For an instruction that is not emulated: a copy that ends in INT3 and, if the instruction is
    /// boosted, a copy that ends in a jump back. For an emulated branch that reads its target from
    /// memory: a load from the same memory. The CPU runs the load if the emulation cannot read the
    /// memory, so that the load faults.
    pub(super) slot: Option<Slot>,
    /// The address of the instruction.
    pub(super) at: TextAddr,
    /// The address of the next instruction, or the target of an unconditional jump.
    pub(super) resume_at: TextAddr,
    /// The new instruction pointer, if a hit without post handlers needs nothing else; otherwise
    /// zero. It is the next instruction after a NOP, the target of an unconditional jump, the copy
    /// that ends in a jump back, or the copies in a detour.
    pub(super) redirect_ip: AtomicUsize,
    /// The length of the instruction.
    len: u8,
    /// The length of the code before the INT3: the copy, or the load.
    pub(super) copy_len: u8,
    /// The first byte of the instruction, which the breakpoint replaces.
    pub(super) first: u8,
}

// With the rest of a probe point: 128 bytes.
const _: () = assert!(size_of::<ArchInsn>() <= 64);

impl ArchInsn {
    /// Returns the address of the copy that ends in a jump back, if there is one.
    fn boosted(&self) -> Option<TextAddr> {
        let slot = self.slot.as_ref().filter(|slot| slot.ends_in_jump());
        slot.map(Slot::boosted_copy)
    }

    /// Sends hits without post handlers to the copies in a detour, which are at `detour`. With
    /// `None`, sets `redirect_ip` to its usual value.
    ///
    /// A CPU that loads the new address executes the code that was written before this function was
    /// called: the release store orders the two, and the return from the trap serializes the CPU.
    pub(crate) fn redirect(&self, detour: Option<TextAddr>) {
        let usual = match self.op {
            Some(Op::Continue) => Some(self.resume_at),
            _ => self.boosted(),
        };
        let to = detour.or(usual).map_or(0, |to| to.get() as usize);
        self.redirect_ip.store(to, Ordering::Release);
    }
}

impl Drop for ArchInsn {
    /// Tells perf that the copies are freed. The field `slot` is dropped next, which gives the slot
    /// back (`rust/kprobes/slots.rs`).
    fn drop(&mut self) {
        let Some(slot) = &self.slot else {
            return;
        };
        let step_len = self.copy_len.wrapping_add(encode::INT3_LEN as u8);
        poke::tell_perf_freed(slot, 0, step_len.into());
        if self.boosted().is_some() {
            poke::tell_perf_freed(
                slot,
                COPY_LEN,
                encode::JUMP_LEN.wrapping_add(self.len.into()),
            );
        }
    }
}

/// Prepares the instruction at `at`. `fixup` means that the exception table has an entry for it.
pub(super) fn prepare(
    at: TextAddr,
    fixup: bool,
    read: ReadText<'_>,
    text_lock: &mut text::Lock,
) -> Result<ArchInsn, Refusal> {
    let insn = read_insn(at, read)?;
    if restrict::call_check_trap(&insn, at).is_some_and(text::is_cfi_trap) {
        return Err(Refusal::CallCheck);
    }
    let mut resume_at = at.after(insn.len() as u64)?;
    let after = read_insn(resume_at, read).ok();
    let first = insn.bytes().first().copied().unwrap_or_default();
    let mut copy_len = insn.len() as u8;
    let (op, slot) = match classify::classify(&insn, after.as_ref(), fixup)? {
        Exec::Emulate(op @ (Op::JumpMemory(_) | Op::CallMemory(_))) => {
            let mut slot = COPIES.take(at)?;
            let load = relocate::probing_load(&insn, at, slot.at())?;
            copy_len = load.bytes().len() as u8;
            poke::write_slot(&mut slot, 0, &load.then(&[encode::INT3])?, text_lock);
            (Some(op), Some(slot))
        }
        Exec::Emulate(op) => match emulate::resolve(op, resume_at) {
            Op::JumpTo(to) => {
                resume_at = TextAddr::new(to);
                (Some(Op::Continue), None)
            }
            op => (Some(op), None),
        },
        copied => {
            // If too many slots are pending, each hit takes a second trap instead.
            let boosts = copied == Exec::Boost && COPIES.may_end_in_jump();
            let mut slot = COPIES.take(at)?;
            let step = relocate::copy(&insn, at, slot.at())?.then(&[encode::INT3])?;
            let mut boosted = None;
            if boosts {
                let copy = relocate::copy(&insn, at, slot.boosted_copy())?;
                let end = slot.boosted_copy().after(insn.len() as u64)?;
                let jump = encode::jmp32(end, resume_at)?;
                boosted = Some(copy.then(jump.bytes())?);
                slot.set_ends_in_jump();
            }
            poke::write_slot(&mut slot, 0, &step, text_lock);
            if let Some(boosted) = boosted {
                poke::write_slot(&mut slot, COPY_LEN, &boosted, text_lock);
            }
            (None, Some(slot))
        }
    };
    let prepared = ArchInsn {
        op,
        slot,
        at,
        resume_at,
        redirect_ip: AtomicUsize::new(0),
        len: insn.len() as u8,
        copy_len,
        first,
    };
    prepared.redirect(None);
    Ok(prepared)
}

/// Decodes the instruction at `at`.
fn read_insn(at: TextAddr, read: ReadText<'_>) -> Result<Insn, Refusal> {
    let mut bytes = [0; MAX_INSN];
    let part = boundary::read_most(at, &mut bytes, read);
    decode::decode(part.ok_or(Refusal::OutOfText)?)
}
