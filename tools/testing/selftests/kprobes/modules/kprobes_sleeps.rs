// SPDX-License-Identifier: GPL-2.0

//! A handler that may sleep, which it must not. Types do not refuse it.

use kernel::{
    kprobes::*,
    prelude::*,
    sync::{
        new_mutex,
        Mutex, //
    },
};

module! {
    type: Sleeps,
    name: "kprobes_sleeps",
    authors: ["Rust kprobes developers"],
    description: "A handler that may sleep",
    license: "GPL",
}

struct Count;

impl EntryHandler for Count {
    type State = Mutex<u64>;

    fn enter(calls: &Mutex<u64>, _: &Entry<'_>) {
        *calls.lock() += 1;
    }
}

struct Sleeps {
    probe: EntryProbe<Count>,
}

impl kernel::Module for Sleeps {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"kernel_clone");
        let probe = EntryProbe::register(&here, place, new_mutex!(0))?;
        pr_info!("registered\n");
        Ok(Self { probe })
    }
}

impl Drop for Sleeps {
    fn drop(&mut self) {
        pr_info!("goes after {} calls\n", *self.probe.state().lock());
    }
}
