// SPDX-License-Identifier: GPL-2.0

//! Several probes at one address.
//!
//! They share the place: its breakpoint, its slot. The newest is called first, and a jprobe, of
//! which there can be one, last. What any of them wants the place does for all: it is armed while
//! one is enabled, and its instruction comes back while one wants to be called afterwards.

use super::{
    arm::{
        self,
        Batch, //
    },
    check::Means,
    optimize,
    register,
    site::{
        Registry,
        Site, //
    },
    unregister, //
};
use crate::{
    prelude::*,
    sys::{
        probe::Probe,
        text, //
    },
    table::Owned, //
};

/// Adds a probe to a place that has some already.
pub(crate) fn join(
    registry: &mut Registry,
    at: TextAddr,
    means: Means,
    probe: &'static Probe,
    batch: &mut Batch,
) -> Result<(), Refusal> {
    let second = |site: &Site| probe.is_jprobe() && site.probes.iter().any(Probe::is_jprobe);
    if registry.sites.get(at).is_some_and(second) {
        return Err(Refusal::SecondJprobe);
    }
    if probe.is_jprobe() && probe.is_enabled() {
        arm::claim(registry, at)?;
    }
    if registry.sites.get(at).is_some_and(Site::is_gone) {
        renew(registry, at, means, probe)?;
    } else {
        add(registry, at, probe);
    }
    arm_if_wanted(registry, at, probe, batch).inspect_err(|_| {
        unregister::take_back(registry, probe);
    })
}

/// Adds a probe to a place whose text is there.
fn add(registry: &mut Registry, at: TextAddr, probe: &'static Probe) {
    let Registry {
        sites, optimizer, ..
    } = registry;
    if probe.comes_back() {
        // By a jump nobody comes back: it goes first.
        let text = &mut text::Lazy::new();
        optimize::leave(sites, optimizer, text, &mut [at].into_iter());
    }
    let Some(site) = sites.get(at) else { return };
    if probe.is_jprobe() {
        site.note_jprobe();
        site.probes.push_oldest(probe);
    } else {
        site.probes.push(probe);
    }
}

/// Sees to it that a place is armed if a new probe at it is to be called.
pub(crate) fn arm_if_wanted(
    registry: &mut Registry,
    at: TextAddr,
    probe: &Probe,
    batch: &mut Batch,
) -> Result<(), Refusal> {
    if registry.disarmed || !probe.is_enabled() {
        return Ok(());
    }
    match registry.sites.get(at).map(Site::is_ftrace) {
        Some(true) => arm::ftrace(registry, at),
        Some(false) => batch.add(at),
        None => Ok(()),
    }
}

/// Text has come again where a place was: the place is made anew, and keeps its old probes, which
/// stay as they are.
fn renew(
    registry: &mut Registry,
    at: TextAddr,
    means: Means,
    probe: &'static Probe,
) -> Result<(), Refusal> {
    let way = register::way(registry, at, means)?;
    let fresh = Owned::new(at, Site::new(way, probe))?;
    if let Some(site) = registry.sites.get(at) {
        fresh.get().probes.append(&site.probes);
    }
    // Nobody is in the old place, but dropping it waits until that is sure.
    registry.sites.replace(fresh).map(drop)
}
