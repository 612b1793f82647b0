// SPDX-License-Identifier: GPL-2.0

//! The state of the hit that a CPU handles, in per-CPU memory.
//!
//! The memory is in the section that the kernel copies for each CPU; the back end finds this CPU's
//! copy. Traps nest: a hit may interrupt the handling of another hit between any two instructions
//! here. It restores `now` and the current probe before it returns, but not `outer` and
//! `outer_probe`. So the end of a nested hit reads these two before it changes `now`. Each field is
//! a [`Cell`], as only this CPU accesses it.
//!
//! The state has the address of the probe point, which is looked up again. The table has the point
//! as long as a CPU may handle its hit.

use super::{
    preempt::{
        self,
        Context, //
    },
    probe::CurrentProbe, //
};
use crate::{
    model::hit_state::Phase,
    sys::prelude::*, //
};
use core::{
    cell::Cell,
    mem::MaybeUninit, //
};

/// Per-CPU memory for a `T`. Each CPU's copy starts as zeroes.
#[repr(transparent)]
pub(crate) struct PerCpu<T>(MaybeUninit<T>);

// SAFETY: Only the address of the original is shared; each CPU uses its own copy.
unsafe impl<T> Sync for PerCpu<T> {}

impl<T: Zeroable> PerCpu<T> {
    /// The initial value of a static of this type.
    pub(crate) const ZERO: Self = Self(MaybeUninit::zeroed());

    /// Returns the address of the original. The copy of each CPU is at a fixed distance from it.
    #[inline(always)]
    pub(crate) const fn original(&'static self) -> *const T {
        self.0.as_ptr()
    }
}

/// The hits that each CPU handles.
#[no_mangle]
#[cfg_attr(CONFIG_SMP, link_section = ".data..percpu")]
pub(crate) static rust_kprobes_hit: PerCpu<CpuHits> = PerCpu::ZERO;

/// The state that each CPU keeps while the handler of a jprobe runs on it.
#[no_mangle]
#[cfg_attr(CONFIG_SMP, link_section = ".data..percpu")]
pub(crate) static rust_kprobes_jprobe_state: PerCpu<JprobeState> = PerCpu::ZERO;

// SAFETY: Zeroes are valid in each field: `Phase::NotStepping`, numbers, and `None` for the probe.
unsafe impl Zeroable for CpuHits {}

// SAFETY: Zeroes are valid in each field; the last one is `false`.
unsafe impl Zeroable for JprobeState {}

/// A hit that a CPU handles.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Hit {
    /// The progress of the handling.
    pub(crate) phase: Phase,
    /// The address of the probe point.
    pub(crate) at: TextAddr,
    /// A word of the back end, which is valid while the phase says that a copy runs.
    pub(crate) saved: usize,
}

/// The hits that a CPU handles; starts as zeroes.
#[repr(C)]
pub(crate) struct CpuHits {
    /// The hit that is handled now.
    pub(crate) now: Cell<Hit>,
    /// The outer hit, which the current hit has interrupted.
    pub(crate) outer: Cell<Hit>,
    /// The `current_kprobe` of the outer hit.
    pub(crate) outer_probe: Cell<Option<CurrentProbe>>,
    /// The context in which a handler runs, if it is a jprobe's or its probe has a fault handler.
    pub(crate) context: Cell<Context>,
}

/// The state that a CPU keeps while the handler of a jprobe runs on it; starts as zeroes.
#[repr(C)]
pub(crate) struct JprobeState {
    /// The data for the back end's `jprobe.S`.
    pub(crate) entry: Cell<JprobeEntry>,
    /// The registers at the entry of the function.
    pub(crate) registers: Cell<Registers>,
    /// Whether [`begin_handler`](Self::begin_handler) has disabled preemption.
    preempt_off: Cell<bool>,
}

/// The most words of stack arguments that are copied for a jprobe's handler; see `jprobe.S`.
const MAX_WORDS: usize = 64 / size_of::<usize>();

/// The data that a back end's `jprobe.S` reads, at the start of `rust_kprobes_jprobe_state`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct JprobeEntry {
    /// The number of words of arguments to copy.
    pub(crate) words: usize,
    /// The address of the handler.
    pub(crate) handler: usize,
    /// The counter that pauses the function graph tracer, which the entry code increments.
    pub(crate) pause: usize,
}

impl JprobeState {
    /// Keeps the registers of the function's entry. Passes to `jprobe.S` the handler's address, and
    /// how many words to copy: those above `sp` and `skip` more words, at most `MAX_WORDS`.
    pub(crate) fn keep(&self, registers: &Registers, handler: TextAddr, sp: usize, skip: usize) {
        self.registers.set(*registers);
        // SAFETY: The function only compares the address with the stacks of this CPU and of the
        // task.
        let left = unsafe { bindings::rust_kprobes_stack_left(sp) };
        // SAFETY: The function only returns the address of the counter.
        let pause = unsafe { bindings::rust_kprobes_graph_pause_counter() };
        self.entry.set(JprobeEntry {
            words: (left / size_of::<usize>())
                .saturating_sub(skip)
                .min(MAX_WORDS),
            handler: handler.get() as usize,
            pause: pause.expose_provenance(),
        });
    }

    /// Prepares the entry of the handler. Preemption stays off when the caller returns.
    pub(crate) fn begin_handler(&self) {
        PreemptOff::new().keep_disabled();
        self.preempt_off.set(true);
    }

    /// Ends the handler: enables preemption. Called in the trap that ends the handler.
    pub(crate) fn end_handler(&self) {
        // SAFETY: `jprobe.S` has paused the tracer for this task when it entered the handler.
        unsafe { bindings::rust_kprobes_graph_unpause() };
        if self.preempt_off.replace(false) {
            // SAFETY: `begin_handler` has left preemption off, so the task is still on this CPU.
            drop(unsafe { PreemptOff::resume() });
            preempt::resched_soon();
        }
    }
}

/// Returns the value of `current_kprobe` while no probe may be handled: our own probe, which has no
/// handler and is never freed.
pub(crate) fn busy() -> Option<CurrentProbe> {
    // SAFETY: The probe is a static of C, so it is never freed.
    unsafe { CurrentProbe::from_word((&raw const bindings::rust_kprobes_busy).cast_mut()) }
}
