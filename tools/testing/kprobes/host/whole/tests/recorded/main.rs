// SPDX-License-Identifier: GPL-2.0

//! The Rust kprobes on a kernel that writes down what they ask of it.
//!
//! Clients register and unregister by the C interface. What must come before what is compared with
//! what has happened ([`world`]), and at every moment of it a CPU may come ([`cpu`]).

use rust_kprobes as _;

mod batches;
#[cfg(not(miri))]
mod between;
mod c;
mod client;
mod cpu;
#[cfg(not(miri))]
mod faulting;
#[cfg(not(miri))]
mod files;
mod ftrace;
mod gone;
#[cfg(not(miri))]
mod jprobes;
#[cfg(not(miri))]
mod nested;
#[cfg(not(miri))]
mod optimize;
mod order;
#[allow(unused_imports)]
mod prelude;
mod refused;
mod returns;
#[cfg(not(miri))]
mod stepping;
mod world;
