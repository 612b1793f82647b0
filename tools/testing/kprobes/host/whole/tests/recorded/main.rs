// SPDX-License-Identifier: GPL-2.0

//! The Rust kprobes on a kernel that writes down what they ask of it.
//!
//! Clients register and unregister by the C interface. What must come before what is compared with
//! what has happened ([`world`]), and at every moment of it a CPU may come ([`cpu`]).

// Miri runs neither signals nor machine code: some tests are not there, but what they use is.
#![cfg_attr(miri, allow(dead_code, unused_imports))]

use rust_kprobes as _;

mod batches;
mod between;
mod c;
mod client;
mod cpu;
mod faulting;
mod files;
mod ftrace;
mod gone;
mod jprobes;
mod nested;
mod optimize;
mod order;
#[allow(unused_imports)]
mod prelude;
mod refused;
mod returns;
mod stepping;
mod world;
