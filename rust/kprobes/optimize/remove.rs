// SPDX-License-Identifier: GPL-2.0

//! Removes jumps, at once or together with their points.

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

/// Called with the address, the instruction and the detour of each point whose text is to change.
pub(super) type Each<'a> = dyn FnMut(TextAddr, &ArchInsn, &OptInsn) + 'a;

impl Points {
    /// Calls `each` with the points at these addresses that have a detour.
    pub(super) fn tell(&self, addresses: &mut dyn Iterator<Item = TextAddr>, each: &mut Each<'_>) {
        for point in addresses.filter_map(|at| self.get(at)) {
            if let (Some(prepared), Some(detour)) = (point.prepared(), point.jump.detour()) {
                each(point.at, prepared, detour);
            }
        }
    }
}

/// Sends the hits of a point to the copy of its instruction again, or to its emulation.
pub(super) fn undo_redirect(point: PointRef<'_>) {
    if let Some(prepared) = point.prepared() {
        Current::redirect(prepared, None);
    }
}

impl Optimizer {
    /// Forgets the temporary reason of the point at `at`: the point was decided about, or is about
    /// to be removed.
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
        // Redirect hits back only now: before this, a hit that resumed in the text would have run
        // the jump's displacement bytes.
        while let Some(at) = queue.left(all) {
            all.count_jumps(-1);
            all.get(at).map(undo_redirect);
        }
    }

    /// Forgets the jump of a point that is about to be removed, or whose text was freed. The text
    /// is not written. A task that reaches the detour later calls no handler.
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
