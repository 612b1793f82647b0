// SPDX-License-Identifier: GPL-2.0

//! Replaces breakpoints by jumps to detours, and jumps by breakpoints.
//!
//! A jump (`jg`) has six bytes and replaces one instruction of six bytes, so nothing can lead into
//! the bytes of the jump. Shorter instructions keep their breakpoints. So do instructions that are
//! emulated, that are expected to fault, or that are in a per-CPU section.
//!
//! A detour is one slot:
//!
//! ```text
//! A:           | jg detour |
//!
//! detour:   0  | lay  %r15,-frame(%r15)         room for the saved registers
//!           6  | stmg %r0,%r14,gprs(%r15)
//!          12  | brasl %r14,rust_kprobes_detour saves the rest and calls the handlers
//!          18  | lmg  %r14,%r15,gprs(%r15)      drops the frame
//!          24  | copy of the instruction
//!          30  | jg A+6
//!          40    A+2, the address that a breakpoint shows
//!          48    the address of the word that names the probes whose handlers are called
//! ```
//!
//! `trampoline.S` has `rust_kprobes_detour`, which all detours share, and a template of the first
//! four instructions.
//!
//! The first halfword of a jump is written while a breakpoint is there, or restored to one, and the
//! rest changes under the breakpoint. A hit of the breakpoint runs the copy in the slot of the
//! probe point, which leads to the next instruction. So it need not be redirected to the detour.
//! While all CPUs are stopped, the instruction is restored without a breakpoint.

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
mod tests;

use super::{
    isa::{
        insn::Insn,
        section,
        BREAKPOINT,
        S390, //
    },
    machine::stops_cpus,
    prepare::{
        is_percpu_register,
        poke,
        ArchInsn,
        Run,
        JUMP, //
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
        DETOURS,
        SLOT_LEN, //
    },
    sys::{
        prelude::*,
        probe::Chain,
        text, //
    }, //
};
use core::ops::Range;

/// The bytes of a jump, and of each instruction in a detour.
const LEN: usize = JUMP.len();

/// The instructions of the template.
const TEMPLATE: usize = 4;

/// The offset of the copied instruction.
const COPIED: u64 = (TEMPLATE * LEN) as u64;

/// The offset of the jump back.
const BACK: u64 = COPIED + LEN as u64;

/// The bytes between the jump back and the addresses.
const GAP: [u8; 4] = [0; 4];

// As `trampoline.S` has it.
const _: () = assert!(BACK as usize + LEN + GAP.len() == 40 && 40 + 2 * 8 <= SLOT_LEN);

/// The bytes of stack that a detour takes, as in `trampoline.S`.
const FRAME: usize = bindings::STACK_FRAME_OVERHEAD as usize + size_of::<bindings::pt_regs>();

/// A detour.
pub(crate) struct Detour {
    slot: Slot,
    /// The bytes that the jump overwrites.
    overwritten: [u8; LEN],
    /// The jump.
    jump: [u8; LEN],
}

impl Detour {
    /// Writes the detour of `insn` at `at` into a slot. The detour calls no handler yet.
    fn write(at: TextAddr, insn: &Insn, text_lock: &mut text::Lock) -> Result<Self, Refusal> {
        let mut slot = DETOURS.take(at)?;
        let word = slot.chain_word().ok_or(Refusal::NoMemory)?;
        let template = (&raw const bindings::rust_kprobes_detour_template).addr() as u64;
        let mut code = Code::EMPTY;
        let mut append = |insn: &Insn, from| {
            let to = slot.at().after(code.bytes().len() as u64)?;
            code = code.then(&insn.moved(from, to)?.bytes())?;
            Ok::<_, Refusal>(())
        };
        for index in 0..TEMPLATE {
            let from = TextAddr::new(template).after((index * LEN) as u64)?;
            append(&Insn::read(from, &mut text::read)?, from)?;
        }
        append(insn, at)?;
        let jump = Insn::decode(&JUMP)?;
        append(&jump, at.after(LEN as u64)?)?;
        let shown = at.after(S390::TRAP_IP_OFFSET)?.get().to_be_bytes();
        let code = code.then(&GAP)?.then(&shown)?.then(&word.to_be_bytes())?;
        // SAFETY: The slot was taken above, and has room for a detour.
        unsafe { poke(slot.at(), code.bytes(), text_lock) };
        slot.set_ends_in_jump();
        slot.set_chain(None);
        Ok(Self {
            overwritten: insn.bytes(),
            jump: jump.moved(slot.at(), at)?.bytes(),
            slot,
        })
    }
}

