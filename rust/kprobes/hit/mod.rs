// SPDX-License-Identifier: GPL-2.0

//! Hits of probe points: find the point, call the handlers, execute the instruction.
//!
//! - [`breakpoint`]: a breakpoint was hit, or a stepped copy has ended;
//! - [`jump`]: a jump has led to a detour;
//! - `ftrace`: ftrace has called;
//! - [`fault`]: a fault came while a hit was handled;
//! - [`jprobe`]: a hit continues in a jprobe's handler, and that ends;
//! - [`handlers`]: what all of these call.
//!
//! All of this is the hit path: everything that it calls is in `.kprobes.text`; it does not
//! allocate, lock, or call a function that could be probed. The CPU stays the same, as each caller
//! has preemption off.
//!
//! Jprobes have their part of a hit here and not in [`jprobes`](crate::jprobes): a hit continues in
//! a jprobe's handler in another way from a breakpoint than from ftrace, and its end is a trap of
//! its own, as `break_handler` was in C. Calls through a pointer from below would cost the hits
//! that are no jprobe's an indirect call in each.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod breakpoint;
pub(crate) mod fault;
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) mod ftrace;
pub(crate) mod handlers;
pub(crate) mod jprobe;
pub(crate) mod jump;
