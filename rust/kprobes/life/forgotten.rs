// SPDX-License-Identifier: GPL-2.0

//! Probes whose client, or whose handler, goes with a module that has not unregistered them.
//!
//! A probe whose own memory goes, or the code of a handler, has a client that forgot it. It is
//! unregistered here, whatever text it is on: C would go on to call what is no more. When the
//! module's notifier returns no CPU uses it.
//!
//! C counterpart: none.

use super::{
    arm::{
        self,
        Place, //
    },
    optimize,
    site::{
        Armed,
        Registry,
        Site, //
    },
    unregister, //
};
#[cfg(CONFIG_KRETPROBES)]
use crate::returns;
use crate::{
    sys::{
        modules::Going,
        probe::{
            Flag,
            Probe, //
        },
        report,
        text, //
    },
    table::Retired, //
};

/// Disables the probes that cannot stay, and tells whether there are any.
pub(super) fn disable(registry: &Registry, going: &Going) -> bool {
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

/// Disarms and takes out what [`disable`] has disabled.
pub(super) fn take_out(registry: &mut Registry, going: &Going, retired: &mut Retired<Site>) {
    disarm(registry);
    unregister::wait_for_jprobes(registry, &mut registry.sites.iter().map(|(at, _)| at));
    let Registry {
        sites, optimizer, ..
    } = registry;
    for (_, site) in sites.iter() {
        for probe in left_by(going, site) {
            watch_no_more(probe);
            site.probes.remove(probe);
        }
    }
    for (at, _) in sites.iter().filter(|(_, site)| site.probes.is_empty()) {
        optimize::forget(sites, optimizer, at);
    }
    sites.remove_all(|site| site.probes.is_empty(), retired);
    sites.tidy();
    // What these stood in the way of need not be near.
    optimize::consider_all(registry, |_| true);
}

fn disarm(registry: &mut Registry) {
    let Registry {
        sites,
        ftrace,
        optimizer,
        ..
    } = registry;
    let idle = |(_, site): &Place<'_>| site.armed() != Armed::No && !site.is_wanted();
    {
        let text = &mut text::Lazy::new();
        let addresses = &mut sites.iter().filter(idle).map(|(at, _)| at);
        optimize::leave(sites, optimizer, text, addresses);
        arm::disarm_all(&mut sites.iter().filter(idle), text.get());
    }
    for place in sites.iter().filter(idle) {
        // If ftrace refuses, it calls for a place that nobody finds.
        let _ = arm::leave_ftrace(place, ftrace);
    }
}

/// The probes at a place that cannot stay.
fn left_by<'a>(going: &'a Going, site: &'a Site) -> impl Iterator<Item = &'a Probe> {
    let probes = site.probes.iter();
    probes.filter(|probe| needs(probe, going))
}

fn needs(probe: &Probe, going: &Going) -> bool {
    #[cfg(CONFIG_KRETPROBES)]
    if returns::needs(probe, |at| going.has(at)) {
        return true;
    }
    let jprobe = probe.jprobe();
    jprobe.is_some_and(|jprobe| going.has(jprobe.handler())) || probe.needs(|at| going.has(at))
}

/// If it hooks returns: it hooks no more, and nobody is told of those that it has hooked.
fn watch_no_more(probe: &Probe) {
    #[cfg(CONFIG_KRETPROBES)]
    returns::leave(probe);
    let _ = probe;
}
