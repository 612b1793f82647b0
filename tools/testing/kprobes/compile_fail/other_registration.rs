// SPDX-License-Identifier: GPL-2.0

//! A handler of one kind in a registration of another.
//!
//! error[E0277]: `on_sleep` is no handler of an instruction
//! error[E0277]: `Nothing` is no handler of calls
//! error[E0277]: `Nothing` is no handler of calls and their ends
//! says: `EntryProbe` for an `EntryHandler` or a function with `#[kprobe]`
//! says: `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`

use kernel::kprobes::*;

#[kprobe(symbol = "msleep")]
fn on_sleep() {}

struct Nothing;

impl Handler for Nothing {
    type State = ();

    fn before((): &(), _: &Hit<'_>) {}
}

struct Mine {
    sleeps: EntryProbe<on_sleep>,
    nothing: Probe<Nothing>,
}

#[cfg(refused)]
struct Others {
    sleeps: Probe<on_sleep>,
    nothing: EntryProbe<Nothing>,
    ends: ReturnProbe<Nothing>,
}
