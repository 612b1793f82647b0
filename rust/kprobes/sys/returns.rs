// SPDX-License-Identifier: GPL-2.0

//! Return probes: the client's, the calls that they watch, and what is in store for those.
//!
//! - [`probe`]: C's `struct kretprobe`;
//! - [`call`]: C's `struct kretprobe_instance`, one for each call, and the calls of a task;
//! - [`store`]: where calls are taken from and given back to, in place of C's `struct rethook`: in
//!   each of its [blocks](block), in memory of its own;
//! - [`stores`]: all of them.
//!
//! What a hit can do with a store it does without a lock. Making it larger, and freeing it when the
//! last call is over, is the work of [`tend`](crate::life::returns), which whoever needs it
//! [asks](ask) for from any context.
//!
//! C counterpart: [`kernel/trace/rethook.c`](srctree/kernel/trace/rethook.c).

mod block;
pub(crate) mod call;
pub(crate) mod probe;
pub(crate) mod store;
pub(crate) mod stores;

use crate::sys::lock::Token;
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that the stores are ours to change.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_returns_mutex` for this value.
pub(crate) struct Lock(NotThreadSafe);

// SAFETY: By its invariant: it is a mutex.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until nobody else changes a store. To be taken inside all other locks.
    pub(crate) fn new() -> Self {
        // SAFETY: A mutex of `abi.c` that is initialized at build time; the caller may sleep.
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

/// Asks for the stores to be tended soon. May be called from any context.
#[cold]
pub(crate) fn ask() {
    // SAFETY: May be called from any context.
    unsafe { bindings::rust_kprobes_ask_to_tend() };
}

/// Waits until nobody looks at what only hits, and who unwinds, could still find.
pub(crate) fn wait_for_readers() {
    kernel::sync::rcu::synchronize_rcu();
}
