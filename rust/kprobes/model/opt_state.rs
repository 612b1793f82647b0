// SPDX-License-Identifier: GPL-2.0

//! The optimization state of a probe point.
//!
//! ```text
//!               queue             jump
//!   Unoptimized -------> Queued -------> Jump
//!     ^                    |              |
//!     |<--- unoptimize ----+              | unoptimize
//!     |                                   v
//!     +<-- pop_unoptimized -------- Unoptimizing
//! ```
//!
//! A queued probe point still has its breakpoint, but each hit continues in the detour. So no hit
//! continues in the bytes that the jump will replace, and the worker waits for the tasks that are
//! in them already. Each wait has a [`Generation`]: the wait covers the points that were queued
//! in the generation in which it began. It does not cover a point that has left the queue and
//! was queued again meanwhile: hits have continued in the text in between.
//!
//! A jump that is no longer allowed is removed at once: that costs little compared with the grace
//! period of unregistration. So no jump is being removed while the registry is unlocked.

/// The generation in which a probe point was queued: before or after a wait began.
///
/// Only the current generation and the one of a wait are in use, so numbers may wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(usize);

/// The lower words stand for other states.
const FIRST: usize = 3;

impl Generation {
    /// The generation before any wait.
    pub(crate) const NONE: Self = Self(FIRST);

    fn next(self) -> Self {
        Self(self.0.checked_add(1).unwrap_or(FIRST))
    }
}

/// The optimization state of a probe point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The breakpoint of the point is in the text, or the point is not armed.
    Unoptimized,
    /// The breakpoint of the point is in the text, and its hits continue in the detour.
    Queued(Generation),
    /// The jump of the point is in the text.
    Jump,
    /// The jump of the point is being removed.
    Unoptimizing,
}

impl State {
    /// Returns the state as a word.
    pub(crate) fn to_word(self) -> usize {
        match self {
            Self::Unoptimized => 0,
            Self::Jump => 1,
            Self::Unoptimizing => 2,
            Self::Queued(Generation(word)) => word,
        }
    }

    /// Returns the state of a word.
    pub(crate) fn from_word(word: usize) -> Self {
        match word {
            0 => Self::Unoptimized,
            1 => Self::Jump,
            2 => Self::Unoptimizing,
            _ => Self::Queued(Generation(word)),
        }
    }

    /// Returns whether the point has a jump or, as in C, is queued for one.
    pub(crate) fn is_optimized(self) -> bool {
        matches!(self, Self::Queued(_) | Self::Jump)
    }

    /// Returns whether the jump may be in the text.
    pub(crate) fn has_jump(self) -> bool {
        matches!(self, Self::Jump | Self::Unoptimizing)
    }
}

/// Evidence that the worker has begun to wait for the tasks in text that will change. Only the
/// worker has such a value.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Wait(Generation);

impl Wait {
    /// Begins a wait of the worker. Points that are queued from now on are of the next generation.
    pub(crate) fn begin(generation: &mut Generation) -> Self {
        let before = *generation;
        *generation = before.next();
        Self(before)
    }

    /// Returns whether a point in this state was queued before the wait, and not again since.
    /// Called when the wait is over.
    pub(crate) fn covers(&self, state: State) -> bool {
        matches!(state, State::Queued(generation) if generation == self.0)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_opt_state))]
mod tests {
    use super::*;

    #[test]
    fn states_survive_conversion_to_words() {
        let queued = State::Queued(Generation::NONE.next());
        for state in [State::Unoptimized, State::Jump, State::Unoptimizing, queued] {
            assert_eq!(State::from_word(state.to_word()), state);
        }
        assert_eq!(State::Unoptimized.to_word(), 0);
    }

    #[test]
    fn wrapped_generation_is_still_queued() {
        let last = Generation(usize::MAX);
        assert_eq!(last.next(), Generation::NONE);
        let state = State::Queued(last.next());
        assert_eq!(State::from_word(state.to_word()), state);
    }

    #[test]
    fn wait_covers_only_points_queued_before_it() {
        let mut generation = Generation::NONE;
        let early = State::Queued(generation);
        let wait = Wait::begin(&mut generation);
        let late = State::Queued(generation);
        assert!(wait.covers(early) && !wait.covers(late));
        for other in [State::Unoptimized, State::Jump, State::Unoptimizing] {
            assert!(!wait.covers(other));
        }
        assert!(Wait::begin(&mut generation).covers(late));
    }

    #[test]
    fn queued_points_count_as_optimized() {
        let queued = State::Queued(Generation::NONE);
        let all = [State::Unoptimized, queued, State::Jump, State::Unoptimizing];
        let told = all.map(|state| (state.is_optimized(), state.has_jump()));
        let expected = [(false, false), (true, false), (true, true), (false, true)];
        assert_eq!(told, expected);
    }
}
