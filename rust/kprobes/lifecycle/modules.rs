// SPDX-License-Identifier: GPL-2.0

//! Modules that come and go, and text that is freed while it has probes.
//!
//! The probes of freed text stay registered until their clients unregister them, but they are
//! *gone*: never called or armed again. If new text at that address is probed, its point replaces
//! the old one.
//!
//! The instructions of a module are restored before, as its asynchronous calls may run until all
//! notifiers have returned. No CPU runs the kernel's init text any more, so that is not written.
//!
//! If freed memory of a module has a `struct kprobe` or the code of a handler, the client has
//! forgotten to unregister the probe. The probe is unregistered here, whatever text it is on; C
//! would call a freed handler. When the module's notifier returns, no CPU uses the probe.
//!
//! C counterpart: `kill_kprobe()` and `kprobes_module_callback()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#[cfg(CONFIG_MODULES)]
use super::unregister;
use crate::{
    registry::prelude::*,
    sys::blacklist, //
};
#[cfg(CONFIG_MODULES)]
use crate::{
    sys::{
        modules::{
            FreedMemory,
            Module, //
        },
        report, //
    },
    table::Retired, //
};

/// Notes a module that is being loaded. Its text may be probed then, except for its blacklist.
#[cfg(CONFIG_MODULES)]
pub(crate) fn coming(module: Module) -> Result<(), Refusal> {
    let registry = &mut *Registry::lock();
    Arch::module_coming();
    registry.blacklisted_modules.add(module)?;
    let announced = registry.images.module_coming(module);
    announced.inspect_err(|_| registry.blacklisted_modules.remove(module))
}

/// Allows jumps in a module that is being loaded: its tables are sorted now.
#[cfg(CONFIG_MODULES)]
pub(crate) fn sorted(module: Module) {
    let registry = &mut *Registry::lock();
    registry.images.module_sorted(module);
    let mut change = registry.change();
    let points = change.points.iter();
    change.try_to_optimize(&mut points.filter(|point| module.has(point.at)));
}

/// Hooks of return probes into the end of a module. Each gets a probe, which may be the entry of a
/// return probe.
#[cfg(CONFIG_MODULES)]
pub(crate) struct ReturnProbeHooks {
    /// Returns whether the return probe uses memory or code that is freed.
    pub(crate) uses_freed: fn(&Probe, &FreedMemory) -> bool,
    /// Is called before the probe is unregistered.
    pub(crate) on_unregister: fn(&Probe),
}

/// Handles the end of a module, or of its init memory only.
#[cfg(CONFIG_MODULES)]
pub(crate) fn kill_module(freed: FreedMemory, hooks: &ReturnProbeHooks) {
    let mut retired = Retired::new();
    let mut registry = Registry::lock();
    let mut change = registry.change();
    let points = change.points;
    change.disarm_text(|| points.iter().filter(|point| freed.has(point.at)));
    // Unlocks the text: ftrace takes the lock itself.
    drop(change);
    kill_points(&mut registry.change(), |at| freed.has(at));
    registry.images.forget(freed.module);
    if !freed.init_only {
        registry.blacklisted_modules.remove(freed.module);
    }
    let forgotten = ForgottenProbes { freed, hooks };
    if forgotten.disable(&registry) {
        forgotten.remove(&mut registry, &mut retired);
        drop(registry);
        retired.wait();
    }
}

/// Handles the end of a module if its load failed before the last notifier was called: the last
/// notifier is not called for the end either.
#[cfg(CONFIG_MODULES)]
pub(crate) fn load_failed(freed: FreedMemory, hooks: &ReturnProbeHooks) {
    let is_early = Registry::lock().images.is_unsorted(freed.module);
    if is_early {
        kill_module(freed, hooks);
    }
}

/// Handles the end of the kernel's init text.
pub(crate) fn kill_init_text() {
    let init = blacklist::init_text();
    kill_points(&mut Registry::lock().change(), |at| init.contains(at));
}

/// Marks the points of freed text and their probes as gone.
fn kill_points(change: &mut Change<'_>, is_freed: impl Fn(TextAddr) -> bool) {
    let points = change.points.iter();
    for point in points.filter(|point| is_freed(point.at) && !point.gone.get()) {
        change.forget_jump(point);
        // If ftrace refuses, its calls stay in the text until it is freed, and find no point.
        let _ = change.stop_ftrace(point, true);
        point.armed.set(Armed::No);
        point.gone.set(true);
        for probe in point.probes.iter() {
            point.probes.set_flag(probe, Flag::Gone, true);
        }
    }
}

/// The probes that a module has forgotten to unregister.
#[cfg(CONFIG_MODULES)]
struct ForgottenProbes<'a> {
    freed: FreedMemory,
    hooks: &'a ReturnProbeHooks,
}

#[cfg(CONFIG_MODULES)]
impl ForgottenProbes<'_> {
    /// Returns the forgotten probes of a point.
    fn of<'p>(&'p self, point: &'p Point) -> impl Iterator<Item = &'p Probe> {
        let is_freed = |at| self.freed.has(at);
        point.probes.iter().filter(move |probe| {
            let jprobe = probe.jprobe();
            probe.uses_freed(is_freed)
                || jprobe.is_some_and(|jprobe| is_freed(jprobe.handler()))
                || (self.hooks.uses_freed)(probe, &self.freed)
        })
    }

    /// Disables the forgotten probes, and returns whether there are any.
    fn disable(&self, registry: &Registry) -> bool {
        let mut any = false;
        for point in registry.points.iter() {
            for probe in self.of(point.point) {
                report::forgotten(&self.freed, probe);
                point.probes.set_flag(probe, Flag::Disabled, true);
                any = true;
            }
        }
        any
    }

    /// Disarms and removes the forgotten probes.
    fn remove(&self, registry: &mut Registry, retired: &mut Retired<Point>) {
        let mut change = registry.change();
        let points = change.points;
        change.disarm_idle(|| points.iter());
        drop(change);
        unregister::wait_for_jprobes(registry.points.iter());
        let mut change = registry.change();
        for point in change.points.iter() {
            for probe in self.of(point.point) {
                (self.hooks.on_unregister)(probe);
                point.probes.remove(probe);
            }
            if point.probes.is_empty() {
                change.forget_jump(point);
            }
        }
        registry.points.remove_empty(retired);
        // A removed probe may have prevented a jump at any point.
        registry.change().try_to_optimize_all();
    }
}
