// SPDX-License-Identifier: GPL-2.0

//! A function as a handler, whose argument is another one than that of what is probed, by its
//! declaration.
//!
//! error[E0277]: the function has a `u32` where the handler has a `i32`
//! error[E0277]: the function has a `*const c_void` where the handler has a `*const u8`
//! says: fn on_sleep(milliseconds: c_int) {
//! says: fn on_free(memory: *const u8) {
//! says: `UserPtr` for any pointer

#![deny(unreachable_code)]

use kernel::{
    bindings,
    kprobes::kprobe,
    prelude::*, //
};

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
