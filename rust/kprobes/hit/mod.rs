// SPDX-License-Identifier: GPL-2.0

//! Hits of probe points: find the point, call the handlers, execute the instruction.
//!
//! - [`breakpoint`]: a breakpoint was hit, or a stepped copy has ended;
//! - `jump`: a jump has led to a detour;
//! - `ftrace`: ftrace has called;
//! - [`fault`]: a fault came while a hit was handled;
//! - [`jprobe`]: a hit continues in a jprobe's handler, and that ends;
//! - [`handlers`]: calls the handlers for all of these.
//!
//! All of this is the hit path. It is in `.kprobes.text`. It does not allocate, lock, or call a
//! function that could be probed. Each caller has preemption off, so the task stays on its CPU.
//!
//! The hit side of jprobes is here and not in `jprobes`. A hit enters the handler
//! of a jprobe in one way from a breakpoint and in another from ftrace, and a trap of its own ends
//! the handler, as `break_handler` did in C. Callbacks that jprobes would register here would cost
//! all other hits an indirect call.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod breakpoint;
pub(crate) mod fault;
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) mod ftrace;
pub(crate) mod handlers;
pub(crate) mod jprobe;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod jump;
