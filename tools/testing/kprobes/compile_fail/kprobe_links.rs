// SPDX-License-Identifier: GPL-2.0

//! Handlers that are to be where they do not stay, or under a name.
//!
//! error: a handler is called by kprobes alone, from where it is: leave this out
//! says: #[link_section = ".init.text"]
//! says: #[no_mangle]
//! says: #[export_name = "on_end"]

use kernel::kprobes::{
    kprobe,
    kretprobe, //
};

#[kprobe(symbol = "msleep")]
fn on_sleep() {}

#[cfg(refused)]
#[kprobe(symbol = "msleep")]
#[link_section = ".init.text"]
fn is_at_the_beginning() {}

#[cfg(refused)]
#[kretprobe(symbol = "msleep")]
#[no_mangle]
fn has_a_name() {}

#[cfg(refused)]
struct Both;

#[cfg(refused)]
#[kretprobe(symbol = "msleep")]
impl Both {
    fn enter() -> u32 {
        1
    }

    #[export_name = "on_end"]
    fn leave(_: u32) {}
}
