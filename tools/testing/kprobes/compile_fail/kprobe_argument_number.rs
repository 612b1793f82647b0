// SPDX-License-Identifier: GPL-2.0

//! Functions as handlers, which have not all arguments of what is probed, by its declaration, or
//! more than that has.
//!
//! error: `function` compares all arguments: name them, or say `symbol = "usleep_range_state"`
//! says: fn on_first(least: c_ulong, _: ...) {
//! error[E0061]: this function takes 3 arguments but 1 argument was supplied
//! says: two arguments of type `usize` and `u32` are missing
//! says: pub fn usleep_range_state(min: ffi::c_ulong, max: ffi::c_ulong, state: ffi::c_uint);
//! error[E0061]: this function takes 1 argument but 2 arguments were supplied
//! says: unexpected argument #2
//! says: fn on_more(milliseconds: c_uint, more: c_uint) {

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

#[cfg(not(refused))]
#[kprobe(function = bindings::msleep)]
fn on_more(milliseconds: c_uint) {
    let _ = milliseconds;
}

#[cfg(refused)]
#[kprobe(function = bindings::msleep)]
fn on_more(milliseconds: c_uint, more: c_uint) {
    let _ = (milliseconds, more);
}
