// SPDX-License-Identifier: GPL-2.0

//! Makes a function fail: the system call `rmdir()` removes no directory at each `every`th try.

use core::num::NonZero;
use kernel::{
    kprobes::{
        Entry,
        InjectionHandler,
        InjectionProbe,
        Place,
        ProcessContext, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

module! {
    type: RustKprobeFault,
    name: "rust_kprobe_fault",
    authors: ["Rust kprobes developers"],
    description: "Has a function fail now and then",
    license: "GPL",
    params: {
        every: u32 {
            default: 2,
            description: "Of how many calls one fails",
        },
    },
}

/// The function of the system call `int rmdir(const char *pathname)`. All system calls are on the
/// kernel's error-injection list.
const RMDIR: &CStr = if cfg!(CONFIG_X86_64) {
    c"__x64_sys_rmdir"
} else if cfg!(CONFIG_S390) {
    c"__s390x_sys_rmdir"
} else {
    c"sys_rmdir"
};

/// The handler of calls of [`RMDIR`].
struct Removals;

struct Faults {
    every: NonZero<u32>,
    calls: Atomic<u32>,
    failed: Atomic<u32>,
}

impl InjectionHandler for Removals {
    type State = Faults;

    fn enter(faults: &Faults, _: &Entry<'_>) -> Option<Error> {
        let call = faults.calls.fetch_add(1, Relaxed).wrapping_add(1);
        if call % faults.every != 0 {
            return None;
        }
        faults.failed.fetch_add(1, Relaxed);
        Some(EIO)
    }
}

struct RustKprobeFault {
    probe: InjectionProbe<Removals>,
}

impl kernel::Module for RustKprobeFault {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let Some(every) = NonZero::new(module_parameters::every.value()) else {
            pr_err!("every=0: give how many calls there are to each that fails, 1 or more\n");
            return Err(EINVAL);
        };
        let faults = Faults {
            every,
            calls: Atomic::new(0),
            failed: Atomic::new(0),
        };
        let here = ProcessContext::here()?;
        let probe = InjectionProbe::register(&here, Place::symbol(RMDIR), faults)
            .inspect_err(|refused| pr_err!("no probe on rmdir(): {refused}\n"))?;
        pr_info!("rmdir() fails now and then\n");
        Ok(Self { probe })
    }
}

impl Drop for RustKprobeFault {
    fn drop(&mut self) {
        let faults = self.probe.state();
        pr_info!(
            "{} of {} calls have failed\n",
            faults.failed.load(Relaxed),
            faults.calls.load(Relaxed)
        );
    }
}
