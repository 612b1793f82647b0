// SPDX-License-Identifier: GPL-2.0

//! The jump of a probe point, and the optimizer's state.
//!
//! `optimize/decide.rs` makes the decisions that are stored here.

use super::queue::{
    Node,
    Queue, //
};
use crate::{
    arch::Arch,
    contract::Jumps,
    prelude::*, //
};
use kernel::{
    prelude::*,
    sync::SetOnce, //
};

pub(crate) type Detour = <Arch as Jumps>::Detour;

/// The jump of a point, in the text or not.
pub(crate) struct Jump {
    /// The state of the jump, and its neighbours in the queue.
    pub(crate) node: Node,
    /// The detour that the jump leads to.
    pub(crate) detour: Detour,
}

/// The jump of a point, or the reason why it has none. Allocated apart, since points that ftrace
/// hits have no decision.
pub(crate) struct Decision(SetOnce<KBox<Result<Jump, NoJump>>>);

impl Decision {
    /// Makes a decision that is still open.
    pub(crate) fn new() -> Self {
        Self(SetOnce::new())
    }

    /// Returns the decision.
    pub(crate) fn decided(&self) -> Option<&Result<Jump, NoJump>> {
        self.0.as_ref().map(|decided| &**decided)
    }

    /// Stores the decision. Returns `None` if there is no memory for it: the point stays undecided.
    pub(crate) fn store(&self, decided: Result<Jump, NoJump>) -> Option<()> {
        self.0.populate(KBox::new(decided, GFP_KERNEL).ok()?);
        Some(())
    }

    /// Returns the jump.
    pub(crate) fn jump(&self) -> Option<&Jump> {
        self.decided()?.as_ref().ok()
    }

    /// Returns the detour of the jump.
    pub(crate) fn detour(&self) -> Option<&Detour> {
        self.jump().map(|jump| &jump.detour)
    }

    /// Returns whether the jump is in the text or queued: C's flag `KPROBE_FLAG_OPTIMIZED`.
    pub(crate) fn is_optimized(&self) -> bool {
        let jump = self.jump();
        jump.is_some_and(|jump| jump.node.state().is_optimized())
    }
}

/// The function that the last decision about a jump was for, and the targets of branches into it,
/// or the reason why they are not known.
pub(crate) type LastTargets = Option<(TextRange, Result<<Arch as Jumps>::BranchTargets, NoJump>)>;

/// The most jumps that are written before the registry is unlocked for others. The kernel's text
/// poking writes as many at once.
pub(crate) const MAX_READY: usize = 256;

/// The optimizer's state.
pub(crate) struct Optimizer {
    /// The points that will get or lose a jump.
    pub(crate) queue: Queue,
    /// Whether jumps are allowed, by `debug.kprobes-optimization`.
    pub(crate) allowed: bool,
    /// Whether a point has no detour because memory is short or too many detours wait for Tasks
    /// RCU. After the next grace period, the worker decides about undecided points again.
    pub(crate) retry: bool,
    /// The last shortage. It is shown for all undecided points without another reason, as there may
    /// be many.
    pub(crate) shortage: NoJumpReason,
    /// The other temporary reasons of undecided points, by address, to be shown.
    pub(crate) temporary: KVec<(TextAddr, NoJump)>,
    /// The addresses of the jumps that the worker writes together.
    pub(crate) ready: [u64; MAX_READY],
}

impl Optimizer {
    /// The state at boot: no jumps are allowed before the worker can run.
    pub(crate) const EMPTY: Self = Self {
        queue: Queue::EMPTY,
        allowed: false,
        retry: false,
        shortage: NoJumpReason::NoMemory,
        temporary: KVec::new(),
        ready: [0; MAX_READY],
    };
}
