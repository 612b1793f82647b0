// SPDX-License-Identifier: GPL-2.0

//! Removes jumps: of points that stay, and of points that are removed.

use crate::{
    registry::{
        optimizer::{
            Detour,
            Optimizer, //
        },
        prelude::*, //
    },
    sys::text, //
};
use kernel::prelude::*;

/// A function that gets the address, the instruction and the detour of each point.
pub(super) type Each<'a> = dyn FnMut(TextAddr, &ArchInsn, &Detour) + 'a;

impl Points {
    /// Calls `each` for the points at these addresses that have a detour.
    pub(super) fn each_detour(&self, all: &mut dyn Iterator<Item = TextAddr>, each: &mut Each<'_>) {
        for point in all.filter_map(|at| self.get(at)) {
            if let (Some(prepared), Some(detour)) = (point.prepared(), point.jump_decision.detour())
            {
                each(point.at, prepared, detour);
            }
        }
    }
}

/// Makes the hits of a point continue in the copy of its instruction again, or in its emulation.
pub(super) fn undo_redirect(point: PointRef<'_>) {
    if let Some(prepared) = point.prepared() {
        Arch::redirect(prepared, None);
    }
}

impl Optimizer {
    /// Forgets the temporary reason of the point at `at`, which was decided about or will be
    /// removed, or whose text was freed.
    pub(super) fn forget_temporary(&mut self, at: TextAddr) {
        self.temporary.retain(|&mut (other, _)| other != at);
        // The drop of a list that has no memory would call `krealloc()` each time.
        if self.temporary.is_empty() && self.temporary.capacity() != 0 {
            self.temporary = KVec::new();
        }
    }
}

impl Change<'_> {
    /// Removes the jumps over these points, before the points' breakpoints are written.
    pub(crate) fn remove_jumps_over<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        let all = self.points;
        self.remove_jumps(&mut points.flat_map(|point| all.jumps_that_may_cover(point.at)));
    }

    /// Removes these points from the queue, and removes their jumps.
    pub(crate) fn remove_jumps<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        self.begin_removal(points);
        self.write_breakpoints();
        self.end_removal();
    }

    /// Removes these points from the queue, and removes their jumps. Then `disarm` restores the
    /// instructions, over the jumps if it can.
    pub(crate) fn remove_jumps_and_disarm<'p>(
        &mut self,
        points: &mut dyn Iterator<Item = PointRef<'p>>,
        disarm: impl FnOnce(&mut Self),
    ) {
        self.begin_removal(points);
        if !Arch::disarms_jumps() {
            self.write_breakpoints();
        }
        disarm(self);
        self.end_removal();
    }

    fn begin_removal<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        for point in points {
            if self.optimizer.queue.unoptimize(point.at, self.points) {
                undo_redirect(point);
            }
        }
    }

    /// Replaces the jumps that are being removed by breakpoints.
    fn write_breakpoints(&mut self) {
        let (all, queue) = (self.points, &self.optimizer.queue);
        if queue.unoptimizing(all).next().is_some() {
            let detours = |each: &mut Each<'_>| all.each_detour(&mut queue.unoptimizing(all), each);
            Arch::unoptimize(&detours, self.text_lock.get_or_insert_with(text::Lock::new));
        }
    }

    /// Ends the removal of jumps, which are no longer in the text. Hits are redirected back only
    /// now: before, one that resumed in the text would have run the jump's displacement bytes.
    fn end_removal(&mut self) {
        let (all, queue) = (self.points, &mut self.optimizer.queue);
        while let Some(at) = queue.pop_unoptimized(all) {
            all.count_jumps(-1);
            all.get(at).map(undo_redirect);
        }
    }

    /// Forgets the jump of a point that is about to be removed, or whose text was freed. The text
    /// is not written, and nothing is freed: the point owns its detour, which is dropped with the
    /// point. A task that reaches the detour later calls no handler.
    pub(crate) fn forget_jump(&mut self, point: PointRef<'_>) {
        if let Some(jump) = point.jump_decision.jump() {
            Arch::set_chain(&jump.detour, None);
            if jump.node.state().has_jump() {
                self.points.count_jumps(-1);
            }
            self.optimizer.queue.forget(point.at, self.points);
        }
        self.optimizer.forget_temporary(point.at);
    }
}
