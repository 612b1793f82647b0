// SPDX-License-Identifier: GPL-2.0

//! Removing jumps, and what is in the way of them.

use crate::{
    model::opt_state::Leave,
    registry::{
        jump::{
            OptInsn,
            Optimizer, //
        },
        prelude::*, //
    }, //
};
use kernel::prelude::*;

/// What the back end is told of points whose text is to change.
pub(super) type Each<'a> = dyn FnMut(TextAddr, &ArchInsn, &OptInsn) + 'a;

impl Points {
    /// Tells the back end of the points at these addresses.
    pub(super) fn tell(&self, addresses: &mut dyn Iterator<Item = TextAddr>, each: &mut Each<'_>) {
        for point in addresses.filter_map(|at| self.get(at)) {
            if let (Some(prepared), Some(detour)) = (point.prepared(), point.jump.detour()) {
                each(point.at, prepared, detour);
            }
        }
    }

    /// The first breakpoint in the bytes of a jump at `at`.
    pub(super) fn inside(&self, at: TextAddr) -> Option<TextAddr> {
        let mut inside = (1..Current::REACH).filter_map(|distance| at.after(distance).ok());
        inside.find(|&at| {
            let point = self.get(at);
            point.is_some_and(|point| point.armed.get() == Armed::Breakpoint)
        })
    }

    /// Is nothing in the way of a jump now?
    pub(super) fn may_jump(&self, point: PointRef<'_>) -> bool {
        point.armed.get() == Armed::Breakpoint
            && !point.probes.has_post_handler()
            && self.inside(point.at).is_none()
    }
}

/// A hit of the point is handled as it was before the point was queued.
pub(super) fn undo_redirect(point: PointRef<'_>) {
    if let Some(prepared) = point.prepared() {
        Current::redirect(prepared, None);
    }
}

impl Optimizer {
    /// The point was decided about, or is about to be removed.
    pub(super) fn forget_passing(&mut self, at: TextAddr) {
        self.passing.retain(|&mut (other, _)| other != at);
        if self.passing.is_empty() {
            self.passing = KVec::new();
        }
    }
}

impl Change<'_> {
    /// Removes the jumps over these points, whose breakpoints are about to be written.
    pub(crate) fn make_room<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        let all = self.points;
        self.leave(&mut points.flat_map(|point| all.before(point.at)));
    }

    /// Takes these points out of the queue, and removes their jumps.
    pub(crate) fn leave<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        let (all, queue) = (self.points, &mut self.optimizer.queue);
        for point in points {
            if queue.leave(point.at, all) == Leave::UndoRedirect {
                undo_redirect(point);
            }
        }
        if queue.leaving(all).next().is_none() {
            return;
        }
        let tell = |each: &mut Each<'_>| all.tell(&mut queue.leaving(all), each);
        Current::unoptimize(&tell, self.text.get());
        // Hits may continue in the text only now: before, they would have run the jump's
        // displacement bytes.
        while let Some(at) = queue.left(all) {
            all.count_jumps(-1);
            all.get(at).map(undo_redirect);
        }
    }

    /// A point is about to be removed, or its text was freed. Its jump is not removed from the text
    /// any more, and a task that comes to its detour late calls no handler.
    pub(crate) fn forget(&mut self, point: PointRef<'_>) {
        if let Some(jump) = point.jump.jump() {
            Current::set_owner(&jump.detour, None);
            if jump.node.state().has_jump() {
                self.points.count_jumps(-1);
            }
        }
        self.optimizer.queue.forget(point.at, self.points);
        self.optimizer.forget_passing(point.at);
    }
}
