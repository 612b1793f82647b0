// SPDX-License-Identifier: GPL-2.0

//! Where `plants.c` has the crate use memory that it has freed.

use super::status;
use crate::model::refusal::Refusal;
use kernel::{
    bindings,
    prelude::*, //
};

/// # Safety
///
/// `name` is a string that ends with NUL; `probe` is as for [`clients`].
#[export]
unsafe extern "C" fn rust_kprobes_plant(
    name: *const c_char,
    probe: *mut bindings::kprobe,
) -> c_int {
    let _ = (name, probe);
    status(Err(Refusal::NoTarget))
}
