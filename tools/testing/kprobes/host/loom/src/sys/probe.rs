// SPDX-License-Identifier: GPL-2.0

//! A client's probe, as far as a chain asks.

#[path = "../../../../../../../rust/kprobes/sys/probe/chain.rs"]
mod chain;

pub(crate) use chain::{Chain, ChainIter, Summary};

use crate::sys::flags::Flags;

/// What is said of a probe.
pub(crate) enum Flag {
    /// Its handlers are not to be called.
    Disabled = 1,
}

pub(crate) struct Probe {
    pub(crate) number: usize,
    older: chain::Link,
    flags: Flags,
}

impl Probe {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            older: chain::Link::empty(),
            flags: Flags::new(),
        }
    }

    /// The client fills it.
    pub(crate) fn begin(&self) {
        self.flags.reset(0, 0);
    }

    /// Those with odd numbers do.
    pub(crate) fn has_post_or_jprobe(&self) -> bool {
        self.number & 1 != 0
    }

    pub(crate) fn is_enabled(&self) -> bool {
        !self.flags.any(Flag::Disabled as u32)
    }

    pub(crate) fn has_fault_handler(&self) -> bool {
        false
    }

    pub(crate) fn is_jprobe(&self) -> bool {
        false
    }

    pub(crate) fn set(&self, flag: Flag, on: bool) {
        self.flags.set(flag as u32, on);
    }
}
