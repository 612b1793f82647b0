// SPDX-License-Identifier: GPL-2.0

//! The contents of the files of `kprobes/` in debugfs. `debugfs.c` creates the files.
//!
//! - `list`: all probes, in the order of addresses, the newest first at one address;
//! - `enabled`: whether probes are armed;
//! - `blacklist`: the functions that cannot be probed;
//! - `refused`: the latest registrations that failed, and why;
//! - `unoptimized`: the points that are hit by breakpoints, and why they have no jump;
//! - `counters`: rare events, and memory that waits to be freed.
//!
//! C has no counterpart of the last three.
//!
//! C counterpart: `debugfs_kprobe_init()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    hit::breakpoint::STEP_FAULTS,
    lifecycle::check,
    registry::{
        prelude::*,
        refused::{
            Refused,
            Wanted, //
        }, //
    },
    slots,
    sys::{
        seq::Seq,
        symbols, //
    }, //
};
use core::sync::atomic::Ordering;
use kernel::{
    prelude::*,
    sync::rcu, //
};

/// Shows all probes.
pub(crate) fn list(to: &Seq, registry: &Registry) -> Result<(), Refusal> {
    for &at in &registry.points.in_order()? {
        if let Some(point) = registry.points.get(at) {
            show(to, point);
        }
    }
    Ok(())
}

/// Shows whether probes are armed.
pub(crate) fn enabled(to: &Seq, registry: &Registry) {
    to.put(if registry.all_disarmed {
        c"0\n"
    } else {
        c"1\n"
    });
}

/// Shows the blacklisted functions.
pub(crate) fn blacklist(to: &Seq, registry: &Registry) {
    check::each_blacklisted(registry, &mut |start, end| to.function(start, end));
}

/// Shows the latest registrations that failed, the oldest first.
pub(crate) fn refused(to: &Seq, registry: &Registry) {
    for Refused { wanted, why } in registry.refused.iter() {
        match wanted {
            Wanted::At(at) => to.symbol_and_offset(*at),
            Wanted::Named(name, offset) => {
                to.named(CStr::from_bytes_until_nul(name).unwrap_or(c"-"), *offset);
            }
            Wanted::Unclear => to.put(c"-"),
        }
        to.refusal(Error::from(*why).to_errno(), why.text());
    }
}

/// Shows the points that are hit by breakpoints, and why they have no jump.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) fn unoptimized(to: &Seq, registry: &Registry) -> Result<(), Refusal> {
    for &at in &registry.points.in_order()? {
        let point = registry.points.get(at);
        if let Some(why) = point.and_then(|point| registry.why_no_jump(point)) {
            to.unoptimized(at, why.reason.text(), why.at);
        }
    }
    Ok(())
}

/// Shows the counters.
pub(crate) fn counters(to: &Seq) {
    to.counter(c"step_faults", STEP_FAULTS.load(Ordering::Relaxed));
    to.counter(c"slots_pending_free", slots::pending());
    #[cfg(CONFIG_KRETPROBES)]
    {
        // The pools of unregistered probes count until the last call has returned.
        let [pools, calls] = crate::returns::pools::counts();
        to.counter(c"return_pools", pools);
        to.counter(c"return_calls", calls);
    }
}

/// Shows the probes of a point, the newest first.
fn show(to: &Seq, point: PointRef<'_>) {
    let mut buffer = symbols::Buffer::new();
    // RCU keeps the name of the module from being freed.
    let rcu = rcu::read_lock();
    let symbol = symbols::describe(point.at, &mut buffer, &rcu);
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    let is_optimized = point.jump_decision.is_optimized();
    #[cfg(not(CONFIG_RUST_KPROBES_JUMPS))]
    let is_optimized = false;
    let note = |holds: bool, text: &CStr| {
        if holds {
            to.put(text);
        }
    };
    for probe in point.probes.iter() {
        let gone = probe.is(Flag::Gone);
        to.probe(point.at, kind(probe), symbol);
        note(gone, c"[GONE]");
        note(probe.is(Flag::Disabled) && !gone, c"[DISABLED]");
        note(is_optimized, c"[OPTIMIZED]");
        note(point.is_ftrace(), c"[FTRACE]");
        to.put(c"\n");
    }
}

/// Returns the letter for the kind of a probe.
fn kind(probe: &Probe) -> &'static CStr {
    #[cfg(CONFIG_KRETPROBES)]
    if crate::returns::is_return_probe(probe) {
        return c"r";
    }
    if probe.is_jprobe() {
        c"j"
    } else {
        c"k"
    }
}
