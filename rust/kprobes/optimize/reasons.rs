// SPDX-License-Identifier: GPL-2.0

//! Why a point that is hit by a breakpoint has no jump: for debugfs, and for clients that ask.

use crate::registry::prelude::*;

impl Registry {
    /// Returns why a point that is hit by a breakpoint has no jump, and none is queued.
    pub(crate) fn why_no_jump(&self, point: PointRef<'_>) -> Option<NotOptimized> {
        if point.armed.get() != Armed::Breakpoint || point.jump.is_optimized() {
            return None;
        }
        let decided = point
            .jump
            .decided()
            .and_then(|decided| decided.as_ref().err());
        let why = decided.copied().or_else(|| self.points.obstacle(point));
        let switched_off = (!self.optimizer.allowed).then_some(Reason::SwitchedOff.into());
        let mut temporary = self.optimizer.temporary.iter();
        let temporary = temporary.find(|(at, _)| *at == point.at);
        let why = why.or(switched_off).or(temporary.map(|&(_, why)| why));
        // A lack of memory is the only temporary reason that is not stored, or there was no memory
        // to store it.
        why.or(Some(Reason::NoMemory.into()))
    }
}

/// Returns why the point of a registered probe has no jump.
pub(crate) fn why_no_jump(probe: &Probe) -> Result<Option<NotOptimized>, Refusal> {
    let registry = &mut *Registry::lock();
    let point = registry.points.of(probe)?;
    Ok(registry.why_no_jump(point))
}
