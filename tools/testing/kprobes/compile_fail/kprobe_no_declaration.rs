// SPDX-License-Identifier: GPL-2.0

//! Functions that are probed by their declarations, which `bindings` do not have.
//!
//! error[E0080]: evaluation panicked: `bindings` has no such function: say `symbol = "..."`
//! says: (it has what the headers in rust/bindings/bindings_helper.h declare)
//! says: #[kprobe(function = bindings::do_sys_openat2)]
//! says: #[kretprobe(function = kernel::bindings::do_sys_openat2)]

use kernel::{bindings, kprobes::*, prelude::*, uaccess::UserPtr};

#[cfg(not(refused))]
#[kprobe(function = bindings::filp_open)]
fn on_open(name: UserPtr, flags: c_int, mode: bindings::umode_t) {}

#[cfg(refused)]
#[kprobe(function = bindings::do_sys_openat2)]
fn on_open(dfd: c_int, name: UserPtr, how: *const bindings::open_how) {}

#[cfg(refused)]
struct Opens;

#[cfg(refused)]
#[kretprobe(function = kernel::bindings::do_sys_openat2)]
impl Opens {
    fn enter(dfd: c_int, name: UserPtr, how: *const bindings::open_how) {}

    fn leave(descriptor: c_int) {}
}
