// SPDX-License-Identifier: GPL-2.0

//! An argument where no function begins.
//!
//! error[E0599]: no method named `argument` found for reference `&Hit<'_>` in the current scope
//! says: method not found in `&Hit<'_>`

use kernel::kprobes::{
    Handler,
    Hit, //
};

struct Reads;

impl Handler for Reads {
    type State = ();

    fn before((): &(), hit: &Hit<'_>) {
        let _ = hit.stack(0);
        #[cfg(refused)]
        let _ = hit.argument::<usize>(0);
    }
}
