// SPDX-License-Identifier: GPL-2.0

//! Enters and leaves a jprobe's handler, which runs before the probed function.
//!
//! A hit continues in `jprobe.S` with the registers of the function's entry. That code lowers the
//! stack, and pushes a copy of the arguments on the stack and a return address. So the handler may
//! write to its arguments, and the stack above does not change.
//!
//! C counterpart: the end of [`arch/x86/kernel/kprobes/core.c`](
//! srctree/arch/x86/kernel/kprobes/core.c) of kernels up to 4.14.

use super::isa::{
    regs::flag,
    X86, //
};
use crate::{
    contract::JprobeOps,
    sys::prelude::*, //
};

// SAFETY: `jprobe.S` lowers the stack below the caller's frame, and does not write above that. All
// registers are saved, and restored.
unsafe impl JprobeOps for X86 {
    const FRAME_WORDS: usize = 1;

    fn enter_jprobe(registers: &mut Registers, handler: TextAddr, no_preempt: &PreemptOff) {
        Self::jprobe_state(no_preempt).keep(registers, handler, registers.sp, Self::FRAME_WORDS);
        // The ABI of C requires these flags to be clear.
        registers.flags &= !((flag::DF | flag::AC) as usize);
        registers.ip = bindings::rust_kprobes_jprobe_enter as *const () as usize;
    }

    fn restore_jprobe(registers: &mut Registers, no_preempt: &PreemptOff) {
        // The return from this trap needs its own segments and the words that share their fields.
        let (cs, ss) = (registers.__bindgen_anon_1, registers.__bindgen_anon_2);
        *registers = Self::jprobe_state(no_preempt).registers.get();
        registers.__bindgen_anon_1 = cs;
        registers.__bindgen_anon_2 = ss;
    }
}
