// SPDX-License-Identifier: GPL-2.0

//! A state that only one CPU at a time may change.
//!
//! error[E0277]: `Cell<u64>` cannot be shared between threads safely
//! says: required by a bound in `kernel::kprobes::Handler::State`

use core::cell::Cell;
use kernel::kprobes::{
    Handler,
    Hit, //
};

struct Counts;

struct Numbers {
    #[cfg(refused)]
    hits: Cell<u64>,
    name: u64,
}

impl Handler for Counts {
    type State = Numbers;

    fn before(numbers: &Numbers, _: &Hit<'_>) {
        let _ = numbers.name;
    }
}
