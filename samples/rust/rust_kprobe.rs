// SPDX-License-Identifier: GPL-2.0

//! Shows an argument of a function at each call: the code with which a task exits.

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
    type: RustKprobe,
    name: "rust_kprobe",
    authors: ["Rust kprobes developers"],
    description: "Shows an argument of a function at each call",
    license: "GPL",
}

/// The handler that is called when a task exits: `do_exit(long code)`.
struct Exits;

impl EntryHandler for Exits {
    /// The number of tasks that have exited.
    type State = Atomic<usize>;

    fn enter(exits: &Atomic<usize>, call: &Entry<'_>) {
        exits.fetch_add(1, Relaxed);
        if let Some(code) = call.argument::<c_long>(0) {
            pr_info!("do_exit({code:#x})\n");
        }
    }
}

struct RustKprobe {
    probe: EntryProbe<Exits>,
}

impl kernel::Module for RustKprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = EntryProbe::register(&here, Place::symbol(c"do_exit"), Atomic::new(0))
            .inspect_err(|refused| pr_err!("no probe on do_exit(): {refused}\n"))?;
        pr_info!("there is a probe on do_exit()\n");
        Ok(Self { probe })
    }
}

impl Drop for RustKprobe {
    fn drop(&mut self) {
        pr_info!(
            "{} tasks have exited, {} were missed\n",
            self.probe.state().load(Relaxed),
            self.probe.missed()
        );
    }
}
