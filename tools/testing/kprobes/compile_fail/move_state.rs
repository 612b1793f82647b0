// SPDX-License-Identifier: GPL-2.0

//! Moving what is registered.
//!
//! error[E0507]: cannot move out of a shared reference
//! says: move occurs because value has type `Numbers`, which does not implement the `Copy` trait

use kernel::kprobes::{
    Handler,
    Hit,
    Probe, //
};

struct Counts;

#[derive(Default)]
struct Numbers {
    number: u64,
}

impl Handler for Counts {
    type State = Numbers;

    fn before(_: &Numbers, _: &Hit<'_>) {}
}

fn take(probe: Probe<Counts>) -> u64 {
    #[cfg(refused)]
    let _moved: Numbers = *probe.state();
    probe.state().number
}

const _: fn(Probe<Counts>) -> u64 = take;
