// SPDX-License-Identifier: GPL-2.0

//! Registering a probe in a handler: there is no process context.
//!
//! error[E0061]: this function takes 3 arguments but 2 arguments were supplied
//! says: argument #1 of type `&ProcessContext` is missing

use kernel::kprobes::{
    Handler,
    Hit,
    Place,
    Probe, //
};

struct Registers;

impl Handler for Registers {
    type State = ();

    fn before((): &(), hit: &Hit<'_>) {
        let place = Place::address(hit.address());
        #[cfg(refused)]
        let _ = Probe::<Registers>::register(place, ());
        let _ = place;
    }
}
