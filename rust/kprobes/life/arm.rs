// SPDX-License-Identifier: GPL-2.0

//! Making places be hit, and not be hit.
//!
//! Breakpoints come and go in batches: all are written, in the order of their addresses, then all
//! CPUs are made to see them at once. A batch is what a registration has between two turns of
//! others, or all there are when the switch for all probes is turned. What ftrace calls from is a
//! matter of each place.

use super::{
    optimize,
    site::{
        Armed,
        Registry,
        Site,
        Way, //
    },
    symbol_cache::SymbolCache, //
};
use crate::{
    arch::Current,
    contract::Machine,
    prelude::*,
    sys::{
        ftrace::Users,
        sort,
        text, //
    },
    table::Writer, //
};
use kernel::prelude::*;

/// A place: its address, and what is known of it.
pub(crate) type Place<'a> = (TextAddr, &'a Site);

/// Places whose breakpoints are to change together.
pub(crate) struct Batch(KVec<u64>);

impl Batch {
    /// Room for `count` places.
    pub(crate) fn with_room(count: usize) -> Result<Self, Refusal> {
        let places = KVec::with_capacity(count, GFP_KERNEL);
        places.map(Self).map_err(|_| Refusal::NoMemory)
    }

    /// One more.
    pub(crate) fn add(&mut self, at: TextAddr) -> Result<(), Refusal> {
        let pushed = self.0.push(at.get(), GFP_KERNEL);
        pushed.map_err(|_| Refusal::NoMemory)
    }

    /// Puts in the breakpoints of those that are wanted.
    pub(crate) fn arm(mut self, registry: &mut Registry, cache: &mut SymbolCache) {
        sort::ascending(&mut self.0);
        let Registry {
            sites,
            optimizer,
            images,
            ..
        } = registry;
        let text = &mut text::Lazy::new();
        let unarmed = &mut self.wanted(sites).map(|(at, _)| at);
        optimize::make_room(sites, optimizer, text, unarmed);
        arm_all(&mut self.wanted(sites), text.get());
        optimize::consider_with(sites, optimizer, images, cache, text, &mut self.addresses());
    }

    fn addresses(&self) -> impl Iterator<Item = TextAddr> + '_ {
        self.0.iter().map(|&at| TextAddr::new(at))
    }

    fn wanted<'a>(&'a self, sites: &'a Writer<Site>) -> impl Iterator<Item = Place<'a>> {
        let places = self.addresses().filter_map(|at| Some((at, sites.get(at)?)));
        places.filter(|(_, site)| site.armed() == Armed::No && site.is_wanted())
    }
}

/// Puts in the breakpoint of each place that is hit by one.
pub(crate) fn arm_all<'a>(sites: &mut dyn Iterator<Item = Place<'a>>, text: &mut text::Lock) {
    let mut places = sites.filter_map(|(at, site)| {
        let prepared = site.prepared()?;
        site.set_armed(Armed::Breakpoint);
        Some((at, prepared))
    });
    Current::arm(&mut places, text);
}

/// Takes out the breakpoint of each place that has one, and has no jump any more.
pub(crate) fn disarm_all<'a>(sites: &mut dyn Iterator<Item = Place<'a>>, text: &mut text::Lock) {
    let mut places = sites.filter_map(|(at, site)| {
        let prepared = site.prepared()?;
        (site.armed() == Armed::Breakpoint).then(|| {
            site.set_armed(Armed::No);
            (at, prepared)
        })
    });
    Current::disarm(&mut places, text);
}

/// Arms one place, however it is hit.
pub(crate) fn one(registry: &mut Registry, at: TextAddr) -> Result<(), Refusal> {
    let Registry {
        sites,
        optimizer,
        images,
        ..
    } = registry;
    let Some(site) = sites.get(at) else {
        return Ok(());
    };
    match site.way {
        Way::Ftrace => ftrace(registry, at),
        Way::Breakpoint(_) if site.armed() == Armed::No => {
            let text = &mut text::Lazy::new();
            optimize::make_room(sites, optimizer, text, &mut [at].into_iter());
            arm_all(&mut [(at, site)].into_iter(), text.get());
            optimize::consider(sites, optimizer, images, text, &mut [at].into_iter());
            Ok(())
        }
        Way::Breakpoint(_) => Ok(()),
    }
}

