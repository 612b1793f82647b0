// SPDX-License-Identifier: GPL-2.0

//! Shows data that a function's arguments point to: the names of opened files, and the flags.

use kernel::{
    kprobes::{
        kprobe,
        Entry,
        EntryProbe,
        ProcessContext, //
    },
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    uaccess::UserPtr, //
};

module! {
    type: RustKprobeOpen,
    name: "rust_kprobe_open",
    authors: ["Rust kprobes developers"],
    description: "Shows what the arguments of a function lead to",
    license: "GPL",
}

/// The first fields of `struct open_how`.
#[derive(FromBytes)]
#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
}

/// `int do_sys_openat2(int dfd, const char __user *filename, struct open_how *how)`
#[kprobe(symbol = "do_sys_openat2")]
fn on_open(opens: &Atomic<usize>, call: &Entry<'_>, _dfd: c_int, name: UserPtr, how: *const How) {
    opens.fetch_add(1, Relaxed);
    let mut room = [0; 64];
    match (call.read_user_str(name, &mut room), call.read(how)) {
        (Ok(name), Ok(How { flags, mode })) => {
            pr_info!("open of {name}, flags {flags:#o}, mode {mode:#o}\n");
        }
        (Err(why), _) | (_, Err(why)) => pr_info!("open of something: {why}\n"),
    }
}

struct RustKprobeOpen {
    probe: EntryProbe<on_open>,
}

impl kernel::Module for RustKprobeOpen {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let probe = on_open::register(&here, Atomic::new(0))
            .inspect_err(|refused| pr_err!("no probe on do_sys_openat2(): {refused}\n"))?;
        pr_info!("there is a probe on do_sys_openat2()\n");
        Ok(Self { probe })
    }
}

impl Drop for RustKprobeOpen {
    fn drop(&mut self) {
        let opens = self.probe.state().load(Relaxed);
        pr_info!("{opens} opens, {} were missed\n", self.probe.missed());
    }
}
