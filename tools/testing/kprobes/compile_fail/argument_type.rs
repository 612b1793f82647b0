// SPDX-License-Identifier: GPL-2.0

//! An argument of a type that is in no register.
//!
//! error[E0277]: the trait bound `[u8; 4]: Argument` is not satisfied
//! says: the trait `Argument` is not implemented for `[u8; 4]`

use kernel::kprobes::{
    Entry,
    EntryHandler, //
};

struct Reads;

impl EntryHandler for Reads {
    type State = ();

    fn enter((): &(), call: &Entry<'_>) {
        let _ = call.argument::<u32>(0);
        #[cfg(refused)]
        let _ = call.argument::<[u8; 4]>(0);
    }
}
