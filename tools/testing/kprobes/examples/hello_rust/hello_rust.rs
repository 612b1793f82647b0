// SPDX-License-Identifier: GPL-2.0

//! Counts the calls of a function.

use kernel::{
    kprobes::{
        Entry,
        EntryHandler,
        EntryProbe,
        Place,
        ProcessContext, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: Hello,
    name: "hello_rust",
    authors: ["Rust kprobes developers"],
    description: "Counts the calls of a function",
    license: "GPL",
}

struct Calls;

impl EntryHandler for Calls {
    type State = Atomic<u64>;

    fn enter(calls: &Atomic<u64>, _: &Entry<'_>) {
        calls.fetch_add(1, Relaxed);
    }
}

struct Hello {
    probe: EntryProbe<Calls>,
}

impl kernel::Module for Hello {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"vfs_read");
        let probe = EntryProbe::register(&here, place, Atomic::new(0))?;
        Ok(Self { probe })
    }
}

impl Drop for Hello {
    fn drop(&mut self) {
        let calls = self.probe.state().load(Relaxed);
        pr_info!("vfs_read was called {calls} times\n");
    }
}
