// SPDX-License-Identifier: GPL-2.0

//! Prepares a probed instruction: decides how it is executed, and writes its copies.
//!
//! This happens once, when the first probe at an address is registered. A hit decodes nothing.
//!
//! C counterpart: `arch_prepare_kprobe()` in
//! [`arch/arm/probes/kprobes/core.c`](srctree/arch/arm/probes/kprobes/core.c).

use super::{
    isa::{
        emulate::Emulation,
        exclusive,
        insn::{
            Exec,
            Insn, //
        },
        State, //
    }, //
};
use crate::{
    contract::ReadText,
    slots::{
        Slot,
        COPIES, //
    },
    sys::{
        prelude::*,
        text, //
    }, //
};

/// The instruction set that the kernel is compiled to.
pub(super) const STATE: State = match cfg!(CONFIG_THUMB2_KERNEL) {
    true => State::Thumb,
    false => State::A32,
};

/// A probed instruction, and how it is executed.
pub(crate) struct ArchInsn {
    /// The address of the instruction.
    pub(super) at: TextAddr,
    /// The number of its bytes.
    len: u8,
    /// The instruction, and the breakpoint that replaces it, as in memory.
    pub(super) original: [u8; 4],
    pub(super) breakpoint: [u8; 4],
    /// The condition of the instruction.
    pub(super) condition: u8,
    pub(super) run: Run,
}

/// How a probed instruction is executed.
pub(super) enum Run {
    /// The CPU runs a copy.
    Copy(Slot),
    /// The CPU runs a copy, but the instruction is emulated if a step would follow: it writes PC,
    /// or depends on the mask of interrupts.
    CopyOrEmulate(Slot, Emulation),
    /// The instruction is emulated: it reads PC. One that stores PC has a copy, too, for memory
    /// that the emulation may not touch: the copy faults as the instruction does.
    Emulate(Option<Slot>, Emulation),
}

impl ArchInsn {
    /// The number of bytes of the instruction.
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        match STATE {
            State::A32 => 4,
            State::Thumb => self.len.into(),
        }
    }

    /// The address of the next instruction.
    #[inline(always)]
    pub(super) fn next(&self) -> TextAddr {
        TextAddr::new(self.at.get().wrapping_add(self.len()))
    }

    /// The slot of the copies, if there is one.
    #[inline(always)]
    pub(super) fn slot(&self) -> Option<&Slot> {
        match &self.run {
            Run::Copy(slot) | Run::CopyOrEmulate(slot, _) => Some(slot),
            Run::Emulate(slot, _) => slot.as_ref(),
        }
    }
}

/// Prepares the instruction at `at`, in a function. `fixup` tells that it is expected to fault: its
/// copy then ends in a breakpoint only, and a fault handler is told of the fault.
pub(super) fn prepare(
    at: TextAddr,
    function: TextRange,
    fixup: bool,
    read: ReadText<'_>,
    text_lock: &mut text::Lock,
) -> Result<ArchInsn, Refusal> {
    let insn = Insn::read(STATE, at, read)?;
    let exec = insn.classify()?;
    exclusive::check(STATE, at, function, read)?;
    let mut copy = || copy(at, &insn, fixup, text_lock);
    let run = match exec {
        Exec::Copy => Run::Copy(copy()?),
        Exec::CopyOrEmulate(emulation) => Run::CopyOrEmulate(copy()?, emulation),
        Exec::Emulate(emulation) => Run::Emulate(None, emulation),
        Exec::EmulateStore(emulation) => Run::Emulate(Some(copy()?), emulation),
    };
    Ok(ArchInsn {
        at,
        len: insn.len() as u8,
        original: insn.original(),
        breakpoint: insn.breakpoint(),
        condition: insn.condition(),
        run,
    })
}

/// Writes the copies of an instruction.
fn copy(
    at: TextAddr,
    insn: &Insn,
    fixup: bool,
    text_lock: &mut text::Lock,
) -> Result<Slot, Refusal> {
    // Writes of the PSR are emulated: lockdep learns from the return of the trap whether interrupts
    // are on, and would not see that a copy changes it afterwards.
    // If too many slots are pending, each hit takes a second trap instead.
    let boosts = !fixup && !insn.writes_psr() && COPIES.may_end_in_jump();
    let mut slot = COPIES.take(at)?;
    if boosts {
        let boosted = insn.boosted(at.after(insn.len())?)?;
        // SAFETY: The slot was taken above, and has room for both copies.
        unsafe { poke(slot.boosted_copy(), boosted.bytes(), text_lock) };
        slot.set_ends_in_jump();
    }
    // SAFETY: As above.
    unsafe { poke(slot.at(), insn.stepped()?.bytes(), text_lock) };
    Ok(slot)
}

/// Writes code.
///
/// # Safety
///
/// The code replaces instructions of probed text in `Machine::change_text`, or is in a slot that
/// the caller owns and no CPU executes yet.
pub(super) unsafe fn poke(at: TextAddr, code: &[u8], _text_lock: &mut text::Lock) {
    // SAFETY: By the precondition there is text of this length.
    unsafe { bindings::rust_kprobes_write(at.get() as usize, code.as_ptr().cast(), code.len()) };
}
