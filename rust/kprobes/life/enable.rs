// SPDX-License-Identifier: GPL-2.0

//! Enabling and disabling: one registered probe, or all of them.
//!
//! C counterpart: `enable_kprobe()`, `disable_kprobe()` and `arm_all_kprobes()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    arm::{
        self,
        Place, //
    },
    optimize,
    register::{
        self,
        Client, //
    },
    site::{
        self,
        Registry,
        Site, //
    }, //
};
use crate::{
    prelude::*,
    sys::{
        lock::Lock,
        probe::{
            Flag,
            Probe, //
        },
        text, //
    }, //
};
use kernel::prelude::*;

/// Does `what` to each probe, up to the first refusal.
pub(crate) fn each(
    clients: &[Client],
    what: fn(Client) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    clients.iter().try_for_each(|&client| what(client))
}

/// Lets a probe be called again.
pub(crate) fn enable(client: Client) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    let (probe, at) = registered(registry, client)?;
    if probe.is(Flag::Gone) {
        return Err(Refusal::Gone);
    }
    if !probe.is(Flag::Disabled) {
        return Ok(());
    }
    if probe.is_jprobe() {
        arm::claim(registry, at)?;
    }
    set_disabled(registry, at, probe, false);
    if registry.disarmed {
        return Ok(());
    }
    arm::one(registry, at).inspect_err(|_| set_disabled(registry, at, probe, true))
}

/// Lets a probe not be called.
pub(crate) fn disable(client: Client) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    let (probe, at) = registered(registry, client)?;
    if !probe.is_enabled() {
        return Ok(());
    }
    set_disabled(registry, at, probe, true);
    if registry.sites.get(at).is_some_and(Site::is_wanted) {
        return Ok(());
    }
    arm::off(registry, at).inspect_err(|_| set_disabled(registry, at, probe, false))
}

fn set_disabled(registry: &Registry, at: TextAddr, probe: &Probe, disabled: bool) {
    if let Some(site) = registry.sites.get(at) {
        site.probes.mark(probe, Flag::Disabled, disabled);
    }
}

fn registered(registry: &Registry, client: Client) -> Result<(&'static Probe, TextAddr), Refusal> {
    let probe = client.ok_or(Refusal::NoProbe)?;
    let at = TextAddr::new(probe.addr() as u64);
    if register::is_registered(registry, at, probe) {
        Ok((probe, at))
    } else {
        Err(Refusal::NotRegistered)
    }
}

/// Arms all that is to be armed, or nothing any more. As many as possible; the refusal is the last
/// one's.
pub(crate) fn all(on: bool) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    if registry.disarmed != on {
        return Ok(());
    }
    registry.disarmed = !on;
    breakpoints(registry, on);
    let Registry { sites, ftrace, .. } = registry;
    let mut result = Ok(());
    let (mut failed, mut total) = (0, 0);
    for place in sites.iter().filter(is_wanted) {
        total += 1;
        if let Err(refusal) = arm::switch_ftrace(place, ftrace, on) {
            failed += 1;
            result = Err(refusal);
        }
    }
    tell(on, failed, total);
    result
}

fn is_wanted((_, site): &Place<'_>) -> bool {
    site.is_wanted()
}

/// Puts in all breakpoints, or takes out all of them, and the jumps first.
fn breakpoints(registry: &mut Registry, on: bool) {
    let Registry {
        sites,
        optimizer,
        images,
        ..
    } = registry;
    let wanted = || sites.iter().filter(is_wanted);
    let text = &mut text::Lazy::new();
    if on {
        arm::arm_all(&mut wanted(), text.get());
        optimize::consider(
            sites,
            optimizer,
            images,
            text,
            &mut wanted().map(|(at, _)| at),
        );
    } else {
        optimize::leave(sites, optimizer, text, &mut wanted().map(|(at, _)| at));
        arm::disarm_all(&mut wanted(), text.get());
    }
}

fn tell(on: bool, failed: usize, total: usize) {
    let (done, undone, kept) = if on {
        ("enabled", "enable", "disabled")
    } else {
        ("disabled", "disable", "enabled")
    };
    if failed == 0 {
        pr_info!("Kprobes globally {done}\n");
    } else {
        pr_warn!(
            "Kprobes globally {done}, but failed to {undone} {failed} out of {total} probes. \
             Please check which kprobes are kept {kept} via debugfs.\n"
        );
    }
}
