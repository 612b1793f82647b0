// SPDX-License-Identifier: GPL-2.0

//! Unregistration: disarm, take out, wait, free.
//!
//! The order is what keeps a hit from getting lost. First the instruction is back and every CPU has
//! seen it; only then is the place taken out of the table, as a CPU that came to the breakpoint
//! must find it there. After a grace period no CPU is in a handler, and the client may free its
//! probe. One grace period does for the whole batch.
//!
//! A place that had a jprobe takes one more, before it is taken out: see `jprobes.rs`.
//!
//! C counterpart: `unregister_kprobes()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    arm,
    optimize,
    register::{
        Client,
        CHUNK, //
    },
    site::{
        self,
        Armed,
        Registry,
        Site, //
    }, //
};
use crate::{
    prelude::*,
    slots,
    sys::{
        lock::Lock,
        preempt,
        probe::{
            Flag,
            Probe, //
        },
        report,
        text, //
    },
    table::Retired, //
};

/// Unregisters all probes. One that is not registered only loses its address, by which a client
/// sees it.
pub(crate) fn batch(clients: &[Client]) {
    let left = leave(clients);
    if !clients.is_empty() {
        left.wait();
    }
}

/// Places that no hit begins at any more, though one may not be over.
#[must_use]
pub(crate) struct Left(Retired<Site>);

impl Left {
    /// Waits until all hits are over.
    pub(crate) fn wait(self) {
        self.0.wait();
        drop(slots::tidy());
    }
}

/// The same, but for what is to be waited for: that no CPU uses any of the probes.
pub(crate) fn leave(clients: &[Client]) -> Left {
    let mut retired = Retired::new();
    for chunk in clients.chunks(CHUNK) {
        let mut lock = Lock::new();
        let registry = site::registry(&mut lock);
        disarm(registry, chunk);
        wait_for_jprobes(registry, &mut chunk.iter().flatten().map(|probe| at(probe)));
        for probe in chunk.iter().flatten() {
            take_out(registry, probe, &mut retired);
        }
        reconsider(registry, &mut chunk.iter().flatten().map(|probe| at(probe)));
        registry.sites.tidy();
    }
    Left(retired)
}

/// Disables the probes, and disarms the places that none is left for.
fn disarm(registry: &mut Registry, chunk: &[Client]) {
    for probe in chunk.iter().flatten() {
        if disable(registry, probe).is_err() {
            probe.set_addr(0);
        }
    }
    let Registry {
        sites, optimizer, ..
    } = registry;
    let idle = || {
        chunk.iter().flatten().filter_map(|probe| {
            let site = sites.get(at(probe))?;
            let idle = site.armed() == Armed::Breakpoint && !site.is_wanted();
            idle.then_some((at(probe), site))
        })
    };
    if idle().next().is_some() {
        let text = &mut text::Lazy::new();
        optimize::leave(sites, optimizer, text, &mut idle().map(|(at, _)| at));
        arm::disarm_all(&mut idle(), text.get());
    }
}

/// A place must be found while a CPU is in the handler of its jprobe, which has preemption off. It
/// is disarmed, if it is to go.
pub(super) fn wait_for_jprobes(registry: &Registry, addresses: &mut dyn Iterator<Item = TextAddr>) {
    let mut sites = addresses.filter_map(|at| registry.sites.get(at));
    if sites.any(|site| site.had_jprobe() && !site.is_wanted()) {
        preempt::wait_for_all();
    }
}

/// Says that a probe is not to be called. Its place is left armed if a breakpoint is how.
fn disable(registry: &mut Registry, probe: &Probe) -> Result<(), Refusal> {
    let at = at(probe);
    let Registry { sites, ftrace, .. } = registry;
    let site = sites.get(at).filter(|site| site.probes.has(probe));
    let site = site.ok_or(Refusal::NotRegistered)?;
    site.probes.mark(probe, Flag::Disabled, true);
    if !site.is_wanted() && arm::leave_ftrace((at, site), ftrace).is_err() {
        // The client may not be told no.
        report::still_called();
    }
    Ok(())
}

/// Takes a probe, which is disabled, out of its place; the place out of the table with the last.
fn take_out(registry: &mut Registry, probe: &Probe, retired: &mut Retired<Site>) {
    let at = at(probe);
    let Some(site) = registry.sites.get(at) else {
        return;
    };
    if !site.probes.has(probe) {
        return;
    }
    site.probes.remove(probe);
    if !site.probes.is_empty() {
        return;
    }
    optimize::forget(&registry.sites, &mut registry.optimizer, at);
    if let Ok(place) = registry.sites.remove(at) {
        retired.push(place);
    }
}

/// Undoes what the registration of a probe has done so far, when it is refused later on.
pub(crate) fn take_back(registry: &mut Registry, probe: &Probe) {
    let mut retired = Retired::new();
    take_out(registry, probe, &mut retired);
    reconsider(registry, &mut [at(probe)].into_iter());
    retired.wait();
    probe.unlink();
}

/// Something that a jump could not stay with may have gone.
fn reconsider(registry: &mut Registry, addresses: &mut dyn Iterator<Item = TextAddr>) {
    let Registry {
        sites,
        optimizer,
        images,
        ..
    } = registry;
    optimize::reconsider(sites, optimizer, images, &mut text::Lazy::new(), addresses);
}

fn at(probe: &Probe) -> TextAddr {
    TextAddr::new(probe.addr() as u64)
}
