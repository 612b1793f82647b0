// SPDX-License-Identifier: GPL-2.0

//! What is kept for a call comes back as something else, and a value that the function does not
//! return.
//!
//! error[E0308]: mismatched types
//! error[E0277]: the function has a `i32` where the handler has a `i64`
//! says: expected `u32`, found `u64`
//! says: fn leave(value: i64) {

use kernel::{bindings, kprobes::*};

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

    fn leave(kept: Back) {
        let _ = kept;
    }
}

struct Compared;

#[cfg(not(refused))]
#[kretprobe(function = bindings::wake_up_process)]
impl Compared {
    fn enter(task: *mut bindings::task_struct) {
        let _ = task;
    }

    fn leave(value: i32) {
        let _ = value;
    }
}

#[cfg(refused)]
#[kretprobe(function = bindings::wake_up_process)]
impl Compared {
    fn enter(task: *mut bindings::task_struct) {
        let _ = task;
    }

    fn leave(value: i64) {
        let _ = value;
    }
}
