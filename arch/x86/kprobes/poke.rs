// SPDX-License-Identifier: GPL-2.0

//! Writes text, tells perf of it, and makes every CPU see it.

use crate::{
    prelude::*,
    sys::text, //
};
use core::ffi::c_void;
use kernel::bindings;

/// Changes one byte of text, atomically for all CPUs, and tells perf.
pub(super) fn byte(at: TextAddr, before: u8, after: u8, text: &mut text::Lock) {
    put(at, &[after], text);
    report(at, &[before], &[after]);
}

/// Changes text: one byte, atomically for all CPUs, or bytes that no CPU executes.
pub(super) fn put(at: TextAddr, code: &[u8], _text: &mut text::Lock) {
    let place = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    // SAFETY: `at` is a probed address, in the bytes that its jump overwrites, or a slot that the
    // caller owns and that has room for the code. All of these are text.
    unsafe { bindings::text_poke(place, code.as_ptr().cast(), code.len()) };
}

/// Tells perf that the text at `at` has changed.
pub(super) fn report(at: TextAddr, before: &[u8], after: &[u8]) {
    let place = core::ptr::with_exposed_provenance(at.get() as usize);
    let (old, new) = (before.as_ptr().cast(), after.as_ptr().cast());
    // SAFETY: Both slices have the length that is passed with them.
    unsafe { bindings::perf_event_text_poke(place, old, before.len(), new, after.len()) };
}

/// Writes code to a slot that no CPU executes yet, and tells perf.
pub(super) fn code(at: TextAddr, code: &[u8], text: &mut text::Lock) {
    report(at, &[], code);
    put(at, code, text);
}

/// Tells perf that the code of a slot is about to go.
pub(super) fn forget(at: TextAddr, len: u8) {
    let place: *mut c_void = core::ptr::with_exposed_provenance_mut(at.get() as usize);
    let (old, len) = (place.cast_const(), usize::from(len));
    // SAFETY: The slot is given back after this, and `len` is the length of its code.
    unsafe { bindings::perf_event_text_poke(place, old, len, core::ptr::null(), 0) };
}

/// Waits until every CPU sees the new text, and has left the traps that began before.
pub(super) fn synchronize(_text: &mut text::Lock) {
    // SAFETY: The text lock also holds the read lock of the CPUs.
    unsafe { bindings::smp_text_poke_sync_each_cpu() };
}
