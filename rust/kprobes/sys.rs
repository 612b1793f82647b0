// SPDX-License-Identifier: GPL-2.0

//! The kernel services that probing uses, each behind a safe interface.
//!
//! Unsafe code is also in the contract, the machine part of a back end, `text_metadata/tables.rs`,
//! `table`, `slots`, `returns`, and the C interface, which includes a back end's `entry.rs`. All
//! other code is safe, such as `registry`, `optimize`, `hit`, `lifecycle` and `debugfs`.

pub(crate) mod blacklist;
pub(crate) mod flags;
pub(crate) mod ftrace;
pub(crate) mod jprobe;
pub(crate) mod lock;
pub(crate) mod modules;
pub(crate) mod preempt;
pub(crate) mod prelude;
pub(crate) mod probe;
pub(crate) mod report;
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) mod seq;
pub(crate) mod sort;
pub(crate) mod symbols;
pub(crate) mod text;
pub(crate) mod this_cpu;
pub(crate) mod worker;

/// The registers of the code that a trap interrupted.
pub(crate) use kernel::bindings::pt_regs as Registers;

use crate::prelude::*;
use kernel::alloc::AllocError;

impl From<AllocError> for Refusal {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

impl From<AllocError> for NoJump {
    fn from(_: AllocError) -> Self {
        NoJumpReason::NoMemory.into()
    }
}
