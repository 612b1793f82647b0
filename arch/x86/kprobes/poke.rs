// SPDX-License-Identifier: GPL-2.0

//! Text is written, perf is told, and every CPU sees it.

use crate::{
    prelude::*,
    sys::text, //
};
use core::ffi::c_void;
use kernel::bindings;

/// Changes one byte of text, which all CPUs see as before or as after.
pub(super) fn byte(at: TextAddr, before: u8, after: u8, text: &mut text::Lock) {
    put(at, &[after], text);
    tell(at, &[before], &[after]);
}

/// Changes text: one byte, which all CPUs see as before or as after, or what no CPU comes to.
pub(super) fn put(at: TextAddr, code: &[u8], _text: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    // SAFETY: Text that a breakpoint or a jump may be on, by who prepared it.
    unsafe { bindings::text_poke(place, code.as_ptr().cast(), code.len()) };
}

/// Tells perf that the text at `at` has changed.
pub(super) fn tell(at: TextAddr, before: &[u8], after: &[u8]) {
    let place = core::ptr::with_exposed_provenance(at.get() as usize);
    let (old, new) = (before.as_ptr().cast(), after.as_ptr().cast());
    // SAFETY: So many bytes there were, and are.
    unsafe { bindings::perf_event_text_poke(place, old, before.len(), new, after.len()) };
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
