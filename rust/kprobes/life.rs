// SPDX-License-Identifier: GPL-2.0

//! The life of a probe, one file per stage.
//!
//! In the order in which a probe comes through them:
//!
//! - [`register`]: the order of the stages up to an armed probe;
//! - [`resolve`]: from what the client names to an address;
//! - [`check`]: may this address be probed?
//! - [`prepare`]: what is the instruction, and how will it be carried out?
//! - [`share`]: several probes at one address;
//! - [`arm`]: putting the breakpoint in, and taking it out;
//! - [`hit`]: a breakpoint was hit; `ftrace_hit`: ftrace has called;
//! - [`jprobes`]: a client's function in the place of a probed one;
//! - [`optimize`]: from the breakpoint to a jump, and back;
//! - [`enable`]: enabling and disabling;
//! - [`unregister`]: the order of the stages back;
//! - [`vanish`]: text that goes while there are probes on it;
//! - `forgotten`: probes that go with a module that has not unregistered them.
//!
//! Besides:
//!
//! - [`site`]: a probed place, and the registry of all;
//! - [`symbol_cache`]: what a batch has found out about functions;
//! - [`refused`]: what was refused of late;
//! - [`counters`]: how often happened what is seldom;
//! - [`busy`]: times in which a CPU may handle no probe.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod arm;
pub(crate) mod busy;
pub(crate) mod check;
pub(crate) mod counters;
pub(crate) mod enable;
#[cfg(CONFIG_MODULES)]
pub(crate) mod forgotten;
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) mod ftrace_hit;
pub(crate) mod hit;
pub(crate) mod jprobes;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod optimize;
pub(crate) mod prepare;
pub(crate) mod refused;
pub(crate) mod register;
pub(crate) mod resolve;
pub(crate) mod share;
pub(crate) mod site;
pub(crate) mod symbol_cache;
#[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
pub(crate) mod unoptimized;
pub(crate) mod unregister;
pub(crate) mod vanish;

#[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
pub(crate) use unoptimized as optimize;
