// SPDX-License-Identifier: GPL-2.0

//! Detours, which jumps that replace breakpoints lead to.
//!
//! [`layout`] has the code of a detour, `trampoline.S` the part that all share, and `jump.rs`
//! writes the jumps. This file puts detours into slots, and translates addresses in them.
//!
//! A detour names no probe and no place. It names a word of its slot, which leads to its probes and
//! which [`Slot::set_owner`] changes. The word stays as long as any task is in the detour, which
//! can be long after the probe point has gone: then it leads to no probe.
//!
//! C counterpart: [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

use super::{
    isa::{
        encode,
        layout::{
            self,
            InsnMap,
            Origin, //
        },
        region::Region, //
    },
    poke, //
};
use crate::{
    prelude::*,
    slots::{
        Slot,
        DETOURS,
        SLOT_LEN, //
    },
    sys::{
        preempt::Pinned,
        text, //
    }, //
};
use kernel::bindings;

const _: () = assert!(layout::MAX_LEN <= SLOT_LEN);

/// Bytes that a jump overwrites.
pub(super) const JUMP_LEN: usize = encode::REL32_LEN as usize;

/// A detour.
pub(crate) struct OptInsn {
    pub(super) slot: Slot,
    /// The bytes that the jump overwrites.
    under: [u8; JUMP_LEN],
    /// The length of the detour.
    len: u8,
}

impl OptInsn {
    /// Writes the detour of a region. It calls no handler yet.
    pub(super) fn of(region: &Region, text: &mut text::Lock) -> Result<Self, NotOptimized> {
        let at = region.at();
        if !DETOURS.may_linger() {
            return Err(NotOptimized::from(Reason::DetoursWait));
        }
        let mut slot = DETOURS.take(at).map_err(|_| Reason::NoMemory)?;
        let word = slot.owner().ok_or(Reason::NoMemory)?;
        let word = core::ptr::from_ref(word).expose_provenance() as u64;
        let code = layout::Detour::of(region, slot.at(), word, common())?;
        slot.set_origin(note(at, InsnMap::of(region)));
        poke::code(slot.at(), code.bytes(), text);
        slot.linger();
        let mut under = [0; JUMP_LEN];
        for (to, &from) in under.iter_mut().zip(region.bytes()) {
            *to = from;
        }
        let made = Self {
            slot,
            under,
            len: code.bytes().len() as u8,
        };
        made.slot.set_owner(None);
        Ok(made)
    }

    /// The address of the detour.
    #[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
    pub(super) fn at(&self) -> TextAddr {
        self.slot.at()
    }

    /// The bytes that the jump overwrites.
    pub(super) fn under(&self) -> &[u8; JUMP_LEN] {
        &self.under
    }

    /// The jump from `at` to the detour.
    pub(super) fn jump(&self, at: TextAddr) -> Result<Code, NotOptimized> {
        let entry = self.slot.at().after(layout::ENTRY);
        layout::jump(at, entry.map_err(|_| Reason::TooFar.at(at))?)
    }

    /// The address of the copied instructions.
    pub(super) fn copied(&self) -> Option<TextAddr> {
        self.slot.at().after(layout::COPIED).ok()
    }
}

impl Drop for OptInsn {
    /// Tells perf that the detour is gone.
    fn drop(&mut self) {
        poke::forget(self.slot.at(), self.len);
    }
}

/// The code that all detours share.
fn common() -> TextAddr {
    TextAddr::new((&raw const bindings::rust_kprobes_detour).addr() as u64)
}

/// The first word of a detour's slot: the lower half of the probed address, whose upper half is all
/// ones, and the lengths of the instructions.
fn note(at: TextAddr, map: InsnMap) -> usize {
    let place = at.get() & u64::from(u32::MAX);
    (place | u64::from(map.bits()) << u32::BITS) as usize
}

/// If `at` is in a detour, returns the address in the original, and how many bytes are on the stack
/// that are not there in the original.
pub(super) fn original(at: TextAddr, pinned: &Pinned) -> Option<(TextAddr, usize)> {
    let (noted, into) = DETOURS.origin(at, pinned)?;
    let place = i64::from(noted as u32 as i32) as u64;
    let map = InsnMap::from_bits((noted as u64 >> u32::BITS) as u32);
    match map.origin(into)? {
        Origin::Region(here, pushed) => {
            Some((TextAddr::new(place.wrapping_add(here)), pushed as usize))
        }
        Origin::Callee(jump) => {
            let jump = at.get().wrapping_sub(into).wrapping_add(jump);
            Some((target(TextAddr::new(jump)), 0))
        }
    }
}

/// The target of a jump in a detour.
fn target(jump: TextAddr) -> TextAddr {
    let behind = jump.get().wrapping_add(JUMP_LEN as u64);
    let word = behind.wrapping_sub(size_of::<i32>() as u64);
    let word = core::ptr::with_exposed_provenance::<i32>(word as usize);
    // SAFETY: The jump is in a page of slots that was found under RCU, which preemption off keeps.
    // A writer may change the number meanwhile, which makes the target a wrong one.
    let distance = unsafe { word.read_unaligned() };
    TextAddr::new(behind.wrapping_add_signed(distance.into()))
}
