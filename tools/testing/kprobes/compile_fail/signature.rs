// SPDX-License-Identifier: GPL-2.0

//! Functions as handlers whose arguments are others than those of what is probed, by its
//! declaration, or more, or not all of them; a value that the function does not return, and what
//! is kept for a call that comes back as something else; a function that returns a structure.
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
//! error[E0277]: the function returns a structure, whose address may come before its arguments
//! says: #[kprobe(function = bindings::ns_to_timespec64)]
//! error[E0308]: mismatched types
//! error[E0277]: the function has a `i32` where the handler has a `i64`
//! says: expected `u32`, found `u64`
//! says: fn leave(value: i64) {

#![deny(unreachable_code)]

use kernel::{bindings, kprobes::*, prelude::*};

#[cfg(not(refused))]
#[kprobe(function = bindings::msleep)]
fn on_sleep(milliseconds: c_uint) {}

// What must not be written through stands for what may.
#[cfg(not(refused))]
#[kprobe(function = bindings::wake_up_process)]
fn on_wake_up(task: *const bindings::task_struct) {}

// Behind a function that does not return nothing is run, of which nobody need be told.
#[kprobe(function = bindings::do_exit)]
fn on_exit(code: c_long) {}

#[cfg(refused)]
#[kprobe(function = bindings::msleep)]
fn on_sleep(milliseconds: c_int) {}

#[cfg(refused)]
#[kprobe(function = bindings::kfree)]
fn on_free(memory: *const u8) {}

#[cfg(not(refused))]
#[kprobe(function = bindings::usleep_range_state)]
fn on_short_sleep(least: c_ulong, most: c_ulong, state: c_uint) {}

#[cfg(refused)]
#[kprobe(function = bindings::usleep_range_state)]
fn on_short_sleep(least: c_ulong) {}

#[cfg(refused)]
#[kprobe(function = bindings::usleep_range_state)]
fn on_first(least: c_ulong, _: ...) {}

#[cfg(not(refused))]
#[kprobe(function = bindings::msleep)]
fn on_more(milliseconds: c_uint) {}

#[cfg(refused)]
#[kprobe(function = bindings::msleep)]
fn on_more(milliseconds: c_uint, more: c_uint) {}

#[cfg(refused)]
#[kprobe(function = bindings::ns_to_timespec64)]
fn on_split(nanoseconds: i64) {}

#[cfg(not(refused))]
type Back = u64;
#[cfg(refused)]
type Back = u32;

struct Keeps;

#[kretprobe(symbol = "wake_up_process")]
impl Keeps {
    fn enter() -> u64 {
        1
    }

    fn leave(kept: Back) {}
}

struct Compared;

#[cfg(not(refused))]
#[kretprobe(function = bindings::wake_up_process)]
impl Compared {
    fn enter(task: *mut bindings::task_struct) {}

    fn leave(value: i32) {}
}

#[cfg(refused)]
#[kretprobe(function = bindings::wake_up_process)]
impl Compared {
    fn enter(task: *mut bindings::task_struct) {}

    fn leave(value: i64) {}
}
