// SPDX-License-Identifier: GPL-2.0

//! A function as a handler, with an argument of a type that no argument has.
//!
//! error[E0277]: no function of the kernel is given a `[u8; 4]` that could be read
//! says: fn on_wake_up(address: [u8; 4]) {
//! says: not the type of an argument

use kernel::kprobes::kprobe;

#[cfg(not(refused))]
#[kprobe(symbol = "wake_up_process")]
fn on_wake_up(address: *const u8) {
    let _ = address;
}

#[cfg(refused)]
#[kprobe(symbol = "wake_up_process")]
fn on_wake_up(address: [u8; 4]) {
    let _ = address;
}
