// SPDX-License-Identifier: GPL-2.0

//! States that only one CPU at a time may change, or that their maker must drop; data of a call
//! that would have to be dropped, as nobody may be there to do it, or that belongs to a thread, as
//! no call does: it ends on whatever CPU.
//!
//! error[E0277]: `Cell<u64>` cannot be shared between threads safely
//! says: required by a bound in `kernel::kprobes::Handler::State`
//! error[E0277]: `*mut ()` cannot be sent between threads safely
//! says: required by a bound in `kernel::kprobes::EntryHandler::State`
//! error[E0277]: the trait bound `Box<u64, Kmalloc>: Copy` is not satisfied
//! error[E0277]: `*mut u64` cannot be sent between threads safely
//! says: required by a bound in `kernel::kprobes::ReturnHandler::Data`
//! says: required by a bound in `kernel::kprobes::ReturnHandler::Data`

use core::{cell::Cell, marker::PhantomData};
use kernel::{kprobes::*, prelude::*};

struct Counts;

struct NotSync {
    #[cfg(refused)]
    hits: Cell<u64>,
    name: u64,
}

impl Handler for Counts {
    type State = NotSync;

    fn before(_: &NotSync, _: &Hit<'_>) {}
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

    fn enter(_: &NotSend, _: &Entry<'_>) {}
}

#[cfg(not(refused))]
type NotCopy = u64;
#[cfg(refused)]
type NotCopy = KBox<u64>;

impl ReturnHandler for Counts {
    type State = ();
    type Data = NotCopy;

    fn enter((): &(), _: &Entry<'_>) -> Option<NotCopy> {
        None
    }

    fn leave((): &(), _: NotCopy, _: &Return<'_>) {}
}

#[cfg(not(refused))]
type OfThread = u64;
#[cfg(refused)]
type OfThread = *mut u64;

struct Made;

#[kretprobe(symbol = "msleep")]
impl Made {
    fn enter() -> Option<OfThread> {
        None
    }

    fn leave(_: OfThread) {}
}
