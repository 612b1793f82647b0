// SPDX-License-Identifier: GPL-2.0

//! The s390 back end.
//!
//! [`isa`] has facts about instructions and also compiles on the host. [`machine`], [`prepare`],
//! [`jprobes`], `jump` and `returns` use the CPU and its text. [`entry`] has the entry of program
//! interruptions.

mod entry;
mod exrl_targets;
mod isa;
mod jprobes;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod jump;
mod machine;
mod prepare;
#[cfg(all(CONFIG_KRETPROBES, not(CONFIG_RUST_KPROBES_STAND_IN_RETURNS)))]
mod returns;
mod saved_regs;

pub(crate) use isa::S390 as Arch;
