// SPDX-License-Identifier: GPL-2.0

//! Keeping a process context in a state, for handlers to find.
//!
//! error[E0277]: `*mut ()` cannot be shared between threads safely
//! error[E0277]: `*mut ()` cannot be sent between threads safely
//! says: required because it appears within the type `ProcessContext`

use kernel::kprobes::{
    Handler,
    Hit,
    ProcessContext, //
};

struct Keeps;

struct Kept {
    #[cfg(refused)]
    here: ProcessContext,
    number: u64,
}

impl Handler for Keeps {
    type State = Kept;

    fn before(kept: &Kept, _: &Hit<'_>) {
        let _ = kept.number;
    }
}
