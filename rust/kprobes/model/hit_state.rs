// SPDX-License-Identifier: GPL-2.0

//! The progress of a CPU in handling a hit, and whether there is room for a nested hit.
//!
//! A handler may hit another probe, and so may an interrupt while a copy of an instruction runs.
//! The handlers of that probe are skipped, its `nmissed` is incremented, and its instruction is
//! executed. If the instruction is stepped, the state of the outer hit is saved meanwhile. There is
//! room for one saved state: a further hit can only come from code that handles hits, and would
//! never end.
//!
//! The handler of a jprobe is not part of the trap: it runs before the function, and a separate
//! trap ends the hit. Until then other hits are handled as in any handler.

/// The progress of a CPU in handling a hit. Zeroed memory is `Handling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Phase {
    /// No hit is handled, or the handlers of a hit are called.
    Handling = 0,
    /// A copy of the instruction runs, and ends in a trap.
    Stepping,
    /// A copy of the instruction of a nested hit runs. The state of the outer hit is saved.
    SteppingInside,
    /// The trap is over, and the handler of a jprobe runs in place of the function.
    InJprobe,
}

impl Phase {
    /// Returns whether the state of the hit can be saved for a nested hit. If not, the nested hit
    /// is in code that handles hits, and its handling would hit the same probe again.
    pub(crate) fn has_room_inside(self) -> bool {
        self != Self::SteppingInside
    }

    /// Returns whether a copy of an instruction runs.
    pub(crate) fn is_stepping(self) -> bool {
        matches!(self, Self::Stepping | Self::SteppingInside)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_hit_state))]
mod tests {
    use super::*;

    #[test]
    fn one_level_of_nesting_is_room_enough() {
        for phase in [Phase::Handling, Phase::Stepping, Phase::InJprobe] {
            assert!(phase.has_room_inside());
        }
        assert!(!Phase::SteppingInside.has_room_inside());
    }

    #[test]
    fn only_steps_are_stepping() {
        assert!(!Phase::Handling.is_stepping() && !Phase::InJprobe.is_stepping());
        assert!(Phase::Stepping.is_stepping() && Phase::SteppingInside.is_stepping());
    }
}
