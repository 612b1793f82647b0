// SPDX-License-Identifier: GPL-2.0

//! What a CPU knows of the hit that it handles.
//!
//! The memory is in the section that the kernel copies for each CPU; the back end finds this CPU's
//! copy. Traps nest: a hit may come while another one is handled,
//! even between any two instructions here, and puts everything back before it returns. So a cell is
//! enough for each, and none is looked at before the trap that changed it is over.
//!
//! The place is kept as an address and looked up again: it is in the table as long as a CPU can be
//! in the handling of its hit.

use super::{
    preempt::{
        self,
        Context,
        Pinned, //
    },
    probe::Running,
    Registers, //
};
use crate::{
    model::hit_state::Phase,
    prelude::*, //
};
use core::{
    cell::Cell,
    mem::MaybeUninit, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Per-CPU memory for a `T`. Each CPU's copy starts as zeroes.
#[repr(transparent)]
pub(crate) struct PerCpu<T>(MaybeUninit<T>);

// SAFETY: Each CPU uses its own copy only, and no CPU uses the original.
unsafe impl<T> Sync for PerCpu<T> {}

impl<T: Zeroable> PerCpu<T> {
    /// The value of a static of this type.
    pub(crate) const ZERO: Self = Self(MaybeUninit::zeroed());

    /// The address of the original. Each CPU has its copy at a distance from it.
    #[inline(always)]
    pub(crate) const fn original(&'static self) -> *const T {
        self.0.as_ptr()
    }
}

/// What each CPU knows of its hits.
#[no_mangle]
#[cfg_attr(CONFIG_SMP, link_section = ".data..percpu")]
pub(crate) static rust_kprobes_hit: PerCpu<Cpu> = PerCpu::ZERO;

/// What each CPU keeps while the handler of a jprobe runs on it.
#[no_mangle]
#[cfg_attr(CONFIG_SMP, link_section = ".data..percpu")]
pub(crate) static rust_kprobes_stand_in: PerCpu<StandIn> = PerCpu::ZERO;

// SAFETY: Zeroes say that no hit is handled: `Phase::Handling`, the address zero, no outer hit.
unsafe impl Zeroable for Cpu {}

// SAFETY: Zeroes are a value of each member, `Stays::No` of the last.
unsafe impl Zeroable for StandIn {}

/// A hit that a CPU handles.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Hit {
    /// How far it is.
    pub(crate) phase: Phase,
    /// The place.
    pub(crate) at: TextAddr,
    /// What the back end keeps while the phase says that a copy is run.
    pub(crate) kept: usize,
}

/// What a CPU knows of its hits; starts as zeroes.
#[repr(C)]
pub(crate) struct Cpu {
    /// The hit that is handled now.
    pub(crate) now: Cell<Hit>,
    /// The one that it came into the middle of.
    pub(crate) outer: Cell<Hit>,
    /// Who handles that one.
    pub(crate) outer_running: Cell<Option<Running>>,
    /// Where handlers of the hit are called, if the one that is called now also handles faults.
    pub(crate) context: Cell<Context>,
}

/// What a CPU keeps while the handler of a jprobe runs on it; starts as zeroes.
#[repr(C)]
pub(crate) struct StandIn {
    /// What the back end's entry code reads on the way to the handler.
    pub(crate) entry: Cell<JprobeEntry>,
    /// The registers at the entry of the function.
    pub(crate) registers: Cell<Registers>,
    stays: Cell<Stays>,
}

/// Words of arguments on the stack that a jprobe's handler gets copies of; see `jprobe.S`.
const MOST_WORDS: usize = 8;

/// What a back end's `jprobe.S` reads, at the start of `rust_kprobes_stand_in`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct JprobeEntry {
    /// How many words of arguments to copy.
    pub(crate) words: usize,
    /// The address of the handler.
    pub(crate) handler: usize,
    /// The counter that pauses the function graph tracer, which the entry code increments.
    pub(crate) pause: usize,
}

/// Is the task kept on the CPU?
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Stays {
    No = 0,
    /// Preemption was turned off by [`StandIn::begin`].
    Yes,
}

impl StandIn {
    /// Keeps the registers of the function's entry, and tells `jprobe.S` where the handler is, and
    /// how many words are on the stack above `sp` and the return address, which takes `skip` words.
    pub(crate) fn keep(&self, registers: &Registers, handler: TextAddr, sp: usize, skip: usize) {
        self.registers.set(*registers);
        // SAFETY: Only compares the address with those of this CPU's stacks, and the task's.
        let left = unsafe { bindings::rust_kprobes_stack_left(sp) };
        // SAFETY: Only tells where the counter is.
        let pause = unsafe { bindings::rust_kprobes_graph_pause() };
        self.entry.set(JprobeEntry {
            words: (left / size_of::<usize>())
                .saturating_sub(skip)
                .min(MOST_WORDS),
            handler: handler.get() as usize,
            pause: pause.expose_provenance(),
        });
    }

    /// The handler is about to be entered: preemption stays off when the caller returns.
    pub(crate) fn begin(&self) {
        Pinned::new().leave();
        self.stays.set(Stays::Yes);
    }

    /// It is over, and so is that. To be called in the trap that it ends in.
    pub(crate) fn end(&self) {
        // SAFETY: On the way to the handler, `jprobe.S` has done the opposite, for this task.
        unsafe { bindings::rust_kprobes_graph_go_on() };
        if self.stays.replace(Stays::No) == Stays::Yes {
            // SAFETY: `begin` has left it, and the task has not left the CPU since.
            drop(unsafe { Pinned::resume() });
            preempt::make_way();
        }
    }
}

/// The probe that stands for "no probe may be handled now": it has no handler and no address of
/// its own, and lives forever.
pub(crate) fn nobody() -> Option<Running> {
    Running::from_word((&raw const bindings::rust_kprobes_nobody).cast_mut())
}
