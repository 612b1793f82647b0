// SPDX-License-Identifier: GPL-2.0

//! The jump of a probe point, and the optimizer's state.
//!
//! Whether a point can have a jump is decided once, when the point may get a jump for the first
//! time: hardly anything that the decision depends on changes. The rules are in
//! [`optimize`](crate::optimize).

use super::queue::{
    Node,
    Queue, //
};
use crate::{
    arch::Current,
    contract::Detour,
    model::opt_state::Worker,
    prelude::*, //
};
use kernel::{
    prelude::*,
    sync::SetOnce, //
};

pub(crate) type OptInsn = <Current as Detour>::OptInsn;

/// The jump of a point, in the text or not.
pub(crate) struct Jump {
    /// The state of the jump, and its neighbours in the queue.
    pub(crate) node: Node,
    /// The detour that the jump leads to.
    pub(crate) detour: OptInsn,
}

/// The jump of a point, or why the point has none. The decision is allocated apart, since points
/// that ftrace hits have none.
pub(crate) struct Decision(SetOnce<KBox<Result<Jump, NotOptimized>>>);

impl Decision {
    /// Not decided yet.
    pub(crate) fn new() -> Self {
        Self(SetOnce::new())
    }

    /// What was decided.
    pub(crate) fn decided(&self) -> Option<&Result<Jump, NotOptimized>> {
        self.0.as_ref().map(|decided| &**decided)
    }

    /// Stores the decision. Returns `None` if there is no memory for it: the point stays undecided.
    pub(crate) fn decide(&self, decided: Result<Jump, NotOptimized>) -> Option<()> {
        self.0.populate(KBox::new(decided, GFP_KERNEL).ok()?);
        Some(())
    }

    /// The jump.
    pub(crate) fn jump(&self) -> Option<&Jump> {
        self.decided()?.as_ref().ok()
    }

    /// The detour of the jump.
    pub(crate) fn detour(&self) -> Option<&OptInsn> {
        self.jump().map(|jump| &jump.detour)
    }

    /// Is the jump in the text, or queued for it? C's flag `KPROBE_FLAG_OPTIMIZED`.
    pub(crate) fn is_optimized(&self) -> bool {
        let jump = self.jump();
        jump.is_some_and(|jump| jump.node.state().is_optimized())
    }
}

/// The function that the last decision about a jump was for, and its branch targets.
pub(crate) type LastTargets = Option<(TextRange, Targets)>;

/// The targets of branches into a function, or why they are not known.
pub(crate) type Targets = Result<<Current as Detour>::BranchTargets, NotOptimized>;

/// The most jumps that are written before the registry is unlocked for others: as many as the
/// kernel's text poking takes at once.
pub(crate) const BATCH: usize = 256;

/// The optimizer's state.
pub(crate) struct Optimizer {
    /// The points that are to get a jump, or to lose it.
    pub(crate) queue: Queue,
    /// What the worker was told.
    pub(crate) worker: Worker,
    /// Are jumps allowed, by `debug.kprobes-optimization`?
    pub(crate) allowed: bool,
    /// Has a point no detour for lack of memory that Tasks RCU is about to free?
    pub(crate) short: bool,
    /// The temporary reasons why undecided points have no jump, except for lack of memory.
    pub(crate) temporary: KVec<(TextAddr, NotOptimized)>,
    /// The addresses of the jumps that the worker writes together.
    pub(crate) ready: [u64; BATCH],
}

impl Optimizer {
    /// No jumps are allowed before the worker can run.
    pub(crate) const NEW: Self = Self {
        queue: Queue::EMPTY,
        worker: Worker::Idle,
        allowed: false,
        short: false,
        temporary: KVec::new(),
        ready: [0; BATCH],
    };
}
