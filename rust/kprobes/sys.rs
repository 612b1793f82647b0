// SPDX-License-Identifier: GPL-2.0

//! The kernel services that probing uses, each behind a safe interface.
//!
//! Here and in a back end's machine part is where pointers and C are. What is decided with their
//! help is decided above, from `registry/` on, and below, in `model/`.

pub(crate) mod blacklist;
pub(crate) mod flags;
pub(crate) mod ftrace;
pub(crate) mod jprobe;
pub(crate) mod lock;
pub(crate) mod modules;
pub(crate) mod preempt;
pub(crate) mod probe;
pub(crate) mod report;
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) mod seq;
pub(crate) mod sort;
pub(crate) mod symbols;
pub(crate) mod text;
pub(crate) mod this_cpu;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod worker;

/// The registers of what a trap interrupted.
pub(crate) use kernel::bindings::pt_regs as Registers;
