// SPDX-License-Identifier: GPL-2.0

//! The life of a probe from its registration on, except for its hits.
//!
//! - [`check`]: finds the address that a client names, and checks whether it may be probed;
//! - [`register`]: registration, up to armed probe points;
//! - [`arming`]: breakpoints and ftrace's calls;
//! - [`enable`]: enabling and disabling, one probe or all;
//! - [`unregister`]: unregistration, in the order that loses no hit;
//! - [`modules`]: modules that come and go, and text that is freed while it has probes.
//!
//! `optimize` replaces breakpoints by jumps after arming.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod arming;
pub(crate) mod check;
pub(crate) mod enable;
pub(crate) mod modules;
pub(crate) mod register;
pub(crate) mod unregister;

use crate::sys::probe::Probe;

/// A client's probe; `None` if the client passed NULL.
pub(crate) type ProbePtr = Option<&'static Probe>;

/// How many probes are registered or unregistered before the registry is unlocked for others, and
/// how many breakpoints are written at once: all CPUs may be stopped meanwhile.
const CHUNK: usize = 1024;
