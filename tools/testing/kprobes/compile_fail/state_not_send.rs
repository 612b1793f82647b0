// SPDX-License-Identifier: GPL-2.0

//! A state that must be dropped by who has made it.
//!
//! error[E0277]: `*mut ()` cannot be sent between threads safely
//! says: required by a bound in `kernel::kprobes::EntryHandler::State`

use core::marker::PhantomData;
use kernel::kprobes::{
    Entry,
    EntryHandler, //
};

struct Counts;

struct Numbers {
    #[cfg(refused)]
    mine: PhantomData<*mut ()>,
    name: u64,
}

// SAFETY: There is nothing in it that is shared.
unsafe impl Sync for Numbers {}

impl EntryHandler for Counts {
    type State = Numbers;

    fn enter(numbers: &Numbers, _: &Entry<'_>) {
        let _ = numbers.name;
    }
}
