// SPDX-License-Identifier: GPL-2.0

//! Entries from C: the interface of jprobes. `jprobe_return()` is in `jprobes.c`.
//! `hit/jprobe.rs` handles the trap at its end.

use super::{
    register_all,
    unregister_all, //
};
use crate::{
    abi::{
        client_call,
        status, //
    },
    hit::jprobe,
    sys::prelude::*, //
};

client_call!(register_jprobe(*mut bindings::jprobe) -> c_int = register_all);
client_call!(register_jprobes(*mut *mut bindings::jprobe, c_int) -> c_int = register_all);
client_call!(unregister_jprobe(*mut bindings::jprobe) = unregister_all);
client_call!(unregister_jprobes(*mut *mut bindings::jprobe, c_int) = unregister_all);

/// Tells the hit path that the probe on a function's entry is a jprobe's: a hit with this pre
/// handler continues in the jprobe's handler. A hit by a jump cannot.
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

/// Returns the stack pointer at the function's entry if a jprobe's handler calls this, else zero.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_jprobe_stack() -> usize {
    jprobe::stack(&PreemptOff::new()).unwrap_or_default()
}
