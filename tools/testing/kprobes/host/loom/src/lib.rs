// SPDX-License-Identifier: GPL-2.0

//! What the CPUs share without a lock, in every order that the memory model allows.
//!
//! Every module without `loom` in its name is a file that the kernel also builds, loaded from its
//! place in the tree; its unit tests run here, too. Names resolve as they do in the kernel's crate.
//! Their atomics are those of [`checked`].

// The kernel is what uses it all; here the tests use what they need.
#![allow(dead_code)]

#[path = "../../../../../../rust/kprobes/atomics.rs"]
mod atomics;
#[path = "../../../../../../rust/kprobes/model/mod.rs"]
mod model;
#[path = "../../../../../../rust/kprobes/pool/mod.rs"]
mod pool;
#[path = "../../../../../../rust/kprobes/shared/mod.rs"]
mod shared;
#[path = "../../../../../../rust/kprobes/slot/mod.rs"]
mod slot;
#[path = "../../../../../../rust/kprobes/table/mod.rs"]
mod table;

mod checked;

// Miri runs neither what switches stacks nor, in any useful time, 30,000 entries.
#[cfg(all(test, not(miri)))]
mod account_loom;
#[cfg(all(test, not(miri)))]
mod armed_loom;
#[cfg(all(test, not(miri)))]
mod chain_loom;
#[cfg(all(test, not(miri)))]
mod checked_loom;
#[cfg(all(test, not(miri)))]
mod loom_kit;
#[cfg(all(test, not(miri)))]
mod optimizing_loom;
#[cfg(all(test, not(miri)))]
mod peak_loom;
#[cfg(all(test, not(miri)))]
mod pool_loom;
#[cfg(all(test, not(miri)))]
mod slot_loom;
#[cfg(all(test, not(miri)))]
mod table_loom;
#[cfg(all(test, not(miri)))]
mod table_scale;
