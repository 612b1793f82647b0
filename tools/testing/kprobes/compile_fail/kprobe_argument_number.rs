// SPDX-License-Identifier: GPL-2.0

//! A function as a handler, which has not all arguments of what is probed, by its declaration.
//!
//! error: with `function` all arguments are compared: name them
//! says: fn on_first(least: c_ulong, _: ...) {
//! error[E0308]: mismatched types
//! says: incorrect number of function parameters
//! says: found fn item `unsafe extern "C" fn(usize, usize, u32) -> () {usleep_range_state}`

use kernel::{
    bindings,
    kprobes::kprobe,
    prelude::*, //
};

#[cfg(not(refused))]
#[kprobe(function = bindings::usleep_range_state)]
fn on_sleep(least: c_ulong, most: c_ulong, state: c_uint) {
    let _ = (least, most, state);
}

#[cfg(refused)]
#[kprobe(function = bindings::usleep_range_state)]
fn on_sleep(least: c_ulong) {
    let _ = least;
}

#[cfg(refused)]
#[kprobe(function = bindings::usleep_range_state)]
fn on_first(least: c_ulong, _: ...) {
    let _ = least;
}
