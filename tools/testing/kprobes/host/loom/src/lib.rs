// SPDX-License-Identifier: GPL-2.0

//! What the CPUs share without a lock, in every order that the memory model allows.
//!
//! Every module without `loom` in its name is a file that the kernel also builds, loaded from its
//! place in the tree; its unit tests run here, too. Names resolve as they do in the kernel's crate.
//! Their atomics are those of `checked`,
//! and under Miri those of `core`.

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

#[cfg(loom)]
mod checked;
#[cfg(loom)]
mod loom_kit;
#[cfg(not(loom))]
#[path = "no_model.rs"]
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
        memory::{KBox, KVVec, GFP_KERNEL},
        words::*,
    };
}
mod sync {
    pub(crate) mod rcu {
        pub(crate) use crate::memory::synchronize_rcu;
    }
}
mod sys;

// Tests that need loom.
macro_rules! of_loom {
    ($($name:ident)*) => {$(
        #[cfg(all(test, loom))]
        mod $name;
    )*};
}
of_loom! {
    armed_loom bitmap_loom chain_loom checked_loom growth_loom
    optimizing_loom slot_loom stage_loom table_loom table_scale
}
