// SPDX-License-Identifier: GPL-2.0

//! The atomics of the code that a model checker runs: the atomics of `core`.
//!
//! The atomics of the `kernel` crate call C functions, which may be probed. On the host, the model
//! checker loom runs the same code in every order that the memory model allows, with the types of
//! `crate::checked` that have the same names.

#[cfg(loom)]
pub(crate) use crate::checked::*;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::*;
