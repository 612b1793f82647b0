// SPDX-License-Identifier: GPL-2.0

//! EDGE: the interface of jprobes to C. `jprobe_return()` is in `jprobes.c`, and the trap that it
//! ends in is the back end's.

use super::{
    batch,
    Client, //
};
use crate::{
    abi::{
        number,
        status, //
    },
    core::unregister,
    hit::jprobe,
    registry::prelude::*,
    sys::jprobe::Jprobe, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The jprobes that a client passes.
///
/// # Safety
///
/// `array` is NULL or has `count` pointers, each NULL or as [`Jprobe::from_c`] wants it.
unsafe fn clients<'a>(
    array: *const *mut bindings::jprobe,
    count: c_int,
) -> Result<&'a [Client], Refusal> {
    let count = number(array, count)?;
    // SAFETY: Not NULL, and the rest by the precondition.
    Ok(unsafe { Jprobe::from_c(array, count) })
}

/// # Safety
///
/// As for [`clients`], with one pointer.
#[export]
unsafe extern "C" fn register_jprobe(jp: *mut bindings::jprobe) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { clients(&jp, 1) }.and_then(batch))
}

/// # Safety
///
/// As for [`clients`].
#[export]
unsafe extern "C" fn register_jprobes(jps: *mut *mut bindings::jprobe, num: c_int) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { clients(jps, num) }.and_then(batch))
}

/// # Safety
///
/// As for [`clients`], with one pointer.
#[export]
unsafe extern "C" fn unregister_jprobe(jp: *mut bindings::jprobe) {
    // SAFETY: By the precondition.
    unsafe { unregister_jprobes(&mut { jp }, 1) };
}

/// # Safety
///
/// As for [`clients`].
#[export]
unsafe extern "C" fn unregister_jprobes(jps: *mut *mut bindings::jprobe, num: c_int) {
    // Nothing to unregister is no mistake that C tells.
    // SAFETY: By the precondition.
    let clients = unsafe { clients(jps, num) };
    let _ = clients.map(|clients| unregister::batch(Jprobe::entries(clients)));
}

/// The pre handler of the probe on a jprobe's entry. A hit recognises a jprobe by this handler, and
/// continues in the jprobe's handler. A hit by a jump cannot.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_jprobe_hit(
    _p: *mut bindings::kprobe,
    _regs: *mut bindings::pt_regs,
) -> c_int {
    1
}

/// The stack pointer at the entry of the jprobe's handler that calls this, or zero.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_jprobe_stack() -> usize {
    jprobe::stack(&Pinned::new()).unwrap_or_default()
}
