// SPDX-License-Identifier: GPL-2.0

//! How far a place is on its way from a breakpoint to a jump, and how far the worker is that brings
//! places there.
//!
//! ```text
//!             queue                jump
//!   Plain ------------> Queued ------------> Jump
//!     ^                    |                   |
//!     |<-- leave: at once -+                   | leave
//!     |                                        v
//!     +<------- left: two rounds --------- Leaving
//! ```
//!
//! A queued place has its breakpoint still, but each hit of it goes on in the detour. So from then
//! on nobody comes from the place into what the jump is to be over, and those who are in there
//! already are waited for. Such a wait is told by a [`Generation`]: who was queued under the one
//! that was current when it began has been waited for when it is over. Who has left the queue
//! meanwhile and come back has not: hits have gone the old way in between.
//!
//! A place leaves at once, whoever asks: what a jump costs to take out is little beside what those
//! wait for who unregister. Then no place is in between when the registry is unlocked.

/// When a place was queued: before or after a wait began.
///
/// There are two at a time, the current one and that of a wait, so numbers may wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(usize);

/// Values below stand for other states.
const FIRST: usize = 3;

impl Generation {
    /// That of what is queued before any wait.
    pub(crate) const NONE: Self = Self(FIRST);

    fn next(self) -> Self {
        Self(self.0.checked_add(1).unwrap_or(FIRST))
    }
}

/// How far a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has its breakpoint, or nothing.
    Plain,
    /// It has its breakpoint, whose hits go to the detour.
    Queued(Generation),
    /// The jump is there.
    Jump,
    /// The jump is there, and is being taken out.
    Leaving,
}

impl State {
    /// As a word.
    pub(crate) fn to_word(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Jump => 1,
            Self::Leaving => 2,
            Self::Queued(Generation(word)) => word,
        }
    }

    /// From a word.
    pub(crate) fn from_word(word: usize) -> Self {
        match word {
            0 => Self::Plain,
            1 => Self::Jump,
            2 => Self::Leaving,
            _ => Self::Queued(Generation(word)),
        }
    }

    /// Has it a jump, or will it have one? C says so of a probe from when it is queued.
    pub(crate) fn is_optimized(self) -> bool {
        matches!(self, Self::Queued(_) | Self::Jump)
    }

    /// Is the jump in the text?
    pub(crate) fn has_jump(self) -> bool {
        matches!(self, Self::Jump | Self::Leaving)
    }
}

/// What leaving takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Leave {
    /// Nothing.
    Nothing,
    /// Its hits are to go the way that they went before.
    UndoRedirect,
    /// The jump is to be taken out, and then the same.
    TakeOut,
}

/// The worker's wait for those who may be in text that is to change: evidence that it has begun.
/// The worker is the only one to have one.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Period(Generation);

impl Period {
    /// Has the wait been for a place in this state? To be asked when it is over.
    pub(crate) fn counts(&self, state: State) -> bool {
        matches!(state, State::Queued(generation) if generation == self.0)
    }
}

/// The generations, as they go on.
#[derive(Debug)]
pub(crate) struct Clock(Generation);

impl Clock {
    /// Nobody has waited yet.
    pub(crate) const NEW: Self = Self(Generation::NONE);

    /// What is queued now is so under this one.
    pub(crate) fn now(&self) -> Generation {
        self.0
    }

    /// A wait begins.
    pub(crate) fn begin(&mut self) -> Period {
        let before = self.0;
        self.0 = before.next();
        Period(before)
    }
}

/// How far the worker is, as far as it has to be told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worker {
    /// It has nothing before it.
    Idle,
    /// A pass comes soon: others may be queued until then.
    Kicked,
    /// A pass comes at once.
    Flushing,
}

/// What the worker is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Tell {
    /// Nothing: it knows.
    Nothing,
    /// To begin a pass soon.
    Soon,
    /// To begin a pass at once.
    Now,
}

impl Worker {
    /// Something is queued.
    pub(crate) fn kick(&mut self) -> Tell {
        if *self != Self::Idle {
            return Tell::Nothing;
        }
        *self = Self::Kicked;
        Tell::Soon
    }

    /// Somebody waits for what is queued.
    pub(crate) fn flush(&mut self) -> Tell {
        if *self == Self::Flushing {
            return Tell::Nothing;
        }
        *self = Self::Flushing;
        Tell::Now
    }

    /// A pass begins. What is queued from now on needs another one.
    pub(crate) fn begin(&mut self) {
        *self = Self::Idle;
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_opt_state))]
mod tests {
    use super::*;

    #[test]
    fn states_are_words_and_back() {
        let queued = State::Queued(Generation::NONE.next());
        for state in [State::Plain, State::Jump, State::Leaving, queued] {
            assert_eq!(State::from_word(state.to_word()), state);
        }
        assert_eq!(State::Plain.to_word(), 0);
    }

    #[test]
    fn generations_wrap_to_no_other_state() {
        let last = Generation(usize::MAX);
        assert_eq!(last.next(), Generation::NONE);
        let state = State::Queued(last.next());
        assert_eq!(State::from_word(state.to_word()), state);
    }

    #[test]
    fn waits_count_for_who_was_there_when_they_began() {
        let mut clock = Clock::NEW;
        let early = State::Queued(clock.now());
        let period = clock.begin();
        let late = State::Queued(clock.now());
        assert!(period.counts(early) && !period.counts(late));
        for other in [State::Plain, State::Jump, State::Leaving] {
            assert!(!period.counts(other));
        }
        assert!(clock.begin().counts(late));
    }

    #[test]
    fn jumps_are_told_of_from_the_queue_on() {
        let queued = State::Queued(Generation::NONE);
        let all = [State::Plain, queued, State::Jump, State::Leaving];
        let told = all.map(|state| (state.is_optimized(), state.has_jump()));
        let expected = [(false, false), (true, false), (true, true), (false, true)];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_worker_is_told_once() {
        let mut worker = Worker::Idle;
        assert_eq!(worker.kick(), Tell::Soon);
        assert_eq!(worker.kick(), Tell::Nothing);
        assert_eq!(worker.flush(), Tell::Now);
        assert_eq!(worker.flush(), Tell::Nothing);
        assert_eq!(worker.kick(), Tell::Nothing);
        worker.begin();
        assert_eq!(worker.kick(), Tell::Soon);
        worker.begin();
        assert_eq!(worker.flush(), Tell::Now);
    }
}
