// SPDX-License-Identifier: GPL-2.0

//! A state that borrows from who registers the probe, who may be gone first.
//!
//! error[E0597]: `number` does not live long enough
//! says: borrowed value does not live long enough

use kernel::kprobes::{
    Handler,
    Hit,
    Place,
    Probe,
    ProcessContext,
    Refused, //
};

struct Looks;

impl Handler for Looks {
    type State = &'static u64;

    fn before(_: &&'static u64, _: &Hit<'_>) {}
}

fn register(here: &ProcessContext) -> Result<Probe<Looks>, Refused> {
    static NUMBER: u64 = 1;
    let number = NUMBER;
    #[cfg(refused)]
    Probe::<Looks>::register(here, Place::address(0), &number)?;
    let _ = number;
    Probe::<Looks>::register(here, Place::address(0), &NUMBER)
}

const _: fn(&ProcessContext) -> Result<Probe<Looks>, Refused> = register;
