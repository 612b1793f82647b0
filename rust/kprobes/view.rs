// SPDX-License-Identifier: GPL-2.0

//! What debugfs shows, in `kprobes/`.
//!
//! - `list`: each probe, in the order of addresses, newest first at one address;
//! - `enabled`: whether anything is armed at all;
//! - `blacklist`: the functions that nobody may probe;
//! - `refused`: the latest probes that were not registered, and why;
//! - `unoptimized`: the places that stay on their breakpoints, and why;
//! - `counters`: how often happened what is seldom. C has none of these three.
//!
//! C counterpart: `debugfs_kprobe_init()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    core::check,
    hit::breakpoint::STEP_FAULTS,
    registry::{
        prelude::*,
        refused::{
            Refused,
            Wanted, //
        }, //
    },
    slots,
    sys::{
        seq::{
            self,
            Line,
            Seq, //
        },
        sort,
        symbols, //
    }, //
};
use core::sync::atomic::Ordering;
use kernel::{
    prelude::*,
    sync::rcu, //
};

/// Shows all probes.
pub(crate) fn list(to: &Seq) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = Registry::locked(&mut lock);
    for &at in &in_order(registry)? {
        if let Some(point) = registry.points.get(at) {
            show(to, point);
        }
    }
    Ok(())
}

/// Shows whether anything is armed.
pub(crate) fn enabled(to: &Seq) {
    let mut lock = Lock::new();
    let disarmed = Registry::locked(&mut lock).disarmed;
    to.put(if disarmed { c"0\n" } else { c"1\n" });
}

/// Shows the functions that nobody may probe.
pub(crate) fn blacklist(to: &Seq) {
    let mut lock = Lock::new();
    let registry = Registry::locked(&mut lock);
    check::each_blacklisted(registry, &mut |start, end| to.function(start, end));
}

/// Shows what was refused of late, the oldest first.
pub(crate) fn refused(to: &Seq) {
    let mut lock = Lock::new();
    for Refused { wanted, why } in Registry::locked(&mut lock).refused.iter() {
        let place = match wanted {
            Wanted::At(at) => seq::Refused::At(*at),
            Wanted::Named(name, offset) => CStr::from_bytes_until_nul(name)
                .map_or(seq::Refused::Unclear, |name| {
                    seq::Refused::Named(name, *offset)
                }),
            Wanted::Unclear => seq::Refused::Unclear,
        };
        to.refused(place, Error::from(*why).to_errno(), why.text());
    }
}

/// Shows the places that stay on their breakpoints, in the order of addresses, and why.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) fn unoptimized(to: &Seq) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = Registry::locked(&mut lock);
    for &at in &in_order(registry)? {
        let point = registry.points.get(at);
        if let Some(why) = point.and_then(|point| registry.why_no_jump(point)) {
            to.unoptimized(at, why.reason.words(), why.at);
        }
    }
    Ok(())
}

/// Shows the counters.
pub(crate) fn counters(to: &Seq) {
    to.counter(c"step_faults", STEP_FAULTS.load(Ordering::Relaxed));
    to.counter(c"slots_pending_free", slots::waiting());
    #[cfg(CONFIG_KRETPROBES)]
    {
        // Those of unregistered probes with calls that are not over are included.
        let (stores, calls) = crate::returns::stores::counts();
        to.counter(c"return_pools", stores);
        to.counter(c"return_calls", calls);
    }
}

/// The addresses of all points, in order.
fn in_order(registry: &Registry) -> Result<KVVec<TextAddr>, Refusal> {
    let points = &registry.points;
    let mut all = KVVec::with_capacity(points.len(), GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    for point in points.iter() {
        all.push(point.at, GFP_KERNEL)
            .map_err(|_| Refusal::NoMemory)?;
    }
    sort::ascending(&mut all);
    Ok(all)
}

fn show(to: &Seq, point: PointRef<'_>) {
    let mut buffer = symbols::Buffer::new();
    // The name of a module stays while RCU is read-locked.
    let rcu = rcu::read_lock();
    let symbol = symbols::describe(point.at, &mut buffer, &rcu);
    for probe in point.probes.iter() {
        to.probe(&Line {
            at: point.at,
            kind: kind(probe),
            symbol,
            notes: notes(point, probe),
        });
    }
}

fn notes<'a>(point: PointRef<'_>, probe: &Probe) -> [&'a CStr; 4] {
    let gone = probe.is(Flag::Gone);
    let note = |holds: bool, text| if holds { text } else { c"" };
    [
        note(gone, c"[GONE]"),
        note(probe.is(Flag::Disabled) && !gone, c"[DISABLED]"),
        note(point.jump.is_optimized(), c"[OPTIMIZED]"),
        note(point.is_ftrace(), c"[FTRACE]"),
    ]
}

/// What kind of probe it is.
fn kind(probe: &Probe) -> &'static CStr {
    #[cfg(CONFIG_KRETPROBES)]
    if crate::returns::is_entry(probe) {
        return c"r";
    }
    if probe.is_jprobe() {
        c"j"
    } else {
        c"k"
    }
}
