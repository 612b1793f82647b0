// SPDX-License-Identifier: GPL-2.0

//! Chooses the back end: [`Arch`] is the architecture that the kernel is built for.

#[cfg_attr(CONFIG_X86, path = "../../arch/x86/kprobes/mod.rs")]
#[cfg_attr(CONFIG_ARM, path = "../../arch/arm/kprobes/mod.rs")]
#[cfg_attr(CONFIG_S390, path = "../../arch/s390/kprobes/mod.rs")]
mod selected;

pub(crate) use selected::Arch;

// Substitutes for the machine code of detours and return hooks, where the crate runs on another
// kernel.
#[cfg(CONFIG_RUST_KPROBES_STAND_IN)]
mod detour {
    include!(concat!(env!("RUST_KPROBES_STAND_IN"), "/detour.rs"));
}

#[cfg(CONFIG_RUST_KPROBES_STAND_IN_RETURNS)]
mod returns {
    include!(concat!(env!("RUST_KPROBES_STAND_IN"), "/returns.rs"));
}
