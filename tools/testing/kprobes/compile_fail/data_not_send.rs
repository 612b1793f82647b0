// SPDX-License-Identifier: GPL-2.0

//! Data of a call that belongs to a thread, as no call does: it ends on whatever CPU.
//!
//! error[E0277]: `*mut u64` cannot be sent between threads safely
//! says: required by a bound in `kernel::kprobes::ReturnHandler::Data`

use kernel::kprobes::*;

#[cfg(not(refused))]
type Data = u64;
#[cfg(refused)]
type Data = *mut u64;

struct Keeps;

impl ReturnHandler for Keeps {
    type State = ();
    type Data = Data;

    fn enter((): &(), _: &Entry<'_>) -> Option<Data> {
        None
    }

    fn leave((): &(), _: Data, _: &Return<'_>) {}
}

struct Made;

#[kretprobe(symbol = "msleep")]
impl Made {
    fn enter() -> Option<Data> {
        None
    }

    fn leave(_: Data) {}
}
