// SPDX-License-Identifier: GPL-2.0

//! Has a function fail: directories of simple file systems cannot be removed at each `every`th try.

use core::num::NonZero;
use kernel::{
    kprobes::{
        Entry,
        Next,
        Path,
        PathHandler,
        PathProbe,
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

/// Calls of `int simple_rmdir(struct inode *dir, struct dentry *dentry)`, which removes a directory
/// of ramfs and the like.
struct Removals;

struct Faults {
    every: NonZero<u32>,
    calls: Atomic<u32>,
    failed: Atomic<u32>,
}

impl PathHandler for Removals {
    type State = Faults;

    fn enter<'a>(faults: &Faults, _: &Entry<'a>, path: Path<'a>) -> Next<'a> {
        let call = faults.calls.fetch_add(1, Relaxed).wrapping_add(1);
        if call % faults.every != 0 {
            return path.unchanged();
        }
        faults.failed.fetch_add(1, Relaxed);
        // SAFETY: `simple_rmdir()` may fail, as directories may not be empty, and has not done
        // anything then; all that its callers do is to tell the error.
        unsafe { path.fail(EIO) }
    }
}

struct RustKprobeFault {
    probe: PathProbe<Removals>,
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
        let probe = PathProbe::register(&here, Place::symbol(c"simple_rmdir"), faults)
            .inspect_err(|refused| pr_err!("no probe on simple_rmdir(): {refused}\n"))?;
        pr_info!("simple_rmdir() fails now and then\n");
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
