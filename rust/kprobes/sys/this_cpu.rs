// SPDX-License-Identifier: GPL-2.0

//! What a CPU can be busy with besides a client's probe.

use kernel::bindings;

/// The probe that stands for "no probe may be handled now": it has no handler and no address of
/// its own, and lives forever.
pub(crate) fn nobody() -> &'static bindings::kprobe {
    // SAFETY: A static of `abi.c` that is initialized at build time and never written.
    unsafe { &bindings::rust_kprobes_nobody }
}
