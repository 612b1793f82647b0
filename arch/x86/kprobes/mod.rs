// SPDX-License-Identifier: GPL-2.0

//! The x86 back end.
//!
//! What can be said about instructions is in [`isa`] and also compiles on the host; what touches
//! the CPU is in [`machine`]; [`entry`] is where traps come in.

mod entry;
mod frame;
mod isa;
mod machine;
mod poke;
mod starts;

pub(crate) use isa::X86 as Current;
