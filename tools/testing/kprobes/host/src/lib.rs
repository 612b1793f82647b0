// SPDX-License-Identifier: GPL-2.0

//! The pure part of the Rust kprobes, on the host.
//!
//! Every module here is a file that the kernel also builds, loaded from its place in the tree, and
//! brings its tests along. Names resolve as they do in the kernel's crate, since the modules have
//! the same names at the root: `crate::model`, `crate::contract`. Each back end's `isa` is loaded,
//! whatever the host is.

#![cfg_attr(not(test), no_std)]
// The kernel is what uses it all; here the tests use what they need.
#![allow(dead_code)]

#[path = "../../../../../rust/kernel/kprobes/abi.rs"]
mod abi;
#[path = "../../../../../rust/kprobes/contract.rs"]
mod contract;
#[path = "../../../../../rust/kprobes/model/mod.rs"]
mod model;
#[path = "../../../../../rust/kprobes/pool/mod.rs"]
mod pool;
#[path = "../../../../../rust/kprobes/shared/mod.rs"]
mod shared;
#[path = "../../../../../rust/kernel/kprobes/signature.rs"]
mod signature;
#[path = "../../../../../rust/kprobes/slot/mod.rs"]
mod slot;
#[path = "../../../../../rust/kprobes/table/mod.rs"]
mod table;
#[path = "../../../../../rust/kprobes/text/index.rs"]
mod text_index;
#[path = "../../../../../rust/kprobes/text/pieces.rs"]
mod text_pieces;

#[path = "../../../../../arch/x86/kprobes/isa/mod.rs"]
mod x86;

#[cfg(all(test, not(miri)))]
mod account_loom;
#[cfg(all(test, not(miri)))]
mod armed_loom;
#[cfg(all(test, not(miri)))]
mod chain_loom;
#[cfg(test)]
mod differential;
#[cfg(all(test, not(miri)))]
mod loom_kit;
#[cfg(all(test, not(miri)))]
mod optimizing_loom;
#[cfg(all(test, not(miri)))]
mod peak_loom;
#[cfg(all(test, not(miri)))]
mod pool_loom;
// Miri runs neither what switches stacks nor, in any useful time, 30,000 entries.
#[cfg(all(test, not(miri)))]
mod slot_loom;
#[cfg(all(test, not(miri)))]
mod table_loom;
#[cfg(all(test, not(miri)))]
mod table_scale;
#[cfg(test)]
mod ways;
