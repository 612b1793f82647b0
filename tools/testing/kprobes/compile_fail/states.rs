// SPDX-License-Identifier: GPL-2.0

//! A state that only one CPU at a time may change, and one that its maker must drop.
//!
//! error[E0277]: `Cell<u64>` cannot be shared between threads safely
//! says: required by a bound in `kernel::kprobes::Handler::State`
//! error[E0277]: `*mut ()` cannot be sent between threads safely
//! says: required by a bound in `kernel::kprobes::EntryHandler::State`

use core::{
    cell::Cell,
    marker::PhantomData, //
};
use kernel::kprobes::*;

struct Counts;

struct NotSync {
    #[cfg(refused)]
    hits: Cell<u64>,
    name: u64,
}

impl Handler for Counts {
    type State = NotSync;

    fn before(numbers: &NotSync, _: &Hit<'_>) {
        let _ = numbers.name;
    }
}

struct NotSend {
    #[cfg(refused)]
    mine: PhantomData<*mut ()>,
    name: u64,
}

// SAFETY: There is nothing in it that is shared.
unsafe impl Sync for NotSend {}

impl EntryHandler for Counts {
    type State = NotSend;

    fn enter(numbers: &NotSend, _: &Entry<'_>) {
        let _ = numbers.name;
    }
}
