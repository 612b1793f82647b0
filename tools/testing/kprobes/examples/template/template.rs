// SPDX-License-Identifier: GPL-2.0

//! To begin with: shows the arguments of one function, and how long the calls of another take.

use kernel::{
    kprobes::{
        kprobe,
        kretprobe,
        EntryProbe,
        ProcessContext,
        ReturnProbe, //
    },
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    },
};

module! {
    type: Template,
    name: "template",
    authors: ["You"],
    description: "Shows the arguments of a function, and how long another one takes",
    license: "GPL",
}

// The arguments of `void do_exit(long code)`. Where there are more of them, more are written here.
#[kprobe(symbol = "do_exit")]
fn on_exit(code: isize) {
    pr_info!("do_exit({code:#x})\n");
}

// How long a call of `pid_t kernel_clone(struct kernel_clone_args *args)` takes.
struct Clone;

#[kretprobe(symbol = "kernel_clone")]
impl Clone {
    fn enter() -> Instant<Monotonic> {
        Instant::now()
    }

    fn leave(begun: Instant<Monotonic>, pid: c_int) {
        let took = begun.elapsed().as_nanos() as usize;
        pr_info!("kernel_clone() returned {pid} and took {took} ns\n");
    }
}

// As long as this is there, so are the probes.
struct Template {
    _exits: EntryProbe<on_exit>,
    _clones: ReturnProbe<Clone>,
}

impl kernel::Module for Template {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        Ok(Self {
            _exits: on_exit::register(&here)
                .inspect_err(|why| pr_err!("no probe on do_exit(): {why}\n"))?,
            _clones: Clone::register(&here)
                .inspect_err(|why| pr_err!("no probe on kernel_clone(): {why}\n"))?,
        })
    }
}
