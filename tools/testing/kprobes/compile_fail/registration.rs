// SPDX-License-Identifier: GPL-2.0

//! A handler of one kind in a registration of another. And in a handler there is no process
//! context to register a probe or to switch one off with, and none can be kept in a state for it.
//!
//! error[E0277]: `on_sleep` is no handler of an instruction
//! error[E0277]: `Keeps` is no handler of calls
//! error[E0277]: `Keeps` is no handler of calls and their ends
//! says: `EntryProbe` for an `EntryHandler` or a function with `#[kprobe]`
//! says: `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`
//! error[E0061]: this function takes 3 arguments but 2 arguments were supplied
//! says: let _ = Probe::<Switches>::register(Place::address(0), ());
//! error[E0061]: this method takes 1 argument but 0 arguments were supplied
//! says: let _ = probe.disable();
//! says: argument #1 of type `&kernel::kprobes::ProcessContext` is missing
//! says: argument #1 of type `&kernel::kprobes::ProcessContext` is missing
//! error[E0277]: `*mut ()` cannot be shared between threads safely
//! error[E0277]: `*mut ()` cannot be sent between threads safely
//! says: required because it appears within the type `kernel::kprobes::ProcessContext`

use kernel::{kprobes::*, sync::SpinLock};

#[kprobe(symbol = "msleep")]
fn on_sleep() {}

struct Keeps;

struct Kept {
    #[cfg(refused)]
    here: ProcessContext,
    number: u64,
}

impl Handler for Keeps {
    type State = Kept;

    fn before(_: &Kept, _: &Hit<'_>) {}
}

struct Mine {
    sleeps: EntryProbe<on_sleep>,
    keeps: Probe<Keeps>,
}

#[cfg(refused)]
struct Others {
    sleeps: Probe<on_sleep>,
    keeps: EntryProbe<Keeps>,
    ends: ReturnProbe<Keeps>,
}

struct Switches;

impl Handler for Switches {
    type State = SpinLock<Option<Probe<Keeps>>>;

    fn before(other: &Self::State, _: &Hit<'_>) {
        #[cfg(refused)]
        let _ = Probe::<Switches>::register(Place::address(0), ());
        if let Some(probe) = &*other.lock() {
            #[cfg(refused)]
            let _ = probe.disable();
            let _ = probe.missed();
        }
    }
}
