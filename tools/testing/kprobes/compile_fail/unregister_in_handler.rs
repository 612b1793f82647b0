// SPDX-License-Identifier: GPL-2.0

//! Switching a probe off in a handler: there is no process context.
//!
//! error[E0061]: this method takes 1 argument but 0 arguments were supplied
//! says: argument #1 of type `&ProcessContext` is missing

use kernel::{
    kprobes::{
        Handler,
        Hit,
        Probe, //
    },
    sync::SpinLock, //
};

struct Other;

impl Handler for Other {
    type State = ();

    fn before((): &(), _: &Hit<'_>) {}
}

struct Switches;

impl Handler for Switches {
    type State = SpinLock<Option<Probe<Other>>>;

    fn before(other: &Self::State, _: &Hit<'_>) {
        if let Some(probe) = &*other.lock() {
            #[cfg(refused)]
            let _ = probe.disable();
            let _ = probe.missed();
        }
    }
}
