// SPDX-License-Identifier: GPL-2.0

//! Why a place that is hit by a breakpoint has no jump, for who looks and for who asks.

use super::inside;
use crate::{
    life::{
        arm::Place,
        site::{
            self,
            Armed,
            Registry, //
        }, //
    },
    prelude::*,
    sys::{
        lock::Lock,
        probe::Probe, //
    }, //
};

/// Why a place that is hit by a breakpoint will have no jump as things are.
pub(crate) fn why_not(registry: &Registry, place: Place<'_>) -> Option<NotOptimized> {
    let Registry {
        sites, optimizer, ..
    } = registry;
    let (at, site) = place;
    if site.armed() != Armed::Breakpoint || site.jump.is_optimized() {
        return None;
    }
    if let Some(&Err(reason)) = site.jump.decided() {
        return Some(reason);
    }
    Some(if site.probes.iter().any(Probe::is_jprobe) {
        NotOptimized::from(Reason::Jprobe)
    } else if site.probes.comes_back() {
        NotOptimized::from(Reason::PostHandler)
    } else if let Some(inside) = inside(sites, at) {
        Reason::ProbeInside.at(inside)
    } else if optimizer.allowed {
        optimizer.lately.why(at)
    } else {
        NotOptimized::from(Reason::SwitchedOff)
    })
}

/// The same of the place of a probe.
pub(crate) fn why_not_of(probe: &Probe) -> Result<Option<NotOptimized>, Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    let at = TextAddr::new(probe.addr() as u64);
    let site = registry.sites.get(at).filter(|site| site.probes.has(probe));
    let site = site.ok_or(Refusal::NotRegistered)?;
    Ok(why_not(registry, (at, site)))
}
