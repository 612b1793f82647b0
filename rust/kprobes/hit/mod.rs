// SPDX-License-Identifier: GPL-2.0

//! Hits of probe points: find the point, call the handlers, execute the instruction.
//!
//! - [`breakpoint`]: hits of breakpoints, and ends of stepped copies;
//! - `jump`: hits by jumps, in their detours;
//! - `ftrace`: hits by calls of ftrace;
//! - [`fault`]: faults while a hit is handled;
//! - [`jprobe`]: hits that continue in a jprobe's handler, and the end of the handler;
//! - [`handlers`]: calls the handlers for all kinds of hits; `check_handlers.c` finds handlers that
//!   have slept.
//!
//! All of this is the hit path. It is in `.kprobes.text`, and does not allocate or lock. Besides
//! handlers, it calls functions that may be probed: `irq_work_queue()`, `ftrace_find_rec_direct()`
//! and, with KMSAN, `kmsan_unpoison_memory()`. Each caller has disabled preemption, so the task
//! stays on its CPU.
//!
//! The hit side of jprobes is here and not in `jprobes`. A breakpoint and ftrace enter the handler
//! of a jprobe in different ways, and a separate trap ends the handler, as `break_handler` did in
//! C. Callbacks that `jprobes` would register here would cost all other hits an indirect call.

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
