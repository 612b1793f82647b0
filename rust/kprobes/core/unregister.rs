// SPDX-License-Identifier: GPL-2.0

//! Unregistration.
//!
//! The order of the steps keeps hits from getting lost. First the instruction is restored, and all
//! CPUs synchronize. Only then the point is removed from the table, since a CPU that has hit the
//! breakpoint must find the point. After a grace period no CPU runs a handler of the probe, and the
//! client may free the probe. One grace period serves the whole batch.
//!
//! A point that had a jprobe takes another grace period before it is removed. Interrupts are on in
//! a jprobe's handler, so a CPU may run a handler after all CPUs have synchronized.
//!
//! C counterpart: `unregister_kprobes()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    Client,
    CHUNK, //
};
use crate::{
    registry::prelude::*,
    slots,
    sys::{
        preempt,
        report, //
    },
    table::Retired, //
};

/// Unregisters all probes. As in C, a probe that is not registered only loses its address, which
/// tells the client that the probe was not registered.
pub(crate) fn batch(clients: &[Client]) {
    let removed = batch_no_wait(clients);
    if !clients.is_empty() {
        removed.wait();
    }
}

/// Removed points, which earlier hits may still use.
#[must_use]
pub(crate) struct RemovedPoints(Retired<Point>);

impl RemovedPoints {
    /// Waits until no hit uses the points, and frees them.
    pub(crate) fn wait(self) {
        self.0.wait();
        drop(slots::free_unused());
    }
}

/// Unregisters all probes. The caller waits for the hits that use the probes.
pub(crate) fn batch_no_wait(clients: &[Client]) -> RemovedPoints {
    let mut retired = Retired::new();
    for chunk in clients.chunks(CHUNK) {
        let registry = &mut *Registry::lock();
        let probes = || chunk.iter().flatten();
        let addresses = || probes().map(|probe| points::addr_of(probe));
        disarm_idle(&mut registry.change(), chunk);
        let points = &registry.points;
        wait_for_jprobes(addresses().filter_map(|at| points.get(at)));
        for probe in probes() {
            remove(registry, probe, &mut retired);
        }
        registry.change().reconsider(&mut addresses());
        registry.points.shrink();
    }
    RemovedPoints(retired)
}

/// Disables the probes, and disarms the points that are not wanted any more.
fn disarm_idle(change: &mut Change<'_>, chunk: &[Client]) {
    let probes = || chunk.iter().flatten();
    for probe in probes() {
        if disable(change, probe).is_err() {
            probe.set_addr(0);
        }
    }
    let points = change.points;
    let idle = || {
        let points = probes().filter_map(|probe| points.get(points::addr_of(probe)));
        points.filter(|point| point.armed.get() == Armed::Breakpoint && !point.is_wanted())
    };
    if idle().next().is_some() {
        change.remove_jumps(&mut idle());
        change.disarm_breakpoints(&mut idle());
    }
}

/// Disables a probe. A point that is hit by a breakpoint stays armed.
fn disable(change: &mut Change<'_>, probe: &Probe) -> Result<(), Refusal> {
    let point = change.points.of(probe)?;
    point.probes.mark(probe, Flag::Disabled, true);
    if !point.is_wanted() && change.give_up_ftrace(point).is_err() {
        // Unregistration returns no error to the client.
        report::still_called();
    }
    Ok(())
}

/// If one of these points is about to be removed, waits until no CPU runs a jprobe's handler at
/// them. The end of such a handler looks the point up, and preemption is off until then.
pub(super) fn wait_for_jprobes<'p>(points: impl IntoIterator<Item = PointRef<'p>>) {
    if points
        .into_iter()
        .any(|point| point.had_jprobe.get() && !point.is_wanted())
    {
        preempt::synchronize_rcu();
    }
}

/// Removes a disabled probe from its point, and the point with its last probe.
fn remove(registry: &mut Registry, probe: &Probe, retired: &mut Retired<Point>) {
    let mut change = registry.change();
    let Ok(point) = change.points.of(probe) else {
        return;
    };
    point.probes.remove(probe);
    if point.probes.is_empty() {
        let at = point.at;
        change.forget(point);
        registry.points.remove(at, retired);
    }
}

/// Undoes the registration of a probe if a later step fails.
pub(super) fn take_back(registry: &mut Registry, probe: &Probe) {
    let mut retired = Retired::new();
    remove(registry, probe, &mut retired);
    registry
        .change()
        .reconsider(&mut [points::addr_of(probe)].into_iter());
    retired.wait();
    probe.unlink();
}
