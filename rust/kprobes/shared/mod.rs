// SPDX-License-Identifier: GPL-2.0

//! What hits read of a probed place while somebody changes it.
//!
//! Hits come at any time, on any number of CPUs, and take no lock; one changes a place at a time.
//! So each thing here is a word or some, and what matters is in which order they are written and
//! read:
//!
//! - [`flags`]: what is said of a probe;
//! - [`armed`]: what makes a place be hit;
//! - [`optimizing`]: how far it is on its way to a jump, which no hit reads.
//!
//! How far a hit is belongs to its CPU alone, and is in [`hit_state`](crate::model::hit_state).
//!
//! The probes at one address are in `sys/probe/chain.rs`, as they are C's.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod armed;
pub(crate) mod flags;
pub(crate) mod optimizing;
