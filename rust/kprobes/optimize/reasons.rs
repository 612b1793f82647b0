// SPDX-License-Identifier: GPL-2.0

//! The reasons why a point that is hit by a breakpoint has no jump, for debugfs and for clients.

use crate::registry::prelude::*;

impl Registry {
    /// Returns why a point with a breakpoint has no jump, and none is queued. In this order: the
    /// stored decision, the blocker, the sysctl that is off, the temporary reason, the last
    /// shortage.
    pub(crate) fn why_no_jump(&self, point: PointRef<'_>) -> Option<NoJump> {
        if point.armed.get() != Armed::Breakpoint || point.jump_decision.is_optimized() {
            return None;
        }
        let decided = point.jump_decision.decided();
        let why = decided.and_then(|decided| decided.as_ref().err().copied());
        let why = why.or_else(|| self.points.blocker(point));
        let switched_off = (!self.optimizer.allowed).then_some(NoJumpReason::SwitchedOff.into());
        let mut temporary = self.optimizer.temporary.iter();
        let temporary = temporary.find(|(at, _)| *at == point.at);
        let why = why.or(switched_off).or(temporary.map(|&(_, why)| why));
        // If no reason is stored, there was no room for the detour, or to store the reason.
        why.or(Some(self.optimizer.shortage.into()))
    }
}

/// Returns why the point of a registered probe has no jump.
pub(crate) fn why_no_jump(probe: &Probe) -> Result<Option<NoJump>, Refusal> {
    let registry = &mut *Registry::lock();
    let point = registry.points.of(probe)?;
    Ok(registry.why_no_jump(point))
}
