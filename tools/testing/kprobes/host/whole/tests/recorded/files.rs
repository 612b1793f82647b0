// SPDX-License-Identifier: GPL-2.0

//! What the files say that the kernel shows.

use crate::prelude::*;

pub(crate) fn list() -> String {
    said(kernel::bindings::RUST_KPROBES_LIST)
}

pub(crate) fn refused() -> String {
    said(kernel::bindings::RUST_KPROBES_REFUSED)
}

fn said(which: core::ffi::c_uint) -> String {
    let (mut text, mut len) = (core::ptr::null_mut(), 0);
    // SAFETY: Two places that stay until the file is closed.
    let file = unsafe { libc::open_memstream(&mut text, &mut len) };
    // SAFETY: A file of the host's, which is open.
    let status = unsafe { c::rust_kprobes_show(file.cast(), which) };
    assert_eq!(status, 0);
    // SAFETY: As above; it is used no more.
    assert_eq!(unsafe { libc::fclose(file) }, 0);
    // SAFETY: So much was written, and it stays.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into()
}
