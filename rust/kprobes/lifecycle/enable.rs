// SPDX-License-Identifier: GPL-2.0

//! Enabling and disabling: one registered probe, or all of them.
//!
//! C counterpart: `enable_kprobe()`, `disable_kprobe()` and `arm_all_kprobes()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::ProbePtr;
use crate::registry::prelude::*;
use kernel::prelude::*;

/// Enables the probe of a client.
pub(crate) fn enable(clients: &[ProbePtr]) -> Result<(), Refusal> {
    let probe = clients.first().copied().flatten().ok_or(Refusal::NoProbe)?;
    let registry = &mut *Registry::lock();
    let disarmed = registry.all_disarmed;
    let change = &mut registry.change();
    let point = change.points.of(probe)?;
    if probe.is(Flag::Gone) {
        return Err(Refusal::Gone);
    }
    if !probe.is(Flag::Disabled) {
        return Ok(());
    }
    if probe.is_jprobe() {
        change.hold_ipmodify(point)?;
    }
    point.probes.set_flag(probe, Flag::Disabled, false);
    if disarmed {
        return Ok(());
    }
    let armed = change.arm_one(point);
    armed.inspect_err(|_| point.probes.set_flag(probe, Flag::Disabled, true))
}

/// Disables the probe of a client.
pub(crate) fn disable(clients: &[ProbePtr]) -> Result<(), Refusal> {
    let probe = clients.first().copied().flatten().ok_or(Refusal::NoProbe)?;
    let mut registry = Registry::lock();
    let change = &mut registry.change();
    let point = change.points.of(probe)?;
    if !probe.is_enabled() {
        return Ok(());
    }
    point.probes.set_flag(probe, Flag::Disabled, true);
    if point.is_wanted() {
        return Ok(());
    }
    let disarmed = change.disarm_one(point);
    disarmed.inspect_err(|_| point.probes.set_flag(probe, Flag::Disabled, false))
}

/// Arms all enabled probes, or disarms all probes. Goes on after an error; returns the last error.
pub(crate) fn arm_or_disarm_all(on: bool) -> Result<(), Refusal> {
    let registry = &mut *Registry::lock();
    if registry.all_disarmed != on {
        return Ok(());
    }
    registry.all_disarmed = !on;
    // Two changes: the first one may hold the text lock until its end, and ftrace takes that lock.
    switch_breakpoints(&mut registry.change(), on);
    let change = &mut registry.change();
    let mut result = Ok(());
    let (mut failed, mut total) = (0, 0);
    for point in change.points.wanted() {
        total += 1;
        let switched = if on {
            change.arm_by_ftrace(point)
        } else {
            change.stop_ftrace(point, false)
        };
        if let Err(refusal) = switched {
            failed += 1;
            result = Err(refusal);
        }
    }
    log_result(on, failed, total);
    result
}

/// Writes all breakpoints, or removes all jumps and breakpoints.
fn switch_breakpoints(change: &mut Change<'_>, on: bool) {
    let points = change.points;
    if on {
        change.set_breakpoints(&mut points.wanted(), true);
        change.try_to_optimize_all();
    } else {
        change.disarm_text(|| points.wanted());
    }
}

fn log_result(on: bool, failed: usize, total: usize) {
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
