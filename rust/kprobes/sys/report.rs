// SPDX-License-Identifier: GPL-2.0

//! What is said of a client's mistake.

use super::{
    modules::Going,
    probe::Probe, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A probe is on the code that handles hits.
#[cold]
pub(crate) fn hopeless(probe: Option<&Probe>) {
    let probe = probe.map_or(core::ptr::null_mut(), Probe::as_c);
    // SAFETY: NULL or a registered probe. It does not return, but need not say so: objtool does
    // not know our functions that do not.
    unsafe { bindings::rust_kprobes_hopeless(probe) }
}

/// A call that nobody knows has returned to the trampoline.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn nowhere_to_return() {
    // SAFETY: Only says so and stops the kernel, as there is nowhere to go.
    unsafe { bindings::rust_kprobes_nowhere_to_return() }
}

/// A call is over before one that it has made.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn foreign_frame() {
    // SAFETY: Only says so, once.
    unsafe { bindings::rust_kprobes_foreign_frame() }
}

/// A module goes without having unregistered its probe.
pub(crate) fn forgotten(going: &Going, probe: &Probe) {
    // SAFETY: A module, and a registered probe.
    unsafe { bindings::rust_kprobes_forgotten(going.module.as_c(), probe.as_c()) };
}

/// A client registers a probe that is registered.
pub(crate) fn registered_twice() {
    // SAFETY: Only says so, once.
    unsafe { bindings::rust_kprobes_registered_twice() };
}

/// Ftrace refuses to call no more from where nobody wants it to.
pub(crate) fn still_called() {
    pr_warn!("ftrace could not be told that a place is not probed any more; no harm is done\n");
}
