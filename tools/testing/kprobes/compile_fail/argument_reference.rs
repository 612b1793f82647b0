// SPDX-License-Identifier: GPL-2.0

//! An argument as a reference, which nobody could vouch for.
//!
//! error[E0277]: the trait bound `&u8: Argument` is not satisfied
//! says: the trait `Argument` is not implemented for `&u8`

use kernel::kprobes::{
    Entry,
    EntryHandler, //
};

struct Reads;

impl EntryHandler for Reads {
    type State = ();

    fn enter((): &(), call: &Entry<'_>) {
        let _ = call.argument::<*const u8>(0);
        #[cfg(refused)]
        let _ = call.argument::<&u8>(0);
    }
}
