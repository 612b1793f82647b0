// SPDX-License-Identifier: GPL-2.0

//! Unregistration.
//!
//! The order of the steps keeps a hit from getting lost. First the instruction is restored and
//! every CPU has seen that; only then the point is removed from the table, as a CPU that has hit
//! the breakpoint must find the point. After a grace period no CPU runs a handler of the probe, and
//! the client may free it. One grace period serves the whole batch.
//!
//! A point that had a jprobe takes one grace period more, before it is removed: interrupts are on
//! in a jprobe's handler, so a CPU may run one after all CPUs have seen the restored instruction.
//!
//! C counterpart: `unregister_kprobes()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    Client,
    CHUNK, //
};
use crate::{
    registry::{
        points,
        prelude::*, //
    },
    slots,
    sys::{
        preempt,
        report, //
    },
    table::Retired, //
};

/// Unregisters all probes. A probe that is not registered only loses its address, as in C: the
/// client can see by the address that the probe was not registered.
pub(crate) fn batch(clients: &[Client]) {
    let removed = batch_no_wait(clients);
    if !clients.is_empty() {
        removed.wait();
    }
}

/// Removed points, which hits that have begun before may still use.
#[must_use]
pub(crate) struct RemovedPoints(Retired<Point>);

impl RemovedPoints {
    /// Waits until no hit uses them, and frees them.
    pub(crate) fn wait(self) {
        self.0.wait();
        drop(slots::tidy());
    }
}

/// Unregisters all probes, but leaves the wait for hits that use them to the caller.
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
        registry.points.tidy();
    }
    RemovedPoints(retired)
}

/// Disables the probes, and disarms the points that are not wanted then.
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
        // Unregistration has no error that the client could be given.
        report::still_called();
    }
    Ok(())
}

/// Waits until no CPU is in the handler of a jprobe at these points, if one of them is about to be
/// removed. The end of such a handler looks the point up, and preemption is off until then.
pub(super) fn wait_for_jprobes<'p>(points: impl IntoIterator<Item = PointRef<'p>>) {
    if points
        .into_iter()
        .any(|point| point.had_jprobe.get() && !point.is_wanted())
    {
        preempt::wait_for_all();
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

/// Undoes the registration of a probe when a later step of it fails.
pub(super) fn take_back(registry: &mut Registry, probe: &Probe) {
    let mut retired = Retired::new();
    remove(registry, probe, &mut retired);
    registry
        .change()
        .reconsider(&mut [points::addr_of(probe)].into_iter());
    retired.wait();
    probe.unlink();
}
