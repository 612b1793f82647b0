// SPDX-License-Identifier: GPL-2.0

//! Data of a call that would have to be dropped, as nobody may be there to do it.
//!
//! error[E0277]: the trait bound `Box<u64, Kmalloc>: Copy` is not satisfied
//! says: required by a bound in `kernel::kprobes::ReturnHandler::Data`

use kernel::{kprobes::*, prelude::*};

struct Keeps;

type Number = u64;
#[cfg(refused)]
type Data = KBox<Number>;
#[cfg(not(refused))]
type Data = Number;

impl ReturnHandler for Keeps {
    type State = ();
    type Data = Data;

    fn enter((): &(), _: &Entry<'_>) -> Option<Data> {
        None
    }

    fn leave((): &(), _: Data, _: &Return<'_>) {}
}
