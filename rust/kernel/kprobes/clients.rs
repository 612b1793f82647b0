// SPDX-License-Identifier: GPL-2.0

//! The list of what is registered, and what becomes of a probe that could not be unregistered.
//!
//! The list is C's, in `rust/kprobes_clients.c`: it is looked at when a module goes.

use crate::bindings;

/// Puts a client into the list.
///
/// # Safety
///
/// It is initialized, in no list, and stays until [`goes`] was called; what it says is registered.
//
// Here and below, not for modules to inline: what is called is not exported.
#[inline(never)]
pub(super) unsafe fn comes(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: By the precondition.
    unsafe { bindings::rust_kprobes_client_comes(client) };
}

/// Takes a client out of the list. False: its module has gone, and it was unregistered then.
///
/// # Safety
///
/// It was put into the list by [`comes`].
#[inline(never)]
pub(super) unsafe fn goes(client: *mut bindings::rust_kprobes_client) -> bool {
    // SAFETY: By the precondition.
    unsafe { bindings::rust_kprobes_client_goes(client) }
}

/// Warns that a probe was dropped where one may not wait.
///
/// # Safety
///
/// It was put into the list by [`comes`], and is there.
#[inline(never)]
pub(super) unsafe fn say_abandoned(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: By the precondition.
    unsafe { bindings::rust_kprobes_client_abandoned(client) };
}

/// Waits for handlers that a grace period does not wait for, on CPUs that are idle.
#[cfg(CONFIG_ARM)]
#[inline(never)]
pub(super) fn wait_for_idle() {
    // SAFETY: Who unregisters a probe may wait.
    unsafe { bindings::rust_kprobes_wait_for_idle() };
}

/// There are none elsewhere.
#[cfg(not(CONFIG_ARM))]
pub(super) fn wait_for_idle() {}

/// Says that C could not unregister a probe, and has it call nobody any more. Its memory is left.
///
/// # Safety
///
/// It is initialized, C was told to unregister it, and its memory stays.
#[inline(never)]
pub(super) unsafe fn say_stuck(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: By the precondition.
    unsafe { bindings::rust_kprobes_client_stuck(client) };
}
