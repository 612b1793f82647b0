// SPDX-License-Identifier: GPL-2.0

//! The reasons why a point that is hit by a breakpoint has no jump, for debugfs and for clients.

use crate::registry::prelude::*;

impl Registry {
    /// Returns why a point with a breakpoint has no jump, and none is queued. In this order: the
    /// stored decision, the blocker, the sysctl that is off, the temporary reason, the last
    /// shortage.
    ///
    /// No decision is made while the sysctl is off, or while a probe prevents the jump. So with the
    /// sysctl off, an undecided point is shown as switched off even if its text prevents a jump
    /// always.
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
        // Without these reasons, the point is undecided because its last attempt was short of
        // memory, for the detour or to store the reason, or met too many pending detours. Nothing
        // else leads here: when another obstacle ends, an attempt follows before the registry is
        // unlocked. A shortage is not stored for each point. The last one is shown, which another
        // point may have met.
        why.or(Some(self.optimizer.shortage.into()))
    }
}
