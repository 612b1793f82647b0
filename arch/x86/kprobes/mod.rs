// SPDX-License-Identifier: GPL-2.0

//! The x86 back end.
//!
//! [`isa`] has facts about instructions and also compiles on the host. [`machine`], [`prepare`],
//! [`poke`], [`jprobes`], `jump` and `returns` use the CPU and its text. [`entry`] has the entry of
//! the breakpoint trap.

mod entry;
mod isa;
mod jprobes;
mod saved_regs;
// Without machine code on the host, tests there do not use this module.
#[cfg(all(CONFIG_RUST_KPROBES_JUMPS, not(CONFIG_RUST_KPROBES_STAND_IN)))]
mod jump;
mod machine;
mod poke;
mod prepare;
#[cfg(all(CONFIG_KRETPROBES, not(CONFIG_RUST_KPROBES_STAND_IN_RETURNS)))]
mod returns;

pub(crate) use isa::X86 as Arch;
