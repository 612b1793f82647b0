// SPDX-License-Identifier: GPL-2.0

//! Return probes, in place of `kernel/trace/rethook.c` and the end of `kernel/kprobes.c`.
//!
//! A return probe is a probe on the entry of a function: a client of the [core](crate::core). Its
//! hit takes a *return instance*, puts the return address aside there and replaces it by a
//! trampoline.
//!
//! Pure, and run by the model checker as well:
//!
//! - [`pool`]: which instances of a block are free, in one word, and the search through all blocks;
//! - [`growth`]: how large a store must be, and its blocks;
//! - [`refs`]: how many instances are out when the owner of a store is gone.
//!
//! What has pointers:
//!
//! - [`call`]: C's `struct kretprobe_instance`, one for each call, and the calls of a task;
//! - [`probe`]: C's `struct kretprobe`;
//! - [`block`] and [`store`]: what a probe has in store; [`stores`]: all stores, and the worker;
//! - [`abi`]: the interface to C. `returns.c` and `glue.h` are its other side.
//!
//! What is done with them:
//!
//! - [`hit`]: a call begins, and is over;
//! - [`register`]: registration, and its end.
//!
//! # The pool
//!
//! Instances are in *blocks* of up to 47. Each CPU owns a block, as with SLUB's CPU slabs: it takes
//! from that block, and an instance goes back to the block that it is of. So in the common case no
//! two CPUs write to the same cache line, and memory grows with the instances, not with CPUs times
//! instances as in `lib/objpool.c`. A CPU whose block is used up claims another one with a free
//! instance that no CPU owns, and disowns the old one. If there is none, it takes from any block.
//! Nothing is lost while there is an instance: see [`pool`]. Nothing of this takes a lock; an
//! interrupt or an NMI in the middle of it may do the same.
//!
//! A hit looks at each block at most 16 times to take an instance, and once to claim a block.
//! Blocks have many instances, whatever a client keeps for each: 5,000 are in some 220 at most.
//!
//! A store that loses calls, or has hardly any instance left, asks a worker to make it larger.

pub(crate) mod abi;
mod block;
mod call;
mod growth;
mod hit;
mod pool;
mod probe;
mod refs;
mod register;
mod store;
pub(crate) mod stores;

pub(crate) use hit::returned;

use crate::{
    prelude::*,
    sys::{
        lock::Token,
        probe::Probe, //
    }, //
};
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that the stores are ours to change.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_returns_mutex` for this value.
struct Lock(NotThreadSafe);

// SAFETY: By its invariant: it is a mutex.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until nobody else changes a store. To be taken inside all other locks.
    fn new() -> Self {
        // SAFETY: A mutex of `returns.c` that is initialized at build time; the caller may sleep.
        unsafe { bindings::mutex_lock(&raw mut bindings::rust_kprobes_returns_mutex) };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::mutex_unlock(&raw mut bindings::rust_kprobes_returns_mutex) };
    }
}

/// Asks the worker to look at the stores soon. May be called from any context.
#[cold]
fn ask() {
    // SAFETY: May be called from any context.
    unsafe { bindings::rust_kprobes_ask_to_tend() };
}

/// Is this probe the entry of a return probe?
pub(crate) fn is_entry(probe: &Probe) -> bool {
    probe::ReturnProbe::with_entry(probe).is_some()
}

/// Does `goes` hold for the code of a handler of the return probe that this probe is the entry of?
pub(crate) fn needs(entry: &Probe, goes: impl Fn(TextAddr) -> bool) -> bool {
    probe::ReturnProbe::with_entry(entry).is_some_and(|probe| probe.needs(goes))
}

/// If this probe is the entry of a return probe that goes: no end of a call is told any more.
pub(crate) fn leave(entry: &Probe) {
    if let Some(probe) = probe::ReturnProbe::with_entry(entry) {
        probe.leave_store();
    }
}
