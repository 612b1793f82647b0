// SPDX-License-Identifier: GPL-2.0

//! The x86 back end.
//!
//! What can be said about instructions is in [`isa`] and also compiles on the host; what touches
//! the CPU is in [`machine`], [`jprobes`], `jump` and `returns`; [`entry`] is where
//! traps, detours and hooked functions come in.

mod entry;
mod frame;
mod isa;
mod jprobes;
// The tests on the host have no use for machine code.
#[cfg(not(CONFIG_RUST_KPROBES_STAND_IN))]
mod jump;
mod machine;
mod poke;
mod prepare;
#[cfg(all(CONFIG_KRETPROBES, not(CONFIG_RUST_KPROBES_STAND_IN_RETURNS)))]
mod returns;
#[cfg(CONFIG_UNWINDER_ORC)]
mod starts;

pub(crate) use isa::X86 as Current;
