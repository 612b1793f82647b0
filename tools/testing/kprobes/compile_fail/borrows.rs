// SPDX-License-Identifier: GPL-2.0

//! A registered state that is changed, moved, or borrowed from who may be gone first; and keeping
//! what a handler is told for later.
//!
//! error[E0594]: cannot assign to data in a `&` reference
//! says: cannot assign
//! error[E0507]: cannot move out of a shared reference
//! says: move occurs because value has type `Numbers`, which does not implement the `Copy` trait
//! error[E0521]: borrowed data escapes outside of associated function
//! says: `hit` escapes the associated function body here
//! error[E0597]: `number` does not live long enough
//! says: borrowed value does not live long enough

use kernel::kprobes::*;

struct Counts;

struct Numbers {
    number: u64,
}

fn keep(_: &'static Hit<'static>) {}

fn look(_: &Hit<'_>) {}

impl Handler for Counts {
    type State = Numbers;

    fn before(_: &Numbers, hit: &Hit<'_>) {
        look(hit);
        #[cfg(refused)]
        keep(hit);
    }
}

fn change(probe: &mut Probe<Counts>) -> u64 {
    #[cfg(refused)]
    {
        probe.state().number = 1;
    }
    probe.state().number
}

fn take(probe: Probe<Counts>) -> u64 {
    #[cfg(refused)]
    let _moved: Numbers = *probe.state();
    probe.state().number
}

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
