// SPDX-License-Identifier: GPL-2.0

//! What goes while there are probes: a module, or what was for the beginning.
//!
//! Nobody runs text that goes any more, so the breakpoints in it need not be taken out. The probes
//! stay registered, since their clients will unregister them, but are *gone*: never called, never
//! armed again. If text comes to the same address later and is probed, the place is made anew.
//!
//! A probe whose own memory goes, or the code of a handler, has a client that forgot to unregister
//! it. It is unregistered here, whatever text it is on: C would go on to call what is no more. When
//! the module's notifier returns no CPU uses it.
//!
//! C counterpart: `kill_kprobe()` and its callers in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    arm::{
        self,
        Place, //
    },
    site::{
        self,
        Armed,
        Registry,
        Site, //
    }, //
};
#[cfg(CONFIG_MODULES)]
use crate::sys::modules::Going;
use crate::{
    model::addr::TextAddr,
    sys::{
        blacklist,
        ftrace::Users,
        lock::Lock,
        probe::{
            Flag,
            Probe, //
        },
        report,
        table::{
            Retired,
            Writer, //
        },
        text, //
    },
};

/// A module goes, or the part of it that was for its beginning.
#[cfg(CONFIG_MODULES)]
pub(crate) fn module(going: Going) {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    places(registry, |at| going.has(at));
    if !going.init_only {
        registry.modules.remove(going.module);
    }
    if forgotten(registry, &going) {
        let mut retired = Retired::new();
        take_out(registry, &going, &mut retired);
        drop(lock);
        retired.wait();
    }
}

/// The part of the kernel goes that was for its beginning.
pub(crate) fn init_text() {
    let init = blacklist::init_text();
    places(site::registry(&mut Lock::new()), |at| init.contains(at));
}

/// The places in text that goes.
fn places(registry: &mut Registry, goes: impl Fn(TextAddr) -> bool) {
    let Registry { sites, ftrace, .. } = registry;
    sites
        .iter()
        .filter(|(at, site)| goes(*at) && !site.is_gone())
        .for_each(|place| gone(place, ftrace));
}

fn gone((at, site): Place<'_>, ftrace: &mut Users) {
    if let Armed::Watching | Armed::Changing = site.armed() {
        // If ftrace refuses, it calls from text that nobody runs.
        let _ = ftrace.remove(at, site.armed() == Armed::Changing);
    }
    site.set_armed(Armed::No);
    site.set_gone();
    for probe in site.probes.iter() {
        site.probes.mark(probe, Flag::Gone, true);
    }
}

/// Disables the probes that cannot stay, and tells whether there are any.
fn forgotten(registry: &Registry, going: &Going) -> bool {
    let mut any = false;
    for (_, site) in registry.sites.iter() {
        for probe in left_by(going, site) {
            report::forgotten(going, probe);
            site.probes.mark(probe, Flag::Disabled, true);
            any = true;
        }
    }
    any
}

/// Disarms and takes out what [`forgotten`] has disabled.
fn take_out(registry: &mut Registry, going: &Going, retired: &mut Retired<Site>) {
    let Registry { sites, ftrace, .. } = registry;
    let idle = |(_, site): &Place<'_>| site.armed() != Armed::No && !site.is_wanted();
    arm::disarm_all(&mut sites.iter().filter(idle), &mut text::Lock::new());
    for place in sites.iter().filter(idle) {
        // If ftrace refuses, it calls for a place that nobody finds.
        let _ = arm::switch_ftrace(place, ftrace, false);
    }
    for (_, site) in sites.iter() {
        left_by(going, site).for_each(|probe| site.probes.remove(probe));
    }
    let empty = |sites: &Writer<Site>| {
        let mut sites = sites.iter();
        sites.find_map(|(at, site)| site.probes.is_empty().then_some(at))
    };
    while let Some(Ok(place)) = empty(sites).map(|at| sites.remove(at)) {
        retired.push(place);
    }
    sites.tidy();
}

/// The probes at a place that cannot stay.
fn left_by<'a>(going: &'a Going, site: &'a Site) -> impl Iterator<Item = &'a Probe> {
    let probes = site.probes.iter();
    probes.filter(|probe| probe.needs(|at| going.has(at)))
}
