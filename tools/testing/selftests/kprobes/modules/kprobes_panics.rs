// SPDX-License-Identifier: GPL-2.0

//! A registration whose state panics while it is made: its task ends there, and nothing of it is
//! registered.

use core::mem::forget;
use kernel::{
    kprobes::*,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: Panics,
    name: "kprobes_panics",
    authors: ["Rust kprobes developers"],
    description: "A registration whose state panics while it is made",
    license: "GPL",
}

struct Count;

impl EntryHandler for Count {
    type State = Atomic<u64>;

    fn enter(calls: &Atomic<u64>, _: &Entry<'_>) {
        let call = calls.fetch_add(1, Relaxed);
        pr_info!("call {call}\n");
    }
}

struct Panics;

impl kernel::Module for Panics {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        // What was registered before stays: nobody unwinds a task's stack in the kernel.
        forget(EntryProbe::<Count>::register(
            &here,
            Place::symbol(c"vfs_fsync"),
            Atomic::new(0),
        )?);
        pr_info!("one is registered\n");
        // SAFETY: It never says that it has made anything.
        let state = unsafe {
            pin_init::pin_init_from_closure(|_: *mut Atomic<u64>| -> Result {
                panic!("a state that cannot be made")
            })
        };
        forget(EntryProbe::<Count>::register(
            &here,
            Place::symbol(c"do_exit"),
            state,
        )?);
        pr_info!("it goes on, which it must not\n");
        Ok(Self)
    }
}
