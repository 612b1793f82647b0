// SPDX-License-Identifier: GPL-2.0

//! Giving what a handler is told to another task.
//!
//! error[E0277]: `NonNull<kernel::bindings::pt_regs>` cannot be shared between threads safely
//! error[E0277]: `NonNull<Opaque<kprobe>>` cannot be shared between threads safely
//! says: required for `&kernel::kprobes::Entry<'_>` to implement `Send`

use kernel::kprobes::{
    Entry,
    EntryHandler, //
};

struct Sends;

fn send(_: impl Send) {}

impl EntryHandler for Sends {
    type State = ();

    fn enter((): &(), call: &Entry<'_>) {
        send(call.address());
        #[cfg(refused)]
        send(call);
    }
}
