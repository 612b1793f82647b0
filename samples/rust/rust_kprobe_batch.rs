// SPDX-License-Identifier: GPL-2.0

//! Registers and unregisters probes on several functions together, and counts the hits of each.

use kernel::{
    kprobes::{
        Handler,
        Hit,
        Place,
        ProbeBatch,
        ProcessContext,
        Way, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: RustKprobeBatch,
    name: "rust_kprobe_batch",
    authors: ["Rust kprobes developers"],
    description: "Counts the calls of several functions",
    license: "GPL",
    params: {
        armed: bool {
            default: true,
            description: "Have the probes be hit",
        },
    },
}

const FUNCTIONS: [&CStr; 4] = [c"kernel_clone", c"do_exit", c"vfs_read", c"vfs_write"];

struct Count;

impl Handler for Count {
    type State = Atomic<usize>;

    fn before(hits: &Atomic<usize>, _: &Hit<'_>) {
        hits.fetch_add(1, Relaxed);
    }
}

struct RustKprobeBatch {
    probes: ProbeBatch<Count>,
}

impl kernel::Module for RustKprobeBatch {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let places = FUNCTIONS.map(Place::symbol);
        let probes = ProbeBatch::register_disabled(&here, &places, |_| Atomic::new(0))
            .inspect_err(|why| pr_err!("{why}\n"))?;
        if module_parameters::armed.value() {
            probes.enable(&here)?;
        }
        for (name, probe) in FUNCTIONS.iter().zip(probes.probes()) {
            match probe.way(&here)? {
                Way::Ftrace => pr_info!("{name:?}: called by ftrace\n"),
                Way::Jump => pr_info!("{name:?}: a jump, now or soon\n"),
                Way::Breakpoint(why) => pr_info!("{name:?}: a breakpoint, {:?}\n", why.text()),
                _ => pr_info!("{name:?}: a breakpoint or a jump\n"),
            }
        }
        Ok(Self { probes })
    }
}

impl Drop for RustKprobeBatch {
    fn drop(&mut self) {
        for (name, probe) in FUNCTIONS.iter().zip(self.probes.probes()) {
            let hits = probe.state().load(Relaxed);
            pr_info!("{name:?}: {hits} hits, {} missed\n", probe.missed());
        }
    }
}
