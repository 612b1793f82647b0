// SPDX-License-Identifier: GPL-2.0

//! Decides by the text whether a point gets a jump, makes the detour of the jump, and queues the
//! point.
//!
//! The decision is made at the first attempt at which neither the sysctl nor a probe prevents a
//! jump. It depends on the text around the point and on the text metadata of the kernel or the
//! module. Both hardly change, so the decision is stored in the point: `Point::jump_decision`, a
//! [`Decision`](crate::registry::optimizer::Decision).
//!
//! Some reasons are temporary: no memory, too many pending detours, text that cannot be read, a
//! module that is being loaded, and a debugger's breakpoints, which may also make text undecodable.
//! The point stays undecided, and each attempt decides again. The last temporary reason, except a
//! shortage, is kept in `Optimizer::temporary`, to be shown.
//!
//! The sysctl, jprobes, post handlers and breakpoints of other probes are no part of the decision:
//! `try_to_optimize()` and `blocker()` check for them each time, before it.
//!
//! C counterpart: `can_optimize()` and `arch_prepare_optimized_kprobe()` in
//! [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

use crate::{
    contract::ReadText,
    model::text_metadata::TextMetadata,
    registry::{
        optimizer::{
            Jump,
            LastTargets, //
        },
        prelude::*,
        queue::Node, //
    },
    slots,
    sys::{
        symbols::Function,
        text,
        worker, //
    },
    text_metadata::foreign_branches::FindBranches, //
};
use kernel::prelude::*;

impl Points {
    /// Returns the first breakpoint in the bytes of a jump at `at`.
    pub(super) fn breakpoint_under_jump(&self, at: TextAddr) -> Option<TextAddr> {
        let len = Arch::MAX_OPTIMIZED_LEN * u64::from(Arch::OVERWRITES_SEVERAL);
        let mut inside = (1..len).filter_map(|distance| at.after(distance).ok());
        inside.find(|&at| {
            let point = self.get(at);
            point.is_some_and(|point| point.armed.get() == Armed::Breakpoint)
        })
    }

    /// Returns the reason if a probe prevents a jump now: a probe with a post handler, a jprobe, or
    /// a breakpoint in the bytes of the jump.
    pub(super) fn blocker(&self, point: PointRef<'_>) -> Option<NoJump> {
        if point.probes.has_post_or_jprobe() {
            let jprobe = point.probes.iter().find(|probe| probe.is_jprobe());
            let reason = jprobe.map_or(NoJumpReason::PostHandler, |_| NoJumpReason::Jprobe);
            return Some(reason.into());
        }
        let inside = self.breakpoint_under_jump(point.at)?;
        Some(NoJumpReason::ProbeInside.at(inside))
    }

    /// Returns whether the point has a breakpoint, and no probe prevents a jump now. The text may
    /// prevent one always: see `Change::decide_by_text()`.
    pub(super) fn may_jump(&self, point: PointRef<'_>) -> bool {
        point.armed.get() == Armed::Breakpoint && self.blocker(point).is_none()
    }
}