/// Lets ftrace call from a place, in the way that its probes want.
pub(crate) fn ftrace(registry: &mut Registry, at: TextAddr) -> Result<(), Refusal> {
    let Registry { sites, ftrace, .. } = registry;
    sites
        .get(at)
        .map_or(Ok(()), |site| switch_ftrace((at, site), ftrace, true))
}

/// Disarms one place, however it is hit.
pub(crate) fn off(registry: &mut Registry, at: TextAddr) -> Result<(), Refusal> {
    let Registry {
        sites,
        ftrace,
        optimizer,
        images,
        ..
    } = registry;
    let Some(site) = sites.get(at) else {
        return Ok(());
    };
    if site.armed() == Armed::Breakpoint {
        let text = &mut text::Lazy::new();
        optimize::leave(sites, optimizer, text, &mut [at].into_iter());
        disarm_all(&mut [(at, site)].into_iter(), text.get());
        optimize::reconsider(sites, optimizer, images, text, &mut [at].into_iter());
    }
    switch_ftrace((at, site), ftrace, false)
}

/// Lets ftrace call from a place, if that is how it is hit, or not any more.
///
/// A place that is watched, and gets a probe that wants to be called after the instruction, is
/// called from by the user that changes as well: then nobody else changes where the CPU goes on.
/// The hits stay with the one that watches. To give them to the other one, and lose none, one would
/// have to wait until no task is on its way to the first alone, for as long as Tasks RCU takes, and
/// then stop all CPUs.
pub(crate) fn switch_ftrace(place: Place<'_>, ftrace: &mut Users, on: bool) -> Result<(), Refusal> {
    let (at, site) = place;
    if !site.is_ftrace() {
        return Ok(());
    }
    let changing = site.probes.comes_back();
    match site.armed() {
        Armed::No if on => {
            ftrace.add(at, changing)?;
            site.set_armed(Armed::called(changing));
        }
        Armed::Watching if on && changing => guard(place, ftrace)?,
        armed @ (Armed::Watching | Armed::Changing) if !on => stop(place, ftrace, armed)?,
        _ => (),
    }
    Ok(())
}

/// Sees to it that nobody else changes where the CPU goes on at a place, before a probe is called
/// there that does.
pub(crate) fn claim(registry: &mut Registry, at: TextAddr) -> Result<(), Refusal> {
    let Registry { sites, ftrace, .. } = registry;
    match sites.get(at) {
        Some(site) if site.armed() == Armed::Watching => guard((at, site), ftrace),
        _ => Ok(()),
    }
}

fn guard((at, site): Place<'_>, ftrace: &mut Users) -> Result<(), Refusal> {
    if !site.is_guarded() {
        ftrace.add(at, true)?;
        site.set_guarded(true);
    }
    Ok(())
}

/// Lets ftrace not call any more from a place that it calls from. If it refuses, all is as before,
/// or the user that changes has the place alone.
fn stop(place: Place<'_>, ftrace: &mut Users, armed: Armed) -> Result<(), Refusal> {
    let (at, site) = place;
    site.set_armed(Armed::No);
    let removed = ftrace.remove(at, armed == Armed::Changing);
    removed.inspect_err(|_| site.set_armed(armed))?;
    if !site.is_guarded() {
        return Ok(());
    }
    site.set_guarded(false);
    let removed = ftrace.remove(at, true);
    removed.inspect_err(|_| site.set_armed(Armed::Changing))
}

/// Lets ftrace not call any more from a place that goes. If ftrace refuses, it calls for nothing.
pub(crate) fn leave_ftrace(place: Place<'_>, ftrace: &mut Users) -> Result<(), Refusal> {
    let (at, site) = place;
    let armed = site.armed();
    if !matches!(armed, Armed::Watching | Armed::Changing) {
        return Ok(());
    }
    site.set_armed(Armed::No);
    let left = ftrace.give_up(at, armed == Armed::Changing);
    if !site.is_guarded() {
        return left;
    }
    site.set_guarded(false);
    ftrace.give_up(at, true).and(left)
}
