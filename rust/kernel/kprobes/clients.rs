// SPDX-License-Identifier: GPL-2.0

//! The list of all registrations, and the handling of a probe that could not be unregistered.
//!
//! The list is in `rust/kprobes_clients.c`, which checks it when a module is unloaded.

use crate::bindings;

/// Adds a client to the list.
///
/// # Safety
///
/// The client is registered and initialized, is in no list, and is not freed before [`remove`].
//
// Not inlined into modules, here and below: the C functions are not exported.
#[inline(never)]
pub(super) unsafe fn add(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: The precondition is the same.
    unsafe { bindings::rust_kprobes_client_add(client) };
}

/// Removes a client from the list. Returns false if its module was unloaded, which unregistered it.
///
/// # Safety
///
/// [`add`] has added the client to the list.
#[inline(never)]
pub(super) unsafe fn remove(client: *mut bindings::rust_kprobes_client) -> bool {
    // SAFETY: The precondition is the same.
    unsafe { bindings::rust_kprobes_client_remove(client) }
}

/// Warns that a probe was dropped where the caller may not sleep.
///
/// # Safety
///
/// [`add`] has added the client to the list, and it is still in the list.
#[inline(never)]
pub(super) unsafe fn say_abandoned(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: The precondition is the same.
    unsafe { bindings::rust_kprobes_client_abandoned(client) };
}

/// Waits for handlers on idle CPUs, which a grace period does not wait for.
#[cfg(not(CONFIG_ARCH_WANTS_NO_INSTR))]
#[inline(never)]
pub(super) fn wait_for_idle() {
    // SAFETY: The callers unregister a probe, so they may sleep.
    unsafe { bindings::rust_kprobes_wait_for_idle() };
}

/// Does nothing: where RCU does not watch, this architecture has no code that can be probed.
#[cfg(CONFIG_ARCH_WANTS_NO_INSTR)]
pub(super) fn wait_for_idle() {}

/// Warns that C could not unregister a probe, and replaces its handlers. Its memory leaks.
///
/// # Safety
///
/// The client is initialized, C was told to unregister it, and its memory is not freed.
#[inline(never)]
pub(super) unsafe fn neutralize(client: *mut bindings::rust_kprobes_client) {
    // SAFETY: The precondition is the same.
    unsafe { bindings::rust_kprobes_client_neutralize(client) };
}
