// SPDX-License-Identifier: GPL-2.0

//! The instruction decoder alone, for its tests in a kernel without `CONFIG_RUST_KPROBES`.
//!
//! With that option, `rust_kprobes.rs` has modules with the same names.

// Only the tests use this code.
#![expect(dead_code)]

#[path = "contract/isa.rs"]
mod contract;
#[path = "../../arch/x86/kprobes/isa/mod.rs"]
mod isa;
mod model;
mod prelude;
