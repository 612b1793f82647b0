// SPDX-License-Identifier: GPL-2.0

//! Replaces breakpoints by jumps to detours, and jumps by breakpoints.
//!
//! [`layout`] has the code of a detour, and `trampoline.S` the code that all detours share. This
//! file writes detours into slots, translates addresses in detours, and writes the jumps.
//!
//! A detour contains no address of a probe or a probe point. It has the address of a word of its
//! slot, which points to the probes; [`Slot::set_chain`] changes the word. The word is not freed
//! while a task is in the detour, which can be long after the probe point was removed. It points to
//! an empty list of probes then.
//!
//! The kernel's text poke batch writes the jumps. It replaces one whole instruction by another, so
//! it cannot restore the several instructions under a jump. This file restores them: it writes a
//! breakpoint over the first byte, sends an IPI to all CPUs, writes the other bytes, and sends
//! another IPI. The probe point keeps its breakpoint.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
mod tests;

use super::{
    isa::{
        branch_targets::{
            self,
            Branch,
            Indirect,
            Thunks, //
        },
        encode,
        layout::{
            self,
            InsnMap,
            Origin, //
        },
        region::Region,
        X86, //
    },
    poke,
    prepare::ArchInsn, //
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
        DETOURS,
        SLOT_LEN, //
    },
    sys::{
        blacklist,
        prelude::*,
        probe::Chain,
        sort,
        text, //
    }, //
};

const _: () = assert!(layout::MAX_LEN <= SLOT_LEN);

/// A detour.
pub(crate) struct Detour {
    slot: Slot,
    /// The jump to the detour.
    jump: [u8; encode::JUMP_LEN],
    /// The bytes that the jump overwrites.
    overwritten: [u8; encode::JUMP_LEN],
    /// The length of the detour.
    len: u8,
}

impl Detour {
    /// Writes the detour of a region into a slot. The detour calls no handler yet.
    fn write(region: &Region, text_lock: &mut text::Lock) -> Result<Self, NoJump> {
        let at = region.at();
        if !DETOURS.may_end_in_jump() {
            return Err(NoJump::from(NoJumpReason::DetoursWait));
        }
        let mut slot = DETOURS.take(at).map_err(|_| NoJumpReason::NoMemory)?;
        let word = slot.chain_word().ok_or(NoJumpReason::NoMemory)?;
        let common = (&raw const bindings::rust_kprobes_detour).addr() as u64;
        let code = layout::DetourWriter::of(region, slot.at(), word, TextAddr::new(common))?;
        let entry = slot.at().after(layout::ENTRY);
        let jump = layout::jump(at, entry.map_err(|_| NoJumpReason::TooFar.at(at))?)?;
        // The first word of the slot has the lower half of the probed address (the upper half is
        // all ones) and the lengths of the instructions.
        let lengths = u64::from(InsnMap::of(region).0);
        slot.set_first_word((at.get() & u64::from(u32::MAX) | lengths << u32::BITS) as usize);
        poke::write_slot(&mut slot, 0, &code, text_lock);
        slot.set_ends_in_jump();
        slot.set_chain(None);
        Ok(Self {
            slot,
            jump: *jump.bytes().first_chunk().ok_or(NoJumpReason::NearEnd)?,
            // A region covers the jump.
            overwritten: *region.bytes().first_chunk().ok_or(NoJumpReason::NearEnd)?,
            len: code.bytes().len() as u8,
        })
    }
}

impl Drop for Detour {
    /// Tells perf that the detour is freed. The field `slot` is dropped next, which gives the slot
    /// back (`rust/kprobes/slots.rs`).
    fn drop(&mut self) {
        poke::tell_perf_freed(&self.slot, 0, self.len.into());
    }
}

/// Returns where indirect jumps of `image` may lead, by the configuration of the kernel.
fn indirect(image: TextRange) -> Indirect {
    if cfg!(CONFIG_X86_KERNEL_IBT) {
        return Indirect::Endbr;
    }
    Indirect::Anywhere(cfg!(CONFIG_MITIGATION_RETPOLINE).then(|| thunks(image)))
}

/// The thunks of a kind: one for each register.
const REGISTERS: u64 = 16;

/// Returns the retpoline thunks, and the image whose jumps may lead to them.
fn thunks(image: TextRange) -> Thunks {
    macro_rules! kinds {
        ($($config:ident: [$len:ident] $array:ident,)*) => {
            [$({
                #[cfg($config)]
                let start = (&raw const bindings::$array).addr() as u64;
                // No text is there.
                #[cfg(not($config))]
                let start = 0;
                let len = REGISTERS * u64::from(bindings::$len);
                TextRange::with_len(TextAddr::new(start), len).unwrap_or(image)
            },)*]
        };
    }
    let images = [blacklist::core_text(), image];
    let kinds = kinds! {
        CONFIG_MITIGATION_RETPOLINE: [RETPOLINE_THUNK_SIZE] __x86_indirect_thunk_array,
        CONFIG_MITIGATION_CALL_DEPTH_TRACKING:
            [RETPOLINE_THUNK_SIZE] __x86_indirect_call_thunk_array,
        CONFIG_MITIGATION_CALL_DEPTH_TRACKING:
            [RETPOLINE_THUNK_SIZE] __x86_indirect_jump_thunk_array,
        CONFIG_MITIGATION_ITS: [ITS_THUNK_SIZE] __x86_indirect_its_thunk_array,
    };
    Thunks { images, kinds }
}

