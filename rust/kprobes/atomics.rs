// SPDX-License-Identifier: GPL-2.0

//! The atomics that this crate uses: those of `core`.
//!
//! The atomics of the `kernel` crate call C functions, which a probe could be on. On the host, the
//! model checker loom runs the same code in every order that the memory model allows: there
//! `crate::checked` has the same types by the same names.

#[cfg(loom)]
pub(crate) use crate::checked::*;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::*;
