// SPDX-License-Identifier: GPL-2.0

//! Times in which a CPU may handle no probe.
//!
//! Others that share clients with probes (fprobe) use this so that a client never sees itself
//! interrupted by a probe's handler. The CPU looks as if it were in the handler of a probe that is
//! nobody's; probes that are hit meanwhile only count as missed.
//!
//! On the hit path: everything called from here is in `.kprobes.text`.

use crate::{
    arch::Current,
    contract::Machine,
    sys::this_cpu, //
};

pub(crate) use crate::sys::preempt::Pinned;

/// Begins such a time, with preemption off.
pub(crate) fn begin() {
    let pinned = Pinned::new();
    Current::set_running(this_cpu::nobody(), &pinned);
    pinned.leave();
}

/// Ends such a time, and with it what keeps preemption off.
pub(crate) fn end(pinned: Pinned) {
    Current::set_running(None, &pinned);
}
