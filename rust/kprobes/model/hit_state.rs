// SPDX-License-Identifier: GPL-2.0

//! How far one CPU is in the handling of a hit, and what a further hit means to it.
//!
//! A handler may run onto another probe, or an interrupt that comes while a copy of an instruction
//! is run. Such a hit calls nobody and is counted as missed; its instruction is carried out all the
//! same. If that takes a step of its own, the outer hit is put aside meanwhile. There is room for
//! one: a hit in the middle of that can only come from code that handles hits, and would never end.
//!
//! The handler of a jprobe is no part of the trap: it runs in its place on the stack, and a trap of
//! its own ends the hit. Until then other hits are as in the middle of any handler.

/// How far a CPU is. The representation is what fresh memory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Phase {
    /// No hit, or one that a handler is called for.
    Handling = 0,
    /// A copy of the instruction is run; then it comes back.
    Stepping,
    /// As before, of a hit that came into the middle of another one, which is put aside.
    SteppingInside,
    /// The trap is over, and the handler of a jprobe runs in the place of the function.
    StandingIn,
}

/// What a hit means that comes while a CPU handles another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nested {
    /// Count it, carry out its instruction, and go on with the outer one.
    Miss,
    /// It will never end.
    Hopeless,
}

impl Phase {
    /// What a further hit means.
    pub(crate) fn nested(self) -> Nested {
        match self {
            Self::Handling | Self::Stepping | Self::StandingIn => Nested::Miss,
            Self::SteppingInside => Nested::Hopeless,
        }
    }

    /// Is a copy of an instruction run?
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
        assert_eq!(Phase::Handling.nested(), Nested::Miss);
        assert_eq!(Phase::Stepping.nested(), Nested::Miss);
        assert_eq!(Phase::StandingIn.nested(), Nested::Miss);
        assert_eq!(Phase::SteppingInside.nested(), Nested::Hopeless);
    }

    #[test]
    fn only_steps_are_stepping() {
        assert!(!Phase::Handling.is_stepping() && !Phase::StandingIn.is_stepping());
        assert!(Phase::Stepping.is_stepping() && Phase::SteppingInside.is_stepping());
    }
}
