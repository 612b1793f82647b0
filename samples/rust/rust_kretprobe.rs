// SPDX-License-Identifier: GPL-2.0

//! Measures how long a function takes: a histogram of its calls, by powers of two.

use kernel::{
    kprobes::{
        kretprobe,
        ProcessContext,
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

/// The probed function: `pid_t kernel_clone(struct kernel_clone_args *args)` makes a task.
struct Clones;

/// The state of the probe, which all CPUs share.
struct Times {
    /// The `n`th element counts calls of at least 2^n ns and less than twice that; the last element
    /// also counts all longer calls.
    calls: [Atomic<usize>; 32],
    /// The number of calls that made no task.
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

#[kretprobe(symbol = "kernel_clone")]
impl Clones {
    /// Is called when a call begins. The return value is kept until the call ends.
    fn enter() -> Instant<Monotonic> {
        Instant::now()
    }

    /// Is called when a call ends, with the return values of `enter()` and `kernel_clone()`.
    fn leave(times: &Times, begun: Instant<Monotonic>, pid: c_int) {
        let nanoseconds = begun.elapsed().as_nanos().unsigned_abs();
        let power = nanoseconds.max(1).ilog2() as usize;
        if let Some(count) = times.calls.get(power).or(times.calls.last()) {
            count.fetch_add(1, Relaxed);
        }
        if pid < 0 {
            times.failed.fetch_add(1, Relaxed);
        }
    }
}

/// The module. The probe is registered as long as this value exists.
struct RustKretprobe {
    probe: ReturnProbe<Clones>,
}

impl kernel::Module for RustKretprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = Clones::register(&here, Times::new())
            .inspect_err(|refused| pr_err!("no probe on kernel_clone(): {refused}\n"))?;
        pr_info!("there is a return probe on kernel_clone()\n");
        Ok(Self { probe })
    }
}

/// Shows the final report. The probe is unregistered after this, when its field is dropped.
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
