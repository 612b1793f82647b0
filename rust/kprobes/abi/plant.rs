// SPDX-License-Identifier: GPL-2.0

//! Where `plants.c` has the crate use memory that it has freed.

use super::{
    clients,
    status, //
};
use crate::{
    life::{
        enable,
        site, //
    },
    model::refusal::Refusal,
    sys::{
        slots,
        table, //
    },
};
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
    // SAFETY: By the precondition.
    let name = unsafe { CStr::from_char_ptr(name) };
    // SAFETY: By the precondition.
    let clients = unsafe { clients(&probe, 1) };
    status(match name.to_bytes() {
        b"table_array" => table::plant::array(),
        b"table_node" => table::plant::node(),
        b"slot_owner" => slots::plant::owner(),
        b"probe" => clients.and_then(|clients| enable::each(clients, site::plant::probe)),
        _ => Err(Refusal::NoTarget),
    })
}
