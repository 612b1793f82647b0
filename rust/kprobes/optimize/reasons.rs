// SPDX-License-Identifier: GPL-2.0

//! Why a point that is hit by a breakpoint has no jump: for debugfs, and for clients that ask.

use crate::registry::prelude::*;

impl Registry {
    /// Returns why a point that is hit by a breakpoint has no jump, and none is queued.
    pub(crate) fn why_no_jump(&self, point: PointRef<'_>) -> Option<NotOptimized> {
        if point.armed.get() != Armed::Breakpoint || point.jump.is_optimized() {
            return None;
        }
        if let Some(&Err(why)) = point.jump.decided() {
            return Some(why);
        }
        Some(if point.probes.iter().any(Probe::is_jprobe) {
            NotOptimized::from(Reason::Jprobe)
        } else if point.probes.has_post_handler() {
            NotOptimized::from(Reason::PostHandler)
        } else if let Some(inside) = self.points.inside(point.at) {
            Reason::ProbeInside.at(inside)
        } else if !self.optimizer.allowed {
            NotOptimized::from(Reason::SwitchedOff)
        } else {
            let mut temporary = self.optimizer.temporary.iter();
            let found = temporary.find(|(at, _)| *at == point.at);
            // A lack of memory is the only temporary reason that is not stored.
            found.map_or(Reason::NoMemory.into(), |&(_, why)| why)
        })
    }
}

/// Returns why the point of a registered probe has no jump.
pub(crate) fn why_no_jump(probe: &Probe) -> Result<Option<NotOptimized>, Refusal> {
    let registry = &mut *Registry::lock();
    let point = registry.points.of(probe)?;
    Ok(registry.why_no_jump(point))
}
