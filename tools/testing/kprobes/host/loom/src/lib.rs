// SPDX-License-Identifier: GPL-2.0

//! What the CPUs share without a lock, in every order that the memory model allows.
//!
//! Every module without `loom` in its name is a file that the kernel also builds, loaded from its
//! place in the tree; its unit tests run here, too. Names resolve as they do in the kernel's crate.
//! Their atomics are those of [`checked`].

// The kernel is what uses it all; here the tests use what they need.
#![allow(dead_code, unused_imports)]

#[path = "../../../../../../rust/kprobes/atomics.rs"]
mod atomics;
#[path = "../../../../../../rust/kprobes/returns/bitmap.rs"]
mod bitmap;
#[path = "../../../../../../rust/kprobes/slots/bits.rs"]
mod bits;
#[path = "../../../../../../rust/kprobes/returns/growth.rs"]
mod growth;
#[path = "../../../../../../rust/kprobes/model/mod.rs"]
mod model;
#[path = "../../../../../../rust/kprobes/registry/queue.rs"]
mod queue;
#[path = "../../../../../../rust/kprobes/returns/stage.rs"]
mod stage;
#[path = "../../../../../../rust/kprobes/table.rs"]
mod table;
#[path = "../../../../../../rust/kprobes/prelude.rs"]
mod words;

mod checked;
mod loom_kit;
mod memory;

// The kernel's names of what those two have.
extern crate self as kernel;
mod bindings {
    pub(crate) use crate::memory::kvfree_call_rcu;
}
// And of both crates' preludes.
mod prelude {
    pub(crate) use crate::{
        memory::{
            KBox,
            KVVec,
            GFP_KERNEL, //
        },
        words::*, //
    };
}
mod sync {
    pub(crate) mod rcu {
        pub(crate) use crate::memory::synchronize_rcu;
    }
}
mod sys;

// Miri runs neither what switches stacks nor, in any useful time, 30,000 entries.
#[cfg(all(test, not(miri)))]
mod armed_loom;
#[cfg(all(test, not(miri)))]
mod bitmap_loom;
#[cfg(all(test, not(miri)))]
mod chain_loom;
#[cfg(all(test, not(miri)))]
mod checked_loom;
#[cfg(all(test, not(miri)))]
mod growth_loom;
#[cfg(all(test, not(miri)))]
mod optimizing_loom;
#[cfg(all(test, not(miri)))]
mod slot_loom;
#[cfg(all(test, not(miri)))]
mod stage_loom;
#[cfg(all(test, not(miri)))]
mod table_loom;
#[cfg(all(test, not(miri)))]
mod table_scale;
