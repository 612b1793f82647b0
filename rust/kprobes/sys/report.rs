// SPDX-License-Identifier: GPL-2.0

//! Messages and warnings about mistakes of clients.

use super::{
    modules::Going,
    probe::Probe, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A probe is on code that handles hits, so its hit would never end: stops the kernel.
#[cold]
pub(crate) fn unrecoverable(probe: Option<&Probe>) {
    let probe = probe.map_or(core::ptr::null_mut(), Probe::as_c);
    // SAFETY: The argument is NULL or a registered probe. The function does not return, but is not
    // declared so, as objtool does not know which of our functions do not return.
    unsafe { bindings::rust_kprobes_unrecoverable(probe) }
}

/// An unknown call has returned to the trampoline: stops the kernel.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn nowhere_to_return() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_nowhere_to_return() }
}

/// A call has returned before a call that it has made: warns once.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn foreign_frame() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_foreign_frame() }
}

/// A module goes without having unregistered its probe.
pub(crate) fn forgotten(going: &Going, probe: &Probe) {
    // SAFETY: The arguments are a module that is not gone yet, and a registered probe.
    unsafe { bindings::rust_kprobes_forgotten(going.module.as_c(), probe.as_c()) };
}

/// A client registers a probe that is registered: warns once.
pub(crate) fn registered_twice() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_registered_twice() };
}

/// Ftrace refuses to stop calling from an address without a probe.
pub(crate) fn still_called() {
    pr_warn!("ftrace could not be told that a place is not probed any more; no harm is done\n");
}
