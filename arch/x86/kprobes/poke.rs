// SPDX-License-Identifier: GPL-2.0

//! Text is written, perf is told, and every CPU sees it.

use crate::{
    model::addr::TextAddr,
    sys::text, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Changes one byte of text, which all CPUs see as before or as after.
pub(super) fn byte(at: TextAddr, before: u8, after: u8, _text: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    let (before, after) = (&raw const before, &raw const after);
    // SAFETY: Text that a breakpoint may be on, by who prepared it; one byte is changed at once.
    unsafe { bindings::text_poke(place, after.cast(), 1) };
    // SAFETY: One byte before, and one after.
    unsafe { bindings::perf_event_text_poke(place, before.cast(), 1, after.cast(), 1) };
}

/// Writes code that nobody runs yet.
pub(super) fn code(at: TextAddr, code: &[u8], _text: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    let (from, len) = (code.as_ptr(), code.len());
    // SAFETY: There was nothing, and so much is written now.
    unsafe { bindings::perf_event_text_poke(place, core::ptr::null(), 0, from.cast(), len) };
    // SAFETY: A slot that is ours alone, with room for that much.
    unsafe { bindings::text_poke(place, from.cast(), len) };
}

/// Tells perf that the code at `at` is no more, which is still there.
pub(super) fn forget(at: TextAddr, len: u8) {
    let place: *mut c_void = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    let (old, len) = (place.cast_const(), usize::from(len));
    // SAFETY: So much is in the slot, which is given back only after this.
    unsafe { bindings::perf_event_text_poke(place, old, len, core::ptr::null(), 0) };
}

/// Returns when every CPU has seen what was written, and none is still in a trap that began before.
pub(super) fn synchronize(_text: &mut text::Lock) {
    // SAFETY: The CPUs are read-locked, as the text is.
    unsafe { bindings::smp_text_poke_sync_each_cpu() };
}
