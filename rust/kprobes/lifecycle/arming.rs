// SPDX-License-Identifier: GPL-2.0

//! Arming and disarming probe points.
//!
//! Up to [`CHUNK`] breakpoints are written, and then all CPUs synchronize once. A registration
//! writes breakpoints in the order of addresses; if all probes are enabled or disabled, there is no
//! order. Ftrace points are armed one at a time.
//!
//! When a point of our plain ftrace user gets a probe with a post handler, the point is added to
//! our IPMODIFY user as well, so that no other IPMODIFY user changes where the function continues.
//! The plain user still handles the point's hits. Moving the hits to the IPMODIFY user without
//! losing one would take a grace period of Tasks RCU, until no task is about to call the plain user
//! alone, and then a stop of all CPUs.
//!
//! C counterpart: `arm_kprobe()` and `disarm_kprobe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::CHUNK;
use crate::{
    registry::{
        batch_cache::BatchCache,
        prelude::*, //
    },
    sys::{
        report,
        sort,
        text, //
    }, //
};
use kernel::prelude::*;

/// Points and symbols of up to [`CHUNK`] probes that are being registered.
pub(super) struct Chunk {
    /// The points whose breakpoints will be written.
    pub(super) to_arm: KVec<u64>,
    /// The lookups and proofs of the batch.
    pub(super) cache: BatchCache,
}

impl Chunk {
    /// Returns a chunk with room for `count` points.
    pub(super) fn with_room(count: usize) -> Result<Self, Refusal> {
        Ok(Self {
            to_arm: KVec::with_capacity(count, GFP_KERNEL)?,
            cache: BatchCache::with_room(count)?,
        })
    }

    /// Writes the breakpoints of the points that are still wanted.
    pub(super) fn arm(mut self, registry: &mut Registry) {
        sort::ascending(&mut self.to_arm);
        let mut change = registry.change();
        change.cache = self.cache;
        let points = change.points;
        let all = || self.to_arm.iter().map(|&at| TextAddr::new(at));
        let is_unarmed = |point: &PointRef<'_>| point.armed.get() == Armed::No && point.is_wanted();
        let unarmed = || all().filter_map(|at| points.get(at)).filter(is_unarmed);
        change.remove_jumps_over(&mut unarmed());
        change.set_breakpoints(&mut unarmed(), true);
        change.try_to_optimize(&mut all().filter_map(|at| points.get(at)));
    }
}

impl Points {
    /// Returns the points that have an enabled probe and whose text was not freed.
    pub(super) fn wanted(&self) -> impl Iterator<Item = PointRef<'_>> {
        self.iter().filter(|point| point.is_wanted())
    }
}

impl Change<'_> {
    /// Writes the breakpoints of these points, or removes them, except for points that ftrace hits.
    pub(super) fn set_breakpoints<'p>(
        &mut self,
        points: &mut dyn Iterator<Item = PointRef<'p>>,
        on: bool,
    ) {
        let write = if on { Arch::arm } else { Arch::disarm };
        let (from, to) = match on {
            true => (Armed::No, Armed::Breakpoint),
            false => (Armed::Breakpoint, Armed::No),
        };
        let breakpoints = points.filter_map(|PointRef { point, .. }| {
            let prepared = point.prepared().filter(|_| point.armed.get() == from)?;
            point.armed.set(to);
            Some(prepared)
        });
        let mut breakpoints = breakpoints.peekable();
        while breakpoints.peek().is_some() {
            let text_lock = self.text_lock.get_or_insert_with(text::Lock::new);
            write(&mut breakpoints.by_ref().take(CHUNK), text_lock);
        }
    }

    /// Removes the jumps and breakpoints of these points.
    pub(super) fn disarm_text<'p, I: Iterator<Item = PointRef<'p>>>(
        &mut self,
        points: impl Fn() -> I,
    ) {
        let disarm = |change: &mut Self| change.set_breakpoints(&mut points(), false);
        self.remove_jumps_and_disarm(&mut points(), disarm);
    }

    /// Disarms those of these points that are not wanted.
    pub(super) fn disarm_idle<'p, I: Iterator<Item = PointRef<'p>>>(
        &mut self,
        points: impl Fn() -> I,
    ) {
        let is_idle = |point: &PointRef<'_>| point.armed.get() != Armed::No && !point.is_wanted();
        // Ftrace first, as it takes the text lock itself. Callers have no error to return.
        for point in points().filter(is_idle) {
            if self.stop_ftrace(point, true).is_err() {
                report::still_called();
            }
        }
        self.disarm_text(|| points().filter(is_idle));
    }

    /// Arms one point, by its kind.
    pub(super) fn arm_one(&mut self, point: PointRef<'_>) -> Result<(), Refusal> {
        if point.armed.get() == Armed::No && !point.is_ftrace() {
            self.remove_jumps_over(&mut [point].into_iter());
            self.set_breakpoints(&mut [point].into_iter(), true);
            self.try_to_optimize(&mut [point].into_iter());
        }
        self.arm_by_ftrace(point)
    }

    /// Disarms one point, by its kind.
    pub(super) fn disarm_one(&mut self, point: PointRef<'_>) -> Result<(), Refusal> {
        if point.armed.get() == Armed::Breakpoint {
            self.disarm_text(|| [point].into_iter());
            self.reconsider(&mut [point.at].into_iter());
        }
        self.stop_ftrace(point, false)
    }

    /// Has ftrace call us from a point, with the rights that the point's probes need.
    pub(super) fn arm_by_ftrace(&mut self, point: PointRef<'_>) -> Result<(), Refusal> {
        let changes = |probe: &Probe| probe.is_enabled() && probe.has_post_or_jprobe();
        match point.armed.get() {
            Armed::No if point.is_ftrace() => {
                let armed = match point.probes.has_post_or_jprobe() {
                    true => Armed::FtraceIpmodify,
                    false => Armed::Ftrace,
                };
                self.ftrace.add(point.at, armed)?;
                point.armed.set(armed);
                Ok(())
            }
            _ if point.probes.iter().any(changes) => self.hold_ipmodify(point),
            _ => Ok(()),
        }
    }

    /// Keeps other users of ftrace from changing where the function continues at a point of our
    /// plain user, before a probe changes that.
    pub(super) fn hold_ipmodify(&mut self, point: PointRef<'_>) -> Result<(), Refusal> {
        if point.armed.get() == Armed::Ftrace && !point.ipmodify_held.get() {
            self.ftrace.add(point.at, Armed::FtraceIpmodify)?;
            point.ipmodify_held.set(true);
        }
        Ok(())
    }

    /// Stops ftrace's calls from a point. If ftrace refuses, the point stays as before, or only our
    /// IPMODIFY user stays.
    ///
    /// With `must`, the point is about to be removed. If ftrace refuses then, its calls continue
    /// and find no point.
    pub(super) fn stop_ftrace(&mut self, point: PointRef<'_>, must: bool) -> Result<(), Refusal> {
        let armed @ (Armed::Ftrace | Armed::FtraceIpmodify) = point.armed.get() else {
            return Ok(());
        };
        let mut remove = |user| {
            let removed = self.ftrace.remove(point.at, user, must);
            removed.inspect_err(|_| point.armed.set(if must { Armed::No } else { user }))
        };
        point.armed.set(Armed::No);
        let removed = remove(armed);
        if removed.is_err() && !must || !point.ipmodify_held.get() {
            return removed;
        }
        point.ipmodify_held.set(false);
        remove(Armed::FtraceIpmodify).and(removed)
    }
}