// SAFETY:
// - by the rules of `Region` only its own instructions lead into a region, and no task sleeps in
//   the region or in its detour;
// - both ways of changing text write a breakpoint first, whose hits continue in the detour, and end
//   with an IPI to all CPUs;
// - a detour's slot is marked as left by a jump.
unsafe impl Jumps for X86 {
    type Detour = Detour;
    /// In the order of their targets.
    type BranchTargets = KVVec<Branch>;

    const MAX_OPTIMIZED_LEN: u64 = encode::JUMP_LEN as u64;
    const OVERWRITES_SEVERAL: bool = true;

    fn branch_targets(
        function: TextRange,
        group: SplitGroup,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        _text_lock: &mut text::Lock,
    ) -> Result<KVVec<Branch>, NoJump> {
        let mut targets = KVVec::new();
        let indirect = indirect(metadata.image());
        branch_targets::branches_into(function, group, indirect, metadata, read, &mut |branch| {
            let pushed = targets.push(branch, GFP_KERNEL);
            pushed.map_err(|_| NoJumpReason::NoMemory.into())
        })?;
        sort::ascending(&mut targets);
        Ok(targets)
    }

    fn make_detour(
        at: TextAddr,
        function: TextRange,
        targets: &KVVec<Branch>,
        _prepared: &ArchInsn,
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
        text_lock: &mut text::Lock,
    ) -> Result<Detour, NoJump> {
        Detour::write(
            &Region::find(at, function, targets, metadata, read)?,
            text_lock,
        )
    }

    fn branches_out_of(
        piece: TextRange,
        image: TextRange,
        read: ReadText<'_>,
        found: &mut dyn FnMut(TextAddr) -> Result<(), NoJump>,
        _text_lock: &mut text::Lock,
    ) -> Result<bool, NoJump> {
        branch_targets::branches_out_of(piece, indirect(image), read, found)
    }

    fn set_chain(detour: &Detour, chain: Option<&Chain>) {
        detour.slot.set_chain(chain);
    }

    fn redirect(prepared: &ArchInsn, detour: Option<&Detour>) {
        let copied = detour.and_then(|detour| detour.slot.at().after(layout::COPIED).ok());
        prepared.redirect(copied);
    }

    fn optimize(points: ForEachPoint<'_, Self>, _text_lock: &mut text::Lock) {
        points(&mut |at, _, detour| {
            let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
            let (from, len) = (detour.jump.as_ptr().cast(), detour.jump.len());
            // SAFETY: `text_mutex` is locked; the jump is one instruction, and `at` is a probe
            // point whose region was checked.
            unsafe { bindings::smp_text_poke_batch_add(place, from, len, core::ptr::null()) };
        });
        // SAFETY: `text_mutex` is locked.
        unsafe { bindings::smp_text_poke_batch_finish() };
    }

    fn unoptimize(points: ForEachPoint<'_, Self>, text_lock: &mut text::Lock) {
        let mut any = false;
        points(&mut |at, _, _| {
            // SAFETY: The point has a jump, whose first byte is at `at`.
            unsafe { poke::write(at, &[encode::INT3], text_lock) };
            any = true;
        });
        if !any {
            return;
        }
        poke::synchronize(text_lock);
        points(&mut |at, _, detour| restore(at, detour, text_lock));
        poke::synchronize(text_lock);
    }

    fn detour_origin(at: TextAddr, no_preempt: &PreemptOff) -> Option<(TextAddr, usize)> {
        let (noted, offset) = DETOURS.first_word(at, no_preempt)?;
        let place = i64::from(noted as u32 as i32) as u64;
        let map = InsnMap((noted as u64 >> u32::BITS) as u32);
        let (to, pushed) = match map.origin(offset)? {
            Origin::Region(here, pushed) => (TextAddr::new(place.wrapping_add(here)), pushed),
            Origin::Callee(jump) => {
                let jump = at.get().wrapping_sub(offset).wrapping_add(jump);
                // SAFETY: The jump is in the detour that has `at`, and RCU keeps its page.
                (unsafe { target(TextAddr::new(jump)) }, 0)
            }
        };
        Some((to, pushed as usize))
    }

    fn is_jump(code: &[u8]) -> bool {
        code.first() == Some(&encode::JMP32)
    }

    fn overwritten(detour: &Detour) -> &[u8] {
        &detour.overwritten
    }
}

/// Restores the bytes after the breakpoint at `at`, after all CPUs were synchronized.
fn restore(at: TextAddr, detour: &Detour, text_lock: &mut text::Lock) {
    let [_, tail @ ..] = &detour.overwritten;
    let after = TextAddr::new(at.get().wrapping_add(1));
    // SAFETY: The bytes are the tail of a jump whose first byte is a breakpoint.
    unsafe { poke::write(after, tail, text_lock) };
    let mut now = detour.overwritten;
    now[0] = encode::INT3;
    poke::tell_perf(at, &detour.jump, &now);
}

/// Returns the target of a jump in a detour.
///
/// # Safety
///
/// `jump` is the address of a jump in a page of slots, which is not freed meanwhile.
unsafe fn target(jump: TextAddr) -> TextAddr {
    let end = jump.get().wrapping_add(encode::JUMP_LEN as u64);
    let word = end.wrapping_sub(size_of::<i32>() as u64);
    let word = core::ptr::with_exposed_provenance::<[u8; 4]>(word as usize);
    // SAFETY: By the precondition the number can be read. It has no alignment, so it is read as
    // bytes. The reads are volatile: a writer may change it meanwhile, and the target is wrong
    // then.
    let distance = i32::from_le_bytes(unsafe { word.read_volatile() });
    TextAddr::new(end.wrapping_add_signed(distance.into()))
}
