// SPDX-License-Identifier: GPL-2.0

//! Enters and leaves a jprobe's handler, which runs before the probed function.
//!
//! The CPU comes to `jprobe.S` with the registers of the function's entry. That makes a frame for
//! the handler, with a copy of the arguments on the stack. So the handler may write to its
//! arguments, and those of the function stay as they are.

use super::{
    frame::SP,
    isa::A32, //
};
use crate::{
    contract::{
        JprobeOps,
        Machine, //
    },
    prelude::*,
    sys::{
        preempt::Pinned,
        this_cpu::{
            JprobeEntry,
            JprobeState, //
        },
        Registers, //
    }, //
};
use core::mem::offset_of;
use kernel::bindings;

// As `jprobe.S` has it.
const _: () = assert!(offset_of!(JprobeState, entry) == 0 && offset_of!(JprobeEntry, words) == 0);
const _: () = assert!(offset_of!(JprobeEntry, handler) == 4 && offset_of!(JprobeEntry, pause) == 8);

// SAFETY: `jprobe.S` makes a frame below the caller's, and writes nothing above it. All registers
// are kept, and restored.
unsafe impl JprobeOps for A32 {
    fn enter(registers: &mut Registers, handler: TextAddr, pinned: &Pinned) {
        let sp = *Self::sp(registers);
        Self::state(pinned).keep(registers, handler, sp, 0);
        let enter = bindings::rust_kprobes_jprobe_enter as *const () as u64;
        Self::set_ip(registers, TextAddr::new(enter));
    }

    fn restore(registers: &mut Registers, pinned: &Pinned) {
        *registers = Self::state(pinned).registers.get();
    }

    fn stack(pinned: &Pinned) -> usize {
        Self::state(pinned).registers.get().uregs[SP]
    }
}
