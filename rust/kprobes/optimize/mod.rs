// SPDX-License-Identifier: GPL-2.0

//! Jumps in the place of breakpoints: which points get one, and how they lose it.
//!
//! An armed point gets a detour, once, if there can be one ([`region`]). It is queued if nothing
//! is in the way of a jump now: a post handler, a breakpoint in the bytes of the jump, or the
//! sysctl. From then on its hits go to the detour. The [`worker`] waits until no task can be in the
//! bytes of the jump, then checks each point again and writes the jumps. Why a point has no jump
//! is told by [`reasons`].
//!
//! The worker holds no lock while it waits, so anything may happen to the points. The wait counts
//! only for a point that was queued before it and never left the queue since.
//!
//! Whatever comes that a jump cannot stay with removes the jump at once: all jumps of a batch with
//! two rounds to all CPUs. When it has gone,
//! [`Change::reconsider`](crate::registry::Change::reconsider) queues the points again.
//!
//! The data is in [`registry::jump`](crate::registry::jump), so that the floors below can ask for
//! it.
//!
//! C counterpart: `optimize_kprobe()` and `unoptimize_kprobe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

#[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
mod none;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod reasons;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod region;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod remove;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod worker;
