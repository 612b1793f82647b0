// SPDX-License-Identifier: GPL-2.0

//! Unregistration.
//!
//! The order of the steps keeps hits from getting lost. First the instruction is restored, and all
//! CPUs synchronize. Only then the point is removed from the table, since a CPU that has hit the
//! breakpoint must find the point. After a grace period no CPU runs a handler of the probe, and the
//! client may free the probe. One grace period serves the whole batch.
//!
//! A point that had a jprobe takes another grace period before it is removed. Interrupts may be on
//! in a jprobe's handler, so a CPU may run a handler after all CPUs have synchronized.
//!
//! C counterpart: `unregister_kprobes()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    ProbePtr,
    CHUNK, //
};
use crate::{
    registry::prelude::*,
    slots,
    sys::preempt,
    table::Retired, //
};

/// Unregisters all probes. As in C, a probe that is not registered only loses its address, which
/// tells the client that the probe was not registered.
pub(crate) fn all(clients: &[ProbePtr]) {
    let removed = all_no_wait(clients);
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
        slots::free_unused_pages();
    }
}

/// Unregisters all probes. The caller waits for the hits that use the probes.
pub(crate) fn all_no_wait(clients: &[ProbePtr]) -> RemovedPoints {
    let mut retired = Retired::new();
    for chunk in clients.chunks(CHUNK) {
        let registry = &mut *Registry::lock();
        let addresses = || chunk.iter().flatten().map(|probe| probe.at());
        let mut change = registry.change();
        let disarmed = disarm(&mut change, chunk);
        // The text is not locked while the next function waits.
        change.text_lock = None;
        if disarmed.had_jprobe {
            wait_for_jprobes(addresses().filter_map(|at| change.points.get(at)));
        }
        unlink(&mut change, chunk);
        if disarmed.armed {
            change.reconsider(&mut addresses());
        }
        drop(change);
        addresses().for_each(|at| registry.points.remove(at, &mut retired));
        registry.points.shrink();
    }
    RemovedPoints(retired)
}

/// The properties that any point of a chunk has.
struct Disarmed {
    /// A point was armed, so it may have prevented jumps.
    armed: bool,
    /// A point had a jprobe.
    had_jprobe: bool,
}

/// Disables the probes, and disarms the points that are not wanted any more.
fn disarm(change: &mut Change<'_>, chunk: &[ProbePtr]) -> Disarmed {
    let points = change.points;
    let probes = || chunk.iter().flatten();
    let (mut armed, mut had_jprobe) = (false, false);
    for probe in probes() {
        if let Ok(point) = points.of(probe) {
            if probe.is_enabled() {
                point.probes.set_flag(probe, Flag::Disabled, true);
            }
            armed |= point.armed.get() != Armed::No;
            had_jprobe |= point.had_jprobe.get();
        } else {
            probe.set_addr(0);
        }
    }
    if armed {
        change.disarm_idle(|| probes().filter_map(|probe| points.get(probe.at())));
    }
    Disarmed { armed, had_jprobe }
}

/// If one of these points is about to be removed, waits until no CPU runs a jprobe's handler at
/// them. The end of such a handler looks the point up, and preemption is off until then.
pub(super) fn wait_for_jprobes<'p>(mut points: impl Iterator<Item = PointRef<'p>>) {
    if points.any(|point| point.had_jprobe.get() && !point.is_wanted()) {
        preempt::synchronize_rcu();
    }
}

/// Removes probes from their points. The caller removes points that are left without probes.
fn unlink(change: &mut Change<'_>, chunk: &[ProbePtr]) {
    for probe in chunk.iter().flatten() {
        if let Ok(point) = change.points.of(probe) {
            point.probes.remove(probe);
            if point.probes.is_empty() {
                change.forget_jump(point);
            }
        }
    }
}

/// Undoes the registration of a probe if a later step fails.
pub(super) fn undo_registration(registry: &mut Registry, probe: &'static Probe) {
    let mut retired = Retired::new();
    let mut change = registry.change();
    unlink(&mut change, &[Some(probe)]);
    change.reconsider(&mut [probe.at()].into_iter());
    drop(change);
    registry.points.remove(probe.at(), &mut retired);
    retired.wait();
    probe.reset_list();
}
