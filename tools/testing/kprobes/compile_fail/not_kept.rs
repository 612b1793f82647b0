// SPDX-License-Identifier: GPL-2.0

//! A registration that nobody keeps: the probe goes where it came.
//!
//! error: unused `kernel::kprobes::Registration` that must be used
//! error: unused `Batch` that must be used
//! says: the probe goes when this is dropped, by `let _ =` too: keep it in the module's type
//! says: the probes go when this is dropped, by `let _ =` too: keep it in the module's type

#![deny(unused_must_use)]

use kernel::{kprobes::*, prelude::*};

#[kprobe(symbol = "msleep")]
fn on_sleep() {}

struct Nothing;

impl Handler for Nothing {
    type State = ();

    fn before((): &(), _: &Hit<'_>) {}
}

fn one(here: &ProcessContext) -> Result<EntryProbe<on_sleep>> {
    #[cfg(refused)]
    on_sleep::register(here)?;
    Ok(on_sleep::register(here)?)
}

fn many(here: &ProcessContext) -> Result<ProbeBatch<Nothing>, BatchRefused> {
    let places = [Place::symbol(c"msleep")];
    #[cfg(refused)]
    ProbeBatch::<Nothing>::register(here, &places, |_| ())?;
    ProbeBatch::register(here, &places, |_| ())
}
