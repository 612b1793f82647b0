// SPDX-License-Identifier: GPL-2.0

//! The progress of a CPU in handling a hit, and whether there is room for a nested hit.
//!
//! A handler may hit another probe, and so may an interrupt or NMI during a handler, or an NMI
//! while a copy of an instruction runs. The handlers of that probe are skipped, its `nmissed` is
//! incremented, and its instruction is executed. If the instruction is stepped, the state of the
//! outer hit is saved meanwhile. There is room for one saved state: a further hit, in code that
//! handles hits or in an NMI, stops the kernel, as in C.
//!
//! The handler of a jprobe is not part of the trap: it runs before the function, and a separate
//! trap ends the hit. Until then other hits are handled as in any handler.
//!
//! A breakpoint has replaced the start of the instruction, so the CPU cannot run it in place.
//! [`Outcome`] tells the code that handles the hit whether the instruction was emulated, or whether
//! the CPU runs a copy that ends in a trap or in a jump back.

/// The outcome of [`Machine::run`](crate::contract::Machine::run): how the instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The instruction was emulated.
    Emulated,
    /// The trap returns to a copy that ends in a breakpoint. The value is a word of state that is
    /// restored after the step.
    Stepping(usize),
    /// The trap returns to code that needs no further handling: a copy that ends in a jump back,
    /// the copies in a detour, the instruction after a NOP, or the target of an unconditional jump.
    Redirected,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    /// The instruction was executed.
    Done,
    /// The instruction was not executed: the CPU returns to its breakpoint.
    Again,
}

/// The progress of a CPU in handling a hit. Zeroed memory is `NotStepping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Phase {
    /// No hit is handled, or the handlers of a hit are called.
    NotStepping = 0,
    /// A copy of the instruction runs, and ends in a trap.
    Stepping,
    /// A copy of the instruction of a nested hit runs. The state of the outer hit is saved.
    NestedStep,
    /// The trap is over, and the handler of a jprobe runs before the function.
    InJprobe,
}

impl Phase {
    /// Returns whether the state of the hit can be saved for a nested hit. If not, the nested hit
    /// is in code that handles hits, or in an NMI that has interrupted a nested step.
    pub(crate) fn can_nest(self) -> bool {
        self != Self::NestedStep
    }

    /// Returns whether a copy of an instruction runs.
    pub(crate) fn is_stepping(self) -> bool {
        matches!(self, Self::Stepping | Self::NestedStep)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_hit_state))]
mod tests {
    use super::*;

    #[test]
    fn all_phases_but_the_nested_step_can_nest() {
        for phase in [Phase::NotStepping, Phase::Stepping, Phase::InJprobe] {
            assert!(phase.can_nest());
        }
        assert!(!Phase::NestedStep.can_nest());
    }

    #[test]
    fn only_phases_of_a_step_are_stepping() {
        assert!(!Phase::NotStepping.is_stepping() && !Phase::InJprobe.is_stepping());
        assert!(Phase::Stepping.is_stepping() && Phase::NestedStep.is_stepping());
    }
}
