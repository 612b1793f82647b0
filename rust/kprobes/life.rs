// SPDX-License-Identifier: GPL-2.0

//! The life of a probe, one file per stage.
//!
//! In the order in which a probe comes through them:
//!
//! - [`register`]: the order of the stages up to an armed probe;
//! - [`resolve`]: from what the client names to an address;
//! - [`check`]: may this address be probed?
//! - [`busy`]: times in which a CPU may handle no probe.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod busy;
pub(crate) mod check;
pub(crate) mod register;
pub(crate) mod resolve;
