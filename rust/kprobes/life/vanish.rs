// SPDX-License-Identifier: GPL-2.0

//! What goes while there are probes: a module, or what was for the beginning.
//!
//! Nobody runs text that goes any more, so the breakpoints in it need not be taken out. The probes
//! stay registered, since their clients will unregister them, but are *gone*: never called, never
//! armed again. If text comes to the same address later and is probed, the place is made anew.
//!
//! What else of a module's is used by a probe, its own memory and the code of its handlers, is for
//! `forgotten.rs`.
//!
//! C counterpart: `kill_kprobe()` and its callers in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#[cfg(CONFIG_MODULES)]
use super::forgotten;
use super::{
    arm::{
        self,
        Place, //
    },
    optimize,
    site::{
        self,
        Armed,
        Registry, //
    }, //
};
use crate::{
    prelude::*,
    sys::{
        blacklist,
        ftrace::Users,
        lock::Lock,
        probe::Flag, //
    }, //
};
#[cfg(CONFIG_MODULES)]
use crate::{
    sys::modules::Going,
    table::Retired, //
};

/// A module goes, or the part of it that was for its beginning.
#[cfg(CONFIG_MODULES)]
pub(crate) fn module(going: Going) {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    places(registry, |at| going.has(at));
    registry.images.forget(going.module);
    if !going.init_only {
        registry.modules.remove(going.module);
    }
    if forgotten::disable(registry, &going) {
        let mut retired = Retired::new();
        forgotten::take_out(registry, &going, &mut retired);
        drop(lock);
        retired.wait();
    }
}

/// A module goes whose load has failed before all others were told that it comes.
#[cfg(CONFIG_MODULES)]
pub(crate) fn load_failed(going: Going) {
    let is_early = {
        let mut lock = Lock::new();
        site::registry(&mut lock).images.is_unsorted(going.module)
    };
    if is_early {
        module(going);
    }
}

/// The part of the kernel goes that was for its beginning.
pub(crate) fn init_text() {
    let init = blacklist::init_text();
    places(site::registry(&mut Lock::new()), |at| init.contains(at));
}

/// The places in text that goes.
fn places(registry: &mut Registry, goes: impl Fn(TextAddr) -> bool) {
    let Registry {
        sites,
        ftrace,
        optimizer,
        ..
    } = registry;
    let places = sites.iter();
    for place in places.filter(|(at, site)| goes(*at) && !site.is_gone()) {
        optimize::forget(sites, optimizer, place.0);
        gone(place, ftrace);
    }
}

fn gone(place: Place<'_>, ftrace: &mut Users) {
    let (_, site) = place;
    // If ftrace refuses, it calls from text that nobody runs.
    let _ = arm::leave_ftrace(place, ftrace);
    site.set_armed(Armed::No);
    site.set_gone();
    for probe in site.probes.iter() {
        site.probes.mark(probe, Flag::Gone, true);
    }
}
