// SPDX-License-Identifier: GPL-2.0

//! An argument of a type that is in no register.
//!
//! error[E0277]: `[u8; 4]` is not in one register on this machine
//! says: not the type of an argument in one register

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