impl Change<'_> {
    /// Queues these points if the sysctl is on, except for points at which a probe prevents a jump
    /// now or the text prevents one always.
    pub(crate) fn try_to_optimize<'p>(&mut self, points: &mut dyn Iterator<Item = PointRef<'p>>) {
        if self.optimizer.allowed {
            for point in points {
                let _ = self.try_queue(point);
            }
        }
    }

    /// Calls [`try_to_optimize`](Change::try_to_optimize) with all points. In the order of
    /// addresses, if there is memory for that: then each function and each module is decoded once.
    pub(crate) fn try_to_optimize_all(&mut self) {
        let points = self.points;
        match points.in_order() {
            Ok(all) => self.try_to_optimize(&mut all.iter().filter_map(|&at| points.get(at))),
            Err(_) => self.try_to_optimize(&mut points.iter()),
        }
    }

    /// Calls [`try_to_optimize`](Change::try_to_optimize) after a change, with the points at these
    /// addresses and the points whose jumps would overwrite these addresses.
    pub(crate) fn reconsider(&mut self, addresses: &mut dyn Iterator<Item = TextAddr>) {
        let points = self.points;
        self.try_to_optimize(
            &mut addresses
                .flat_map(|at| Iterator::chain(points.jumps_that_may_cover(at), points.get(at))),
        );
    }

    /// Queues a point, unless a probe prevents a jump now or the text prevents one always. Decides
    /// about the text if that was not decided before.
    fn try_queue(&mut self, point: PointRef<'_>) -> Option<()> {
        let prepared = point.prepared()?;
        if !self.points.may_jump(point) {
            return None;
        }
        if point.jump_decision.decided().is_none() {
            let decided = self.decide_by_text(point.at, prepared);
            self.store_decision(point, decided)?;
        }
        let detour = point.jump_decision.detour()?;
        if self.optimizer.queue.add(point.at, self.points) {
            Arch::redirect(prepared, Some(detour));
            worker::wake();
        }
        Some(())
    }

    /// Stores the decision in the point. Stores a temporary reason in the optimizer instead, except
    /// for a shortage.
    fn store_decision(&mut self, point: PointRef<'_>, decided: Result<Jump, NoJump>) -> Option<()> {
        self.optimizer.forget_temporary(point.at);
        let refused = decided.as_ref().err();
        if let Some(why) = refused.filter(|why| why.reason.is_temporary()) {
            if !why.reason.is_shortage() {
                let _ = self.optimizer.temporary.push((point.at, *why), GFP_KERNEL);
                return None;
            }
            self.optimizer.shortage = why.reason;
            // There will be more room when the pending slots are free.
            if slots::pending() != 0 {
                self.optimizer.retry = true;
                worker::wake();
            }
            return None;
        }
        point.jump_decision.store(decided)?;
        if let Some(detour) = point.jump_decision.detour() {
            Arch::set_chain(detour, Some(&point.probes));
        }
        Some(())
    }

    /// Makes the jump of the point at `at`, or returns the reason why the text prevents one, or why
    /// that cannot be decided now.
    fn decide_by_text(&mut self, at: TextAddr, prepared: &ArchInsn) -> Result<Jump, NoJump> {
        // Either fails if the module is being unloaded.
        let cannot_read = |_| NoJumpReason::CannotRead;
        let function = self.cache.function(at).map_err(cannot_read)?;
        let module = self.images.owner(at).map_err(cannot_read)?;
        let module = module.as_ref();
        // `modules::sorted` considers the point again.
        if module.is_some_and(|module| self.images.is_unsorted(module.module())) {
            return Err(NoJumpReason::ModuleComing.into());
        }
        let points = self.points;
        let mut read = |from: TextAddr, code: &mut [u8]| points.read_original_code(from, code);
        let find: FindBranches<'_> = &mut |piece, image, found, text_lock| {
            Arch::branches_out_of(piece, image, &mut read, found, text_lock)
        };
        let find = Arch::OVERWRITES_SEVERAL.then_some(find);
        let (cache, lock) = (&mut self.cache, &mut self.text_lock);
        // Searching the same text again would fail again.
        let owner = module.map(|module| module.module());
        if let Some((_, why)) = cache.search_failed.filter(|(failed, _)| *failed == owner) {
            return Err(why);
        }
        let image = self.images.with_foreign_targets(module, at, lock, find);
        if let Err(why) = image {
            if let NoJumpReason::CannotRead | NoJumpReason::NoMemory = why.reason {
                cache.search_failed = Some((owner, why));
            }
        }
        let (image, last) = (image?, &mut cache.targets);
        let text_lock = lock.get_or_insert_with(text::Lock::new);
        let targets = targets(last, &function, image, &mut read, text_lock)?;
        let function = function.text;
        let detour =
            Arch::make_detour(at, function, targets, prepared, image, &mut read, text_lock)?;
        let node = Node::new();
        Ok(Jump { node, detour })
    }
}

/// Returns the targets of branches into `function`. Finds them unless `last` has them.
fn targets<'a>(
    last: &'a mut LastTargets,
    function: &Function,
    metadata: &impl TextMetadata,
    read: ReadText<'_>,
    text_lock: &mut text::Lock,
) -> Result<&'a <Arch as Jumps>::BranchTargets, NoJump> {
    let (whole, group) = (function.text, function.group);
    let same = last.take().filter(|(last, _)| *last == whole);
    let find = || {
        let targets = Arch::branch_targets(whole, group, metadata, read, text_lock);
        (whole, targets)
    };
    let (_, targets) = last.insert(same.unwrap_or_else(find));
    targets.as_ref().map_err(|&reason| reason)
}
