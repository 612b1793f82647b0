// SPDX-License-Identifier: GPL-2.0

//! The files in debugfs, whose descriptions `abi.c` has: what shows one, and what the switch does.

use super::status;
use crate::{
    core::enable,
    sys::seq::Seq,
    view, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// # Safety
///
/// `file` is being shown.
#[export]
unsafe extern "C" fn rust_kprobes_list_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    status(view::list(&unsafe { Seq::from_c(file) }))
}

/// # Safety
///
/// `file` is being shown.
#[export]
unsafe extern "C" fn rust_kprobes_enabled_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    view::enabled(&unsafe { Seq::from_c(file) });
    0
}

/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_enable_all(on: bool) -> c_int {
    status(enable::all(on))
}

/// # Safety
///
/// `file` is being shown.
#[export]
unsafe extern "C" fn rust_kprobes_blacklist_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    view::blacklist(&unsafe { Seq::from_c(file) });
    0
}

/// # Safety
///
/// `file` is being shown.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
#[export]
unsafe extern "C" fn rust_kprobes_unoptimized_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    status(view::unoptimized(&unsafe { Seq::from_c(file) }))
}

/// # Safety
///
/// `file` is being shown.
#[export]
unsafe extern "C" fn rust_kprobes_refused_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    view::refused(&unsafe { Seq::from_c(file) });
    0
}

/// # Safety
///
/// `file` is being shown.
#[export]
unsafe extern "C" fn rust_kprobes_counters_show(
    file: *mut bindings::seq_file,
    _unused: *mut c_void,
) -> c_int {
    // SAFETY: By the precondition.
    view::counters(&unsafe { Seq::from_c(file) });
    0
}
