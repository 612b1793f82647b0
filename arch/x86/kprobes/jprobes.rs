// SPDX-License-Identifier: GPL-2.0

//! How a jprobe's handler runs in the place of a function.
//!
//! It comes with the registers of the function's entry to `jprobe.S`, which lowers the stack, puts
//! a copy of the arguments there that the caller has left on it, and an address to return to. So
//! the handler may write to its arguments, and what is above is untouched: by the handler, and by
//! whoever changes it meanwhile.
//!
//! C counterpart: the end of [`arch/x86/kernel/kprobes/core.c`](
//! srctree/arch/x86/kernel/kprobes/core.c) of kernels up to 4.14.

use super::isa::{
    frame::flag,
    X86, //
};
use crate::{
    contract::{
        Machine,
        StandsIn, //
    },
    prelude::*,
    sys::{
        preempt::Pinned,
        this_cpu::{
            JprobeEntry,
            StandIn, //
        }, //
    }, //
};
use core::mem::offset_of;
use kernel::bindings;

/// How many words of arguments are copied at most.
const MOST_WORDS: usize = 8;

/// Bytes of one.
const WORD: usize = size_of::<usize>();

// As `jprobe.S` has it.
const _: () = assert!(offset_of!(StandIn, entry) == 0 && offset_of!(JprobeEntry, words) == 0);
const _: () =
    assert!(offset_of!(JprobeEntry, handler) == 8 && offset_of!(JprobeEntry, pause) == 16);

// SAFETY: By `jprobe.S`, which lowers the stack below what the caller has left on it, and never
// writes above; and since all of the registers are kept, and put back.
unsafe impl StandsIn for X86 {
    fn enter(registers: &mut bindings::pt_regs, handler: TextAddr, pinned: &Pinned) {
        let stand_in = Self::stand_in(pinned);
        stand_in.registers.set(*registers);
        // SAFETY: Only tells where it is.
        let pause = unsafe { bindings::rust_kprobes_graph_pause() };
        stand_in.entry.set(JprobeEntry {
            words: words_above(registers.sp).min(MOST_WORDS),
            handler: handler.get() as usize,
            pause: pause.expose_provenance(),
        });
        // What C may rely on.
        registers.flags &= !((flag::DF | flag::AC) as usize);
        registers.ip = bindings::rust_kprobes_jprobe_enter as *const () as usize;
    }

    fn ends(registers: &bindings::pt_regs) -> bool {
        let returned = bindings::rust_kprobes_jprobe_returned as *const () as u64;
        let over = bindings::rust_kprobes_jprobe_over as *const () as u64;
        let at = Self::hit_at(registers).get();
        at == returned || at == over
    }

    fn leave(registers: &mut bindings::pt_regs, pinned: &Pinned) {
        // Of what comes with the segments, this trap's own is what ends it.
        let (cs, ss) = (registers.__bindgen_anon_1, registers.__bindgen_anon_2);
        *registers = Self::stand_in(pinned).registers.get();
        registers.__bindgen_anon_1 = cs;
        registers.__bindgen_anon_2 = ss;
        // SAFETY: On the way to the handler, `jprobe.S` has done the opposite, for this task.
        unsafe { bindings::rust_kprobes_graph_go_on() };
    }

    fn stack(pinned: &Pinned) -> usize {
        Self::stand_in(pinned).registers.get().sp
    }
}

/// How many words there are on the stack above the return address, which is at `sp`.
fn words_above(sp: usize) -> usize {
    // SAFETY: Only compares the address with those of this CPU's stacks, and the task's.
    let left = unsafe { bindings::rust_kprobes_stack_left(sp) };
    (left / WORD).saturating_sub(1)
}
