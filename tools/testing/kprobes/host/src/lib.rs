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
#[path = "../../../../../rust/kprobes/contract/isa.rs"]
mod contract;
#[path = "../../../../../rust/kprobes/model/mod.rs"]
mod model;
#[path = "../../../../../rust/kprobes/prelude.rs"]
mod prelude;
#[path = "../../../../../rust/kernel/kprobes/signature.rs"]
mod signature;
#[path = "../../../../../rust/kprobes/text_metadata/index.rs"]
mod text_index;

#[path = "../../../../../arch/arm/kprobes/isa/mod.rs"]
mod arm;
#[path = "../../../../../arch/s390/kprobes/isa/mod.rs"]
mod s390;
#[path = "../../../../../arch/x86/kprobes/isa/mod.rs"]
mod x86;

// What CPUs share without a lock. The tests of these files run in loom's crate.
macro_rules! shared {
    ($($name:ident: $path:literal;)*) => {$(
        #[cfg(not(test))]
        #[path = $path]
        mod $name;
    )*};
}
shared! {
    atomics: "../../../../../rust/kprobes/atomics.rs";
    bitmap: "../../../../../rust/kprobes/returns/bitmap.rs";
    bits: "../../../../../rust/kprobes/slots/bits.rs";
    growth: "../../../../../rust/kprobes/returns/growth.rs";
    queue: "../../../../../rust/kprobes/registry/queue.rs";
    stage: "../../../../../rust/kprobes/returns/stage.rs";
}

#[cfg(test)]
mod differential;
#[cfg(test)]
mod ways;
