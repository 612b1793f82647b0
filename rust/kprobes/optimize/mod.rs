// SPDX-License-Identifier: GPL-2.0

//! Jump optimization: replaces breakpoints by jumps, and jumps by breakpoints.
//!
//! `decide` tries to get a jump for an armed point. It does nothing if the sysctl or a probe (a
//! post handler, a jprobe, a breakpoint in the bytes of the jump) prevents a jump now. Otherwise
//! the first attempt decides by the text, once: it makes a detour, unless the text prevents a jump
//! always. If the point has a detour, it is queued, and from then on its hits continue in the
//! detour. The `worker` waits until no task can be in the bytes of the jump, then checks each point
//! again and writes the jumps. `reasons` returns why a point has no jump.
//!
//! The path of a decision: `decide` (`try_to_optimize()` checks the sysctl, `try_queue()` the
//! probes; then `decide_by_text()`), then the back end's
//! [`Jumps::make_detour`](crate::contract::Jumps::make_detour), on x86 `jump.rs` and
//! `isa/region.rs`. The reasons are [`NoJumpReason`](crate::model::no_jump::NoJumpReason); users
//! read them in debugfs `kprobes/unoptimized` (`debugfs.rs`), modules by `kprobe_why_no_jump()`.
//!
//! The worker holds no lock while it waits, so points may change meanwhile. The wait counts only
//! for a point that was queued before the wait began and has not left the queue since.
//!
//! A change that forbids jumps removes them at once (`remove`): all jumps of a batch, with at most
//! two rounds of synchronizing all CPUs. After the blocker is removed,
//! [`Change::reconsider`](crate::registry::Change::reconsider) queues the points again.
//!
//! The data is in `registry::optimizer`, which the modules below `optimize` can read.
//!
//! C counterpart: `optimize_kprobe()` and `unoptimize_kprobe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod decide;
#[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
mod none;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod reasons;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod remove;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod worker;
