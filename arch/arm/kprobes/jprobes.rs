// SPDX-License-Identifier: GPL-2.0

//! Enters and leaves a jprobe's handler, which runs before the probed function.
//!
//! The CPU comes to `jprobe.S` with the registers of the function's entry. `jprobe.S` makes a
//! frame for the handler, with a copy of the arguments on the stack. So the handler may write to
//! its arguments, and those of the function do not change.

use super::machine::Arm;
use crate::{
    contract::JprobeOps,
    sys::prelude::*, //
};

// SAFETY: `jprobe.S` makes a frame below the caller's, and writes nothing above it. All registers
// are kept, and restored.
unsafe impl JprobeOps for Arm {
    const FRAME_WORDS: usize = 0;

    fn restore_jprobe(registers: &mut Registers, no_preempt: &PreemptOff) {
        *registers = Self::jprobe_state(no_preempt).registers.get();
    }
}
