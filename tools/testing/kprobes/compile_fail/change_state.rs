// SPDX-License-Identifier: GPL-2.0

//! Changing a state that handlers look at.
//!
//! error[E0594]: cannot assign to data in a `&` reference
//! says: cannot assign

use kernel::kprobes::{
    Handler,
    Hit,
    Probe, //
};

struct Counts;

struct Numbers {
    number: u64,
}

impl Handler for Counts {
    type State = Numbers;

    fn before(_: &Numbers, _: &Hit<'_>) {}
}

fn change(probe: &mut Probe<Counts>) -> u64 {
    #[cfg(refused)]
    {
        probe.state().number = 1;
    }
    probe.state().number
}

const _: fn(&mut Probe<Counts>) -> u64 = change;
