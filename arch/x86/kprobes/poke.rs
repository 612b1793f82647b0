// SPDX-License-Identifier: GPL-2.0

//! Writes text, tells perf of it, and makes every CPU see it.

use crate::{
    prelude::*,
    slots::{
        Slot,
        SLOT_LEN, //
    },
    sys::text, //
};
use core::ffi::c_void;
use kernel::bindings;

/// Changes text: one byte, atomically for all CPUs, or bytes that no CPU executes.
///
/// # Safety
///
/// The bytes are those of a probed instruction, of the jump in its place, or of a slot. They stay
/// while the text is locked.
pub(super) unsafe fn write(at: TextAddr, code: &[u8], _text_lock: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    // SAFETY: The bytes are text, by the precondition, and `text_mutex` is locked.
    unsafe { bindings::text_poke(place, code.as_ptr().cast(), code.len()) };
}

/// Tells perf that the text at `at` has changed.
pub(super) fn tell_perf(at: TextAddr, before: &[u8], after: &[u8]) {
    let place = core::ptr::with_exposed_provenance(at.get() as usize);
    let (old, new) = (before.as_ptr().cast(), after.as_ptr().cast());
    // SAFETY: Both slices have the length that is passed with them.
    unsafe { bindings::perf_event_text_poke(place, old, before.len(), new, after.len()) };
}

/// Writes code to a slot that no CPU executes yet, `offset` bytes from its start, and tells perf.
pub(super) fn write_slot(slot: &mut Slot, offset: usize, code: &Code, text_lock: &mut text::Lock) {
    let at = TextAddr::new(slot.at().get().wrapping_add(offset as u64));
    // No code is longer than the part of the slot from `offset` on. If it were, it would be cut.
    let room = SLOT_LEN.saturating_sub(offset).min(code.bytes().len());
    let code = code.bytes().get(..room).unwrap_or_default();
    tell_perf(at, &[], code);
    // SAFETY: The bytes are in the slot, which is the caller's.
    unsafe { write(at, code, text_lock) };
}

/// Tells perf that `len` bytes of a slot's code, `offset` bytes from its start, will be freed.
pub(super) fn tell_perf_freed(slot: &Slot, offset: usize, len: usize) {
    let at = (slot.at().get() as usize).wrapping_add(offset);
    let place: *mut c_void = core::ptr::with_exposed_provenance_mut(at);
    let (old, len) = (place.cast_const(), len.min(SLOT_LEN.saturating_sub(offset)));
    // SAFETY: The bytes are in the slot, which is given back after this.
    unsafe { bindings::perf_event_text_poke(place, old, len, core::ptr::null(), 0) };
}

/// Waits until every CPU sees the new text, and has left the traps that began before.
pub(super) fn synchronize(_text_lock: &mut text::Lock) {
    // SAFETY: The text lock also holds the read lock of the CPUs.
    unsafe { bindings::smp_text_poke_sync_each_cpu() };
}
