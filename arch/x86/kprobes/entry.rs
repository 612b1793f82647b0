// SPDX-License-Identifier: GPL-2.0

//! EDGE: where x86's traps come in, [`arch/x86/include/asm/kprobes.h`](
//! srctree/arch/x86/include/asm/kprobes.h).
//!
//! No probe can be armed, so no breakpoint is a probe's and no fault happens in the handling of
//! one: the trap is somebody else's.

use kernel::{
    bindings,
    prelude::*, //
};

/// Is this breakpoint a probe's?
///
/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn kprobe_int3_handler(_regs: *mut bindings::pt_regs) -> c_int {
    0
}

/// Has this fault happened in the handling of a probe's hit?
///
/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn kprobe_fault_handler(_regs: *mut bindings::pt_regs, _trap: c_int) -> c_int {
    0
}