// SAFETY:
// - a jump is over one instruction. Its copy in a detour neither calls nor is expected to fault, so
//   no task sleeps there;
// - each change of text ends after an interrupt to all CPUs, or with all CPUs stopped;
// - `disarm` restores whole instructions, under a breakpoint; without facility 85 all CPUs are
//   stopped meanwhile;
// - a detour's slot is marked as left by a jump.
unsafe impl Jumps for S390 {
    type Detour = Detour;
    type BranchTargets = ();

    const MAX_OPTIMIZED_LEN: u64 = LEN as u64;

    fn make_detour(
        at: TextAddr,
        function: TextRange,
        _targets: &(),
        prepared: &ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<Detour, NoJump> {
        let bytes = TextRange::with_len(at, prepared.len.into())?;
        let may_fault = [at, prepared.next()]
            .iter()
            .any(|&at| metadata.may_fault(at));
        let insn = Insn::read(at, read)?;
        let reason = if usize::from(prepared.len) != LEN {
            Some(NoJumpReason::ShortInsn)
        } else if !matches!(prepared.run, Run::Copy) {
            Some(NoJumpReason::Emulated)
        } else if may_fault {
            Some(NoJumpReason::MayFault)
        } else if section::covers(function.start(), at, is_percpu_register, read)
            .map_err(|_| NoJumpReason::CannotDecode)?
        {
            Some(NoJumpReason::PerCpuSection)
        } else if !DETOURS.may_end_in_jump() {
            Some(NoJumpReason::DetoursWait)
        } else {
            None
        };
        let reason = reason.map(NoJump::from);
        match reason.or_else(|| metadata.reserved_by(bytes)) {
            Some(no) => Err(no),
            None => Ok(Detour::write(at, &insn, text_lock)?),
        }
    }

    fn set_chain(detour: &Detour, chain: Option<&Chain>) {
        detour.slot.set_chain(chain);
    }

    fn optimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock) {
        let parts: [Part; 2] = [(|detour| &detour.jump, TAIL), (|detour| &detour.jump, HEAD)];
        write_each(points, parts, text_lock);
    }

    fn unoptimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock) {
        let parts: [Part; 2] = [
            (|_| &BREAKPOINT, HEAD),
            (|detour| &detour.overwritten, TAIL),
        ];
        write_each(points, parts, text_lock);
    }

    fn disarms_jumps() -> bool {
        stops_cpus()
    }

    fn detour_origin(at: TextAddr, no_preempt: &PreemptOff) -> Option<(TextAddr, usize)> {
        let (place, offset) = DETOURS.first_word(at, no_preempt)?;
        let (passed, taken) = match offset {
            0 | COPIED => (0, 0),
            BACK => (LEN, 0),
            _ => (0, FRAME),
        };
        Some((TextAddr::new(place.wrapping_add(passed) as u64), taken))
    }

    fn is_jump(code: &[u8]) -> bool {
        code.starts_with(&[JUMP[0], JUMP[1]])
    }

    fn overwritten(detour: &Detour) -> &[u8] {
        &detour.overwritten
    }
}

/// The halfword that a breakpoint replaces, and the bytes after it.
const HEAD: Range<usize> = 0..BREAKPOINT.len();
const TAIL: Range<usize> = BREAKPOINT.len()..LEN;

/// The code of a point, and the bytes of it that are written.
type Part = (fn(&Detour) -> &[u8], Range<usize>);

/// Writes the parts of a jump, or of what replaces the jump, at each point, and returns when every
/// CPU sees that. If CPUs run meanwhile, each part is a change of its own: no CPU may have the tail
/// from before a change and the head from after it.
fn write_each(points: ForEachPoint<'_, S390>, parts: [Part; 2], text_lock: &mut text::Lock) {
    for parts in parts.chunks(if stops_cpus() { 2 } else { 1 }) {
        let write = |text_lock: &mut _| {
            points(&mut |at, _, detour| {
                for (code, part) in parts {
                    let code = code(detour).get(part.clone()).unwrap_or_default();
                    let at = TextAddr::new(at.get().wrapping_add(part.start as u64));
                    // SAFETY: The point is at an instruction of `LEN` bytes, and `change_text`
                    // calls this.
                    unsafe { poke(at, code, text_lock) };
                }
            });
        };
        S390::change_text(write, text_lock);
    }
}
