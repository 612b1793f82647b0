// SPDX-License-Identifier: GPL-2.0

//! Counts the calls of a function, shows their arguments, and reports when it is unloaded.

use kernel::{
    kprobes::{
        kprobe,
        EntryProbe,
        ProcessContext, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: Template,
    name: "template",
    authors: ["You"],
    description: "Counts the calls of a function",
    license: "GPL",
}

// Called at each call of `void do_exit(long code)`. The first argument is the state of the probe,
// which all CPUs share; the others are those of the function.
#[kprobe(symbol = "do_exit")]
fn on_exit(calls: &Atomic<usize>, code: isize) {
    calls.fetch_add(1, Relaxed);
    pr_info!("do_exit({code:#x})\n");
}

// Dropping this unregisters the probe.
struct Template {
    probe: EntryProbe<on_exit>,
}

impl kernel::Module for Template {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = on_exit::register(&here, Atomic::new(0))
            .inspect_err(|why| pr_err!("no probe on do_exit(): {why}\n"))?;
        Ok(Self { probe })
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        let calls = self.probe.state().load(Relaxed);
        pr_info!("{calls} calls, {} missed\n", self.probe.missed());
    }
}
