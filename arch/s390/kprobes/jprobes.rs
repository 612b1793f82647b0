// SPDX-License-Identifier: GPL-2.0

//! Enters and leaves a jprobe's handler, which runs before the probed function.
//!
//! The CPU comes to `jprobe.S` with the registers of the function's entry. `jprobe.S` makes a
//! frame for the handler, with a copy of the arguments on the stack. So the handler may write to
//! its arguments, and those of the function do not change.

use super::{
    isa::S390,
    saved_regs::SavedRegs, //
};
use crate::{
    contract::JprobeOps,
    sys::prelude::*, //
};

// SAFETY: `jprobe.S` makes a frame below the caller's. In that, it only writes the word in which
// the called function stores its return address. All registers are kept, and restored.
unsafe impl JprobeOps for S390 {
    const FRAME_WORDS: usize = bindings::STACK_FRAME_OVERHEAD as usize / size_of::<usize>();

    fn restore_jprobe(registers: &mut Registers, no_preempt: &PreemptOff) {
        // The rest is about the interruption.
        let kept = Self::jprobe_state(no_preempt).registers.get();
        let (kept, registers) = (SavedRegs::of(&kept), SavedRegs::of_mut(registers));
        (registers.mask, registers.ip) = (kept.mask, kept.ip);
        registers.gprs = kept.gprs;
    }
}
