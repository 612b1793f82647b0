// SPDX-License-Identifier: GPL-2.0

//! Chooses the back end: [`Current`] is the architecture that the kernel is built for.

#[cfg_attr(CONFIG_X86, path = "../../arch/x86/kprobes/mod.rs")]
mod current;

pub(crate) use current::Current;

// Detours without machine code, for the tests on the host.
#[cfg(CONFIG_RUST_KPROBES_STAND_IN)]
#[path = "../../tools/testing/kprobes/host/whole/detour.rs"]
mod detour;

// Hooked returns without machine code, for Miri.
#[cfg(CONFIG_RUST_KPROBES_STAND_IN_RETURNS)]
#[path = "../../tools/testing/kprobes/host/whole/returns.rs"]
mod returns;
