// SPDX-License-Identifier: GPL-2.0

//! Functions as handlers whose arguments are others than those of what is probed, by its
//! declaration, or more, or not all of them.
//!
//! error[E0277]: the function has a `u32` where the handler has a `i32`
//! error[E0277]: the function has a `*const c_void` where the handler has a `*const u8`
//! says: fn on_sleep(milliseconds: c_int) {
//! says: fn on_free(memory: *const u8) {
//! says: `UserPtr` for any pointer
//! error: `function` compares all arguments: name them, or say `symbol = "usleep_range_state"`
//! says: fn on_first(least: c_ulong, _: ...) {
//! error[E0061]: this function takes 3 arguments but 1 argument was supplied
//! says: two arguments of type `usize` and `u32` are missing
//! says: pub fn usleep_range_state(min: ffi::c_ulong, max: ffi::c_ulong, state: ffi::c_uint);
//! error[E0061]: this function takes 1 argument but 2 arguments were supplied
//! says: unexpected argument #2
//! says: fn on_more(milliseconds: c_uint, more: c_uint) {

#![deny(unreachable_code)]

use kernel::{bindings, kprobes::*, prelude::*};

#[cfg(not(refused))]
#[kprobe(function = bindings::msleep)]
fn on_sleep(milliseconds: c_uint) {
    let _ = milliseconds;
}

// What must not be written through stands for what may.
#[cfg(not(refused))]
#[kprobe(function = bindings::wake_up_process)]
fn on_wake_up(task: *const bindings::task_struct) {
    let _ = task;
}

// Behind a function that does not return nothing is run, of which nobody need be told.
#[kprobe(function = bindings::do_exit)]
fn on_exit(code: c_long) {
    let _ = code;
}

#[cfg(refused)]
#[kprobe(function = bindings::msleep)]
fn on_sleep(milliseconds: c_int) {
    let _ = milliseconds;
}

#[cfg(refused)]
#[kprobe(function = bindings::kfree)]
fn on_free(memory: *const u8) {
    let _ = memory;
}

#[cfg(not(refused))]
#[kprobe(function = bindings::usleep_range_state)]
fn on_short_sleep(least: c_ulong, most: c_ulong, state: c_uint) {
    let _ = (least, most, state);
}

#[cfg(refused)]
#[kprobe(function = bindings::usleep_range_state)]
fn on_short_sleep(least: c_ulong) {
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
