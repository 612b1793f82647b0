// SPDX-License-Identifier: GPL-2.0

//! Handlers that nobody registers; and some that are, without what their attribute has made.
//!
//! error: enum `on_exit` is never used
//! error: enum `when_slept` is never used
//! error: struct `Calls` is never constructed
//! error: associated functions `enter` and `leave` are never used
//! says: fn on_exit() {}
//! says: fn when_slept() {}
//! says: struct Calls;

#![deny(dead_code)]

use kernel::{kprobes::*, prelude::*};

#[kprobe(symbol = "do_exit")]
fn on_exit() {}

#[cfg(refused)]
#[kretprobe(symbol = "msleep")]
fn when_slept() {}

struct Calls;

#[kretprobe(symbol = "kernel_clone")]
impl Calls {
    fn enter() -> u32 {
        1
    }

    fn leave(_: u32) {}
}

#[allow(dead_code)]
#[kprobe(symbol = "do_exit")]
fn may_be_unused() {}

#[kprobe(symbol = "msleep")]
pub(crate) fn elsewhere() {}

mod inner {
    #[kernel::kprobes::kretprobe(symbol = "msleep")]
    pub(super) fn at_return() {}
}

struct Timed;

#[kretprobe(symbol = "msleep")]
impl Timed {
    fn enter() -> u32 {
        1
    }

    fn leave(_: u32) {}
}

pub struct Registered {
    _one: EntryProbe<elsewhere>,
    _many: ReturnBatch<Timed>,
    _other: ReturnProbe<inner::at_return>,
}

pub fn registers(here: &ProcessContext) -> Result<Registered> {
    let places = [Place::symbol(c"msleep")];
    Ok(Registered {
        _one: EntryProbe::register(here, places[0], ())?,
        _many: ReturnBatch::register(here, &places, |_| ())?,
        _other: ReturnProbe::register(here, places[0], ())?,
    })
}

#[cfg(not(refused))]
pub fn registers_the_rest(
    here: &ProcessContext,
) -> Result<(EntryBatch<on_exit>, ReturnProbe<Calls>), BatchRefused> {
    Ok((
        EntryBatch::register(here, &[on_exit::PLACE], |_| ())?,
        Calls::register(here)?,
    ))
}
