// SPDX-License-Identifier: GPL-2.0

//! An argument as a reference, which nobody could vouch for.
//!
//! error[E0277]: no function of the kernel is given a `&u8` that could be read
//! says: a reference is for who can vouch for what it leads to

use kernel::kprobes::{
    Entry,
    EntryHandler, //
};

struct Reads;

impl EntryHandler for Reads {
    type State = ();

    fn enter((): &(), call: &Entry<'_>) {
        let _ = call.arguments().take::<*const u8>();
        #[cfg(refused)]
        let _ = call.arguments().take::<&u8>();
    }
}
