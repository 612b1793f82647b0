// SPDX-License-Identifier: GPL-2.0

//! Messages about mistakes of clients, refusals of ftrace and states that cannot occur.

use super::{
    modules::FreedMemory,
    probe::Probe, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Stops the kernel: a probe is on code that handles hits, or was hit in an NMI in a nested step.
#[cold]
pub(crate) fn unrecoverable(probe: Option<&Probe>) {
    let probe = probe.map_or(core::ptr::null_mut(), Probe::as_c);
    // SAFETY: The argument is NULL or a registered probe. The function does not return. It is not
    // declared so, as objtool does not know which of our functions do not return.
    unsafe { bindings::rust_kprobes_unrecoverable(probe) }
}

/// Stops the kernel: an unknown call has returned to the trampoline.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn no_return_address() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_no_return_address() }
}

/// Warns once: a call has returned before a call that it has made.
#[cfg(CONFIG_KRETPROBES)]
#[cold]
pub(crate) fn frame_mismatch() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_frame_mismatch() }
}

/// Warns that memory of a module is freed that a registered probe or its handlers are in.
pub(crate) fn forgotten(freed: &FreedMemory, probe: &Probe) {
    // SAFETY: The arguments are a module that is not freed yet, and a registered probe.
    unsafe {
        bindings::rust_kprobes_forgotten(freed.module.as_c(), freed.init_only, probe.as_c());
    }
}

/// Warns once: a client registers a probe that is registered.
pub(crate) fn registered_twice() {
    // SAFETY: The function may be called from any context.
    unsafe { bindings::rust_kprobes_registered_twice() };
}

/// Warns that ftrace refuses to stop calling from an address without a probe.
pub(crate) fn still_called() {
    pr_warn!("ftrace still calls from an address without a probe; the calls do nothing\n");
}
