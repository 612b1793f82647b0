// SPDX-License-Identifier: GPL-2.0

//! Types and state machines of probing, as plain values.
//!
//! These files use only `core`: no pointer, no kernel service, no configuration, no allocation.
//! Addresses are numbers ([`addr::TextAddr`]), machine code is bytes ([`code::Code`]), and every
//! reason to refuse is a [`refusal::Refusal`]. So the files compile anywhere, and their tests run
//! both in the kernel's KUnit and in a Cargo crate on the host.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod addr;
pub(crate) mod code;
pub(crate) mod hit_state;
pub(crate) mod no_jump;
pub(crate) mod opt_state;
pub(crate) mod refusal;
pub(crate) mod symbol;
pub(crate) mod target;
pub(crate) mod text_metadata;
