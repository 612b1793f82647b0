// SPDX-License-Identifier: GPL-2.0

//! Probes on a function of another module, whose place is said in each way that there is. That
//! module goes first.

use kernel::{
    kprobes::*,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: OfModule,
    name: "kprobes_of_module",
    authors: ["Rust kprobes developers"],
    description: "Counts the calls of a function of another module",
    license: "GPL",
}

#[kprobe(symbol = "kprobes_target:kprobes_target_untraced")]
fn call(hits: &Atomic<usize>, _value: c_int) {
    hits.fetch_add(1, Relaxed);
}

struct OfModule {
    by_both: EntryProbe<call>,
    by_one: EntryProbe<call>,
    by_attribute: EntryProbe<call>,
}

impl kernel::Module for OfModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let register = |place| EntryProbe::<call>::register(&here, place, Atomic::new(0));
        let elsewhere = register(Place::in_module(c"kprobes_target", c"kernel_clone")).err();
        if elsewhere.map(|refused| refused.reason()) != Some(Reason::UnknownSymbol) {
            pr_err!("there is a kernel_clone() in kprobes_target: {elsewhere:?}\n");
            return Err(EINVAL);
        }
        Ok(Self {
            by_both: register(Place::in_module(
                c"kprobes_target",
                c"kprobes_target_untraced",
            ))?,
            by_one: register(Place::symbol(c"kprobes_target:kprobes_target_untraced"))?,
            by_attribute: call::register(&here, Atomic::new(0))?,
        })
    }
}

impl Drop for OfModule {
    fn drop(&mut self) {
        for (how, probe) in [
            ("both", &self.by_both),
            ("one", &self.by_one),
            ("attribute", &self.by_attribute),
        ] {
            let enabled = ProcessContext::here().and_then(|here| probe.enable(&here));
            let calls = probe.state().load(Relaxed);
            match enabled {
                Ok(()) => pr_info!("{how}: {calls} calls, and more may come\n"),
                Err(why) => pr_info!("{how}: {calls} calls, {why}\n"),
            }
        }
    }
}
