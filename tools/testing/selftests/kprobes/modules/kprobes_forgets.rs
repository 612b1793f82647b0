// SPDX-License-Identifier: GPL-2.0

//! A module that forgets its registrations, which is safe, and goes.

use core::mem::{
    forget,
    ManuallyDrop, //
};
use kernel::{
    kprobes::*,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

module! {
    type: Forgets,
    name: "kprobes_forgets",
    authors: ["Rust kprobes developers"],
    description: "A module that forgets to unregister its probes",
    license: "GPL",
}

/// Of all probes: it goes with the module, and so must who counts.
static HITS: Atomic<usize> = Atomic::new(0);

struct Count;

impl Handler for Count {
    type State = ();

    fn before((): &(), _: &Hit<'_>) {
        HITS.fetch_add(1, Relaxed);
    }
}

impl HandlerAfter for Count {
    fn after((): &(), _: &Hit<'_>) {
        HITS.fetch_add(1, Relaxed);
    }
}

impl EntryHandler for Count {
    type State = ();

    fn enter((): &(), _: &Entry<'_>) {
        HITS.fetch_add(1, Relaxed);
    }
}

impl ReturnHandler for Count {
    type State = ();
    type Data = usize;

    fn enter((): &(), _: &Entry<'_>) -> Option<usize> {
        Some(1)
    }

    fn leave((): &(), one: usize, _: &Return<'_>) {
        HITS.fetch_add(one, Relaxed);
    }
}

struct Forgets {
    _inside: ManuallyDrop<EntryProbe<Count>>,
}

impl kernel::Module for Forgets {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let here = ProcessContext::here()?;
        let place = Place::symbol(c"kernel_clone");
        forget(ProbeAfter::<Count>::register(&here, place, ())?);
        forget(ReturnProbe::<Count>::register(&here, place, ())?);
        let places = [c"vfs_read", c"vfs_write"].map(Place::symbol);
        forget(ProbeBatch::<Count>::register(&here, &places, |_| ())?);
        let inside = EntryProbe::register(&here, place, ())?;
        Ok(Self {
            _inside: ManuallyDrop::new(inside),
        })
    }
}

impl Drop for Forgets {
    fn drop(&mut self) {
        pr_info!("goes after {} hits\n", HITS.load(Relaxed));
    }
}
