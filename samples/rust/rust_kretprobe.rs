// SPDX-License-Identifier: GPL-2.0

//! How long a function takes: a histogram of its calls, by powers of two.

use kernel::{
    kprobes::{
        Entry,
        Place,
        ProcessContext,
        Return,
        ReturnHandler,
        ReturnProbe, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::{
        Instant,
        Monotonic, //
    },
};

module! {
    type: RustKretprobe,
    name: "rust_kretprobe",
    authors: ["Rust kprobes developers"],
    description: "Shows how long the calls of a function take",
    license: "GPL",
}

/// Calls of `pid_t kernel_clone(struct kernel_clone_args *args)`, which makes a task.
struct Clones;

struct Times {
    /// The `n`th one counts those that took at least 2^n ns, and less than twice that; the last one
    /// all that took longer.
    calls: [Atomic<usize>; 32],
    /// How many calls have made no task.
    failed: Atomic<usize>,
}

impl Times {
    fn new() -> Self {
        Self {
            calls: [const { Atomic::new(0) }; 32],
            failed: Atomic::new(0),
        }
    }
}

impl ReturnHandler for Clones {
    type State = Times;
    /// When a call has begun.
    type Data = Instant<Monotonic>;

    fn enter(_: &Times, _: &Entry<'_>) -> Option<Instant<Monotonic>> {
        Some(Instant::now())
    }

    fn leave(times: &Times, begun: Instant<Monotonic>, call: &Return<'_>) {
        let nanoseconds = begun.elapsed().as_nanos().unsigned_abs();
        let power = nanoseconds.max(1).ilog2() as usize;
        if let Some(count) = times.calls.get(power).or(times.calls.last()) {
            count.fetch_add(1, Relaxed);
        }
        if call.value::<i32>() < 0 {
            times.failed.fetch_add(1, Relaxed);
        }
    }
}

struct RustKretprobe {
    probe: ReturnProbe<Clones>,
}

impl kernel::Module for RustKretprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = ReturnProbe::register(&here, Place::symbol(c"kernel_clone"), Times::new())
            .inspect_err(|refused| pr_err!("no probe on kernel_clone(): {refused}\n"))?;
        pr_info!("there is a return probe on kernel_clone()\n");
        Ok(Self { probe })
    }
}

impl Drop for RustKretprobe {
    fn drop(&mut self) {
        let times = self.probe.state();
        for (power, count) in times.calls.iter().enumerate() {
            let count = count.load(Relaxed);
            if count != 0 {
                pr_info!("{:>13} ns and more: {count}\n", 1usize << power);
            }
        }
        pr_info!(
            "{} calls have failed, {} were missed\n",
            times.failed.load(Relaxed),
            self.probe.missed()
        );
    }
}
