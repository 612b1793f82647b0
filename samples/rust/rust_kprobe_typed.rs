// SPDX-License-Identifier: GPL-2.0

//! Shows the arguments of a function at each call: the room that is allocated for files.

use kernel::{
    bindings,
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
    type: RustKprobeTyped,
    name: "rust_kprobe_typed",
    authors: ["Rust kprobes developers"],
    description: "Shows the arguments of a function at each call",
    license: "GPL",
}

/// `int vfs_fallocate(struct file *file, int mode, loff_t offset, loff_t len)`
#[kprobe(function = bindings::vfs_fallocate)]
fn on_fallocate(
    calls: &Atomic<usize>,
    _file: *const bindings::file,
    mode: c_int,
    at: i64,
    len: i64,
) {
    calls.fetch_add(1, Relaxed);
    pr_info!("vfs_fallocate(mode {mode}, offset {at:#x}, len {len:#x})\n");
}

struct RustKprobeTyped {
    probe: EntryProbe<on_fallocate>,
}

impl kernel::Module for RustKprobeTyped {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = on_fallocate::register(&here, Atomic::new(0))
            .inspect_err(|refused| pr_err!("no probe on vfs_fallocate(): {refused}\n"))?;
        pr_info!("there is a probe on vfs_fallocate()\n");
        Ok(Self { probe })
    }
}

impl Drop for RustKprobeTyped {
    fn drop(&mut self) {
        let calls = self.probe.state().load(Relaxed);
        pr_info!("{calls} calls, {} were missed\n", self.probe.missed());
    }
}
