// SPDX-License-Identifier: GPL-2.0

//! Prepares a probed instruction: classifies it, and writes its copies.
//!
//! This happens once, when the first probe at an address is registered. A hit decodes nothing.
//!
//! C counterpart: [`arch/s390/kernel/kprobes.c`](srctree/arch/s390/kernel/kprobes.c).

use super::{
    exrl_targets,
    isa::{
        branch::Branch,
        classify::Exec,
        insn::Insn,
        BREAKPOINT, //
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

/// A jump to itself (`jg`), which a copy elsewhere still leads to.
pub(super) const JUMP: [u8; 6] = [0xc0, 0xf4, 0, 0, 0, 0];

/// A probed instruction, and how it is executed.
pub(crate) struct ArchInsn {
    pub(super) run: Run,
    /// The copies of an instruction that is not emulated: one that ends in a breakpoint, and maybe
    /// one that ends in a jump back. For an emulated instruction that accesses memory: an
    /// instruction that accesses the same memory, and faults instead of the emulation.
    pub(super) slot: Option<Slot>,
    /// The address of the instruction.
    pub(super) at: TextAddr,
    /// Its length.
    pub(super) len: u8,
    /// Its code; zeroes follow.
    pub(super) original: [u8; 6],
}

/// How a probed instruction is executed.
pub(super) enum Run {
    /// A branch is emulated.
    Branch(Branch),
    /// The `mviy` that opens a per-CPU section for a register is emulated. After its copy, the
    /// exit from an interrupt would take the `ag` of the section for done.
    OpenPerCpu(u8),
    /// An instruction that reads or writes the system mask of the PSW is emulated: a step has
    /// another mask.
    SystemMask([u8; 4]),
    /// The CPU runs a copy.
    Copy,
}

impl ArchInsn {
    /// The address of the next instruction.
    #[inline(always)]
    pub(super) fn next(&self) -> TextAddr {
        TextAddr::new(self.at.get().wrapping_add(self.len.into()))
    }

    /// The address of the code that ends in a breakpoint, if there is any.
    #[inline(always)]
    pub(super) fn stepped(&self) -> Option<TextAddr> {
        self.slot.as_ref().map(Slot::at)
    }
}

/// Prepares the instruction at `at`. `fixup` means that the exception table has an entry for it.
pub(super) fn prepare(
    at: TextAddr,
    fixup: bool,
    read: ReadText<'_>,
    text_lock: &mut text::Lock,
) -> Result<ArchInsn, Refusal> {
    let insn = Insn::read(at, read)?;
    let exec = insn.classify(at, read)?;
    if exrl_targets::is_target(at, read)? {
        return Err(Refusal::BoundToPlace);
    }
    let run = match exec {
        Exec::Branch(branch) => Run::Branch(branch),
        Exec::SeesInterrupts => {
            let [first, second, third, fourth, ..] = insn.bytes();
            Run::SystemMask([first, second, third, fourth])
        }
        Exec::StoresByte { at: place, byte } if byte != 0 && is_percpu_register(place) => {
            Run::OpenPerCpu(byte)
        }
        Exec::Copy | Exec::StoresByte { .. } => Run::Copy,
    };
    let slot = match (&run, insn.probing_access()) {
        (Run::Copy, _) => Some(copy(at, &insn, fixup, text_lock)?),
        (_, Some(access)) => {
            let slot = COPIES.take(at)?;
            let access = access.get(..insn.len()).unwrap_or_default();
            let code = Code::EMPTY.then(access)?.then(&BREAKPOINT)?;
            // SAFETY: The slot was taken above, and has room for the code.
            unsafe { poke(slot.at(), code.bytes(), text_lock) };
            Some(slot)
        }
        _ => None,
    };
    Ok(ArchInsn {
        run,
        slot,
        at,
        len: insn.len() as u8,
        original: insn.bytes(),
    })
}

/// Returns whether the address is that of the lowcore's `percpu_register`. The lowcore is at one of
/// two addresses.
pub(super) fn is_percpu_register(at: u64) -> bool {
    at == u64::from(bindings::RUST_KPROBES_PERCPU_REGISTER)
        || at == u64::from(bindings::RUST_KPROBES_PERCPU_REGISTER_ALT)
}

/// Writes the copies of an instruction.
fn copy(
    at: TextAddr,
    insn: &Insn,
    fixup: bool,
    text_lock: &mut text::Lock,
) -> Result<Slot, Refusal> {
    let len = insn.len();
    // Fault handlers see the faults of stepped copies only. A fault may leave the PSW after the
    // instruction, so the exception table may have that address instead.
    let may_fault = fixup || text::has_fixup(at.after(len as u64)?);
    // If too many slots are pending, each hit takes a second trap instead.
    let boosts = !may_fault && COPIES.may_end_in_jump();
    let mut slot = COPIES.take(at)?;
    let moved = |to: TextAddr| {
        let moved = insn.moved(at, to)?.bytes();
        Code::EMPTY.then(moved.get(..len).unwrap_or_default())
    };
    let stepped = moved(slot.at())?.then(&BREAKPOINT)?;
    if boosts {
        let second = slot.boosted_copy();
        let end = second.after(len as u64)?;
        let back = Insn::decode(&JUMP)?.moved(at.after(len as u64)?, end)?;
        let boosted = moved(second)?.then(&back.bytes())?;
        // SAFETY: The slot was taken above, and has room for both copies.
        unsafe { poke(second, boosted.bytes(), text_lock) };
        slot.set_ends_in_jump();
    }
    // SAFETY: As above.
    unsafe { poke(slot.at(), stepped.bytes(), text_lock) };
    Ok(slot)
}

/// Writes code.
///
/// # Safety
///
/// The code replaces instructions of probed text in `Machine::change_text`, or is in a slot that
/// the caller owns and no CPU executes yet.
pub(super) unsafe fn poke(at: TextAddr, code: &[u8], _text_lock: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    // SAFETY: By the precondition there is text of this length.
    unsafe { bindings::__s390_kernel_write(place, code.as_ptr().cast(), code.len()) };
}
