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

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::life::optimize;
use crate::{
    life::{
        check,
        counters,
        refused::{
            Refused,
            Wanted, //
        },
        site::{
            self,
            Registry,
            Site, //
        }, //
    },
    prelude::*,
    sys::{
        lock::Lock,
        probe::{
            Flag,
            Probe, //
        },
        seq::{
            self,
            Line,
            Seq, //
        },
        sort,
        symbols, //
    }, //
};
use kernel::{
    prelude::*,
    sync::rcu, //
};

/// Shows all probes.
pub(crate) fn list(to: &Seq) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    for at in in_order(registry)? {
        let at = TextAddr::new(at);
        if let Some(site) = registry.sites.get(at) {
            place(to, at, site);
        }
    }
    Ok(())
}

/// Shows whether anything is armed.
pub(crate) fn enabled(to: &Seq) {
    let mut lock = Lock::new();
    let disarmed = site::registry(&mut lock).disarmed;
    to.put(if disarmed { c"0\n" } else { c"1\n" });
}

/// Shows the functions that nobody may probe.
pub(crate) fn blacklist(to: &Seq) {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    check::each_blacklisted(registry, &mut |start, end| to.function(start, end));
}

/// Shows what was refused of late, the oldest first.
pub(crate) fn refused(to: &Seq) {
    let mut lock = Lock::new();
    for Refused { wanted, why } in site::registry(&mut lock).refused.iter() {
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
    let registry = site::registry(&mut lock);
    for at in in_order(registry)? {
        let at = TextAddr::new(at);
        let site = registry.sites.get(at);
        if let Some(why) = site.and_then(|site| optimize::why_not(registry, (at, site))) {
            to.unoptimized(at, why.reason.words(), why.at);
        }
    }
    Ok(())
}

/// Shows the counters.
pub(crate) fn counters(to: &Seq) {
    for (name, value) in counters::all() {
        to.counter(name, value);
    }
    #[cfg(CONFIG_KRETPROBES)]
    {
        // Those of unregistered probes with calls that are not over are included.
        let (stores, calls) = crate::returns::stores::counts();
        to.counter(c"return_stores", stores);
        to.counter(c"return_calls", calls);
    }
}

fn in_order(registry: &Registry) -> Result<KVVec<u64>, Refusal> {
    let count = registry.sites.len();
    let mut all = KVVec::with_capacity(count, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    for (at, _) in registry.sites.iter() {
        all.push(at.get(), GFP_KERNEL)
            .map_err(|_| Refusal::NoMemory)?;
    }
    sort::ascending(&mut all);
    Ok(all)
}

fn place(to: &Seq, at: TextAddr, site: &Site) {
    let mut buffer = symbols::Buffer::new();
    // The name of a module stays while RCU is read-locked.
    let rcu = rcu::read_lock();
    let symbol = symbols::describe(at, &mut buffer, &rcu);
    for probe in site.probes.iter() {
        to.probe(&Line {
            at,
            kind: kind(probe),
            symbol,
            notes: notes(site, probe),
        });
    }
}

fn notes<'a>(site: &Site, probe: &Probe) -> [&'a CStr; 4] {
    let gone = probe.is(Flag::Gone);
    let note = |holds: bool, text| if holds { text } else { c"" };
    [
        note(gone, c"[GONE]"),
        note(probe.is(Flag::Disabled) && !gone, c"[DISABLED]"),
        note(site.jump.is_optimized(), c"[OPTIMIZED]"),
        note(site.is_ftrace(), c"[FTRACE]"),
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
