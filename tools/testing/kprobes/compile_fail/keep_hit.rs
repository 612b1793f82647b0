// SPDX-License-Identifier: GPL-2.0

//! Keeping what a handler is told for later.
//!
//! error[E0521]: borrowed data escapes outside of associated function
//! says: `hit` escapes the associated function body here

use kernel::kprobes::{
    Handler,
    Hit, //
};

struct Keeps;

fn keep(_: &'static Hit<'static>) {}

fn look(_: &Hit<'_>) {}

impl Handler for Keeps {
    type State = ();

    fn before((): &(), hit: &Hit<'_>) {
        look(hit);
        #[cfg(refused)]
        keep(hit);
    }
}
