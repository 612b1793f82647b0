// SPDX-License-Identifier: GPL-2.0

//! The most that there may have been at once: what was in use, and what was lost.
//!
//! A call that has found nothing goes on all the same, and nobody sees its end. It began when all
//! that is in store was in use. Calls that take equally long end in the order in which they began,
//! so it is over when as many have come back since: that is a *turn*. Until then it counts as in
//! use. So all calls of a wave count of which none ends, however often the store grows in the
//! middle of it. And what is lost now and then, or while one short call follows the other, does not
//! count beside what was lost long ago.
//!
//! Who takes something from its home says nothing of it. So what counts as in use is what is
//! *within reach*: all of each block that has ever been a CPU's home, for the CPUs may have come to
//! that unseen. It is more than is in use by what is free at their homes.
//!
//! A loss, and a block that comes within reach, may be at the same time. Each changes the word of
//! what was lost after it has said what it has to say, and looks at what the other one has said
//! after that: so the later one sees both.

use super::word::Returns;
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};

/// A number that any number change at any time.
pub(crate) trait Number {
    /// Zero.
    fn zero() -> Self;

    /// Changes it to what `to` makes of it; what it is then. What those did who have changed it
    /// before is seen, and who changes or [sees](Number::seen) it later sees what this CPU did
    /// before.
    fn change(&self, to: impl Fn(u64) -> u64) -> u64;

    /// What it is. What those did who have changed it is seen.
    fn seen(&self) -> u64;
}

impl Number for AtomicU64 {
    fn zero() -> Self {
        Self::new(0)
    }

    fn change(&self, to: impl Fn(u64) -> u64) -> u64 {
        let mut now = self.load(Ordering::Relaxed);
        loop {
            let next = to(now);
            match self.compare_exchange_weak(now, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(other) => now = other,
            }
        }
    }

    fn seen(&self) -> u64 {
        self.load(Ordering::Acquire)
    }
}

/// The longest turn: what came back further apart than twice this cannot be told from what did not.
const LONGEST: u64 = 1 << 14;

/// As many can be lost in a turn.
const MOST_LOST: u64 = (1 << 24) - 1;

/// What was lost in the latest turn with a loss, and in the one before that, if there was one right
/// before it. So beside other losses each counts for no less than a turn, and no more than three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    before: u64,
    latest: u64,
    /// What had come back when the latest turn began, with its first loss.
    since: u16,
}

impl Lost {
    fn from_word(word: u64) -> Self {
        Self {
            before: word >> 40,
            latest: word >> 16 & MOST_LOST,
            since: word as u16,
        }
    }

    fn word(self) -> u64 {
        self.before << 40 | self.latest << 16 | u64::from(self.since)
    }

    fn count(self) -> u64 {
        self.before.saturating_add(self.latest)
    }

    /// How many turns ago the latest one began, if as many make a turn as were in use; zero also if
    /// nothing was lost.
    fn turns(self, in_use: u64, returns: Returns) -> u64 {
        let come_back = returns.number().wrapping_sub(self.since);
        let turns = u64::from(come_back).checked_div(in_use.min(LONGEST));
        turns.unwrap_or(0)
    }

    /// One more is lost; so many were in use when one was lost last.
    fn and_one(self, in_use: u64, returns: Returns) -> Self {
        let (before, latest) = match self.turns(in_use, returns) {
            0 if self.latest != 0 => {
                return Self {
                    latest: self.latest.saturating_add(1).min(MOST_LOST),
                    ..self
                }
            }
            1 => (self.latest, 1),
            _ => (0, 1),
        };
        Self {
            before,
            latest,
            since: returns.number(),
        }
    }
}

/// The most that there may have been at once.
pub(crate) struct Peak<N> {
    /// What was lost, as one word.
    lost: N,
    /// How many were in use when something was lost last.
    in_use: N,
    /// How much is within reach.
    reach: N,
    most: N,
}

impl<N: Number> Peak<N> {
    /// Nothing was lost yet, and nothing is within reach.
    pub(crate) fn new() -> Self {
        Self {
            lost: N::zero(),
            in_use: N::zero(),
            reach: N::zero(),
            most: N::zero(),
        }
    }

    /// Somebody has found nothing when so much had come back.
    pub(crate) fn lose(&self, returns: Returns) {
        let turn = self.in_use.seen();
        let and_one = |lost| Lost::from_word(lost).and_one(turn, returns).word();
        self.note(Lost::from_word(self.lost.change(and_one)).count());
        // All that was within reach. Who looks too early, or sees what somebody else says at the
        // same time, takes turns to be shorter or longer; where nothing comes back they never end.
        let in_use = self.reach.seen();
        self.in_use.change(|_| in_use);
    }

    /// So much more is within reach from now on; to be told before anybody can take it unseen.
    /// `returns` is asked for what has come back by then. Tells whether there may be more at once
    /// than was known.
    pub(crate) fn reach(&self, more: usize, returns: impl FnOnce() -> Returns) -> bool {
        self.reach.change(|reach| reach.saturating_add(more as u64));
        // It is left as it is, but who changes it later sees what is within reach.
        let lost = Lost::from_word(self.lost.change(|lost| lost));
        // After a turn this may be another wave, and what was lost in the first one is over.
        lost.count() != 0
            && lost.turns(self.in_use.seen(), returns()) == 0
            && self.note(lost.count())
    }

    /// What is within reach may be in use beside so many that were lost; tells whether that is more
    /// than was known.
    fn note(&self, lost: u64) -> bool {
        let now = self.reach.seen().saturating_add(lost);
        if now <= self.most.seen() {
            return false;
        }
        self.most.change(|most| most.max(now));
        true
    }

    /// What was lost does not count any more.
    pub(crate) fn forget(&self) {
        self.lost.change(|_| 0);
    }

    /// How many there may have been at once, as far as any were lost.
    pub(crate) fn most(&self) -> usize {
        self.most.seen().try_into().unwrap_or(usize::MAX)
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_peak)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::{
        super::word::{
            Free,
            Ticket, //
        },
        *, //
    };

    type Ours = Peak<AtomicU64>;

    /// A store of one block, from which something comes back when we say so.
    struct World {
        peak: Ours,
        free: Free<AtomicU64>,
    }

    impl World {
        /// With so many, all in use.
        fn new(count: usize) -> Self {
            let (peak, free) = (Ours::new(), Free::first(0));
            assert!(!peak.reach(count, || Returns::NONE));
            Self { peak, free }
        }

        fn lose(&self, count: usize) -> usize {
            for _ in 0..count {
                self.peak.lose(self.free.returns());
            }
            self.peak.most()
        }

        fn come_back(&self, count: usize) {
            for _ in 0..count {
                self.free.give(Ticket::of(0));
                assert_eq!(self.free.take(), Ok(0));
            }
        }

        fn reach(&self, more: usize) -> (bool, usize) {
            let more = self.peak.reach(more, || self.free.returns());
            (more, self.peak.most())
        }
    }

    #[test]
    fn each_that_is_lost_counts_until_others_come_back() {
        let world = World::new(10);
        assert_eq!(world.peak.most(), 0);
        assert_eq!(world.lose(1), 11);
        assert_eq!(world.lose(4), 15);
        // It grows in between.
        assert_eq!(world.reach(5), (true, 20));
        assert_eq!(world.lose(3), 23);
        assert_eq!(world.reach(3), (true, 26));
    }

    #[test]
    fn who_was_in_use_comes_back_before_it_is_over() {
        let world = World::new(10);
        assert_eq!(world.lose(5), 15);
        world.come_back(9);
        assert_eq!(world.reach(1), (true, 16));
        world.come_back(1);
        assert_eq!(world.reach(1), (false, 16));
        // A new one, of those that are in use now.
        assert_eq!(world.reach(20), (false, 16));
        world.come_back(10);
        assert_eq!(world.lose(1), 33);
        world.come_back(31);
        assert_eq!(world.reach(1), (true, 34));
        world.come_back(1);
        assert_eq!(world.reach(1), (false, 34));
    }

    #[test]
    fn what_is_lost_counts_for_no_less_than_a_turn() {
        let world = World::new(10);
        assert_eq!(world.lose(1), 11);
        world.come_back(9);
        assert_eq!(world.lose(3), 14);
        world.come_back(2);
        // Not the first one, but the others: they count together, as long as that.
        assert_eq!(world.lose(1), 15);
        world.come_back(10);
        assert_eq!(world.lose(2), 15);
        world.come_back(20);
        assert_eq!(world.lose(1), 15);
        assert_eq!(world.lose(4), 15);
        assert_eq!(world.lose(1), 16);
    }

    #[test]
    fn one_that_is_lost_now_and_then_counts_once() {
        let world = World::new(10);
        for _ in 0..7_000 {
            assert!(world.lose(1) <= 12);
            world.come_back(10);
        }
        for _ in 0..400 {
            assert_eq!(world.lose(1), 12);
            world.come_back(20);
        }
    }

    #[test]
    fn what_is_forgotten_does_not_count() {
        let world = World::new(10);
        assert_eq!(world.lose(5), 15);
        world.peak.forget();
        assert_eq!(world.reach(2), (false, 15));
        assert_eq!(world.lose(1), 15);
        assert_eq!(world.lose(3), 16);
    }

    #[test]
    fn a_turn_has_an_end_however_large_the_store_is() {
        let world = World::new(1 << 24);
        assert_eq!(world.lose(1), (1 << 24) + 1);
        world.come_back((1 << 14) - 1);
        assert_eq!(world.lose(1), (1 << 24) + 2);
        world.come_back(2 << 14);
        assert_eq!(world.lose(1), (1 << 24) + 2);
        let full = Lost {
            before: MOST_LOST,
            latest: MOST_LOST,
            since: u16::MAX,
        };
        assert_eq!(Lost::from_word(full.word()), full);
        let returns = world.free.returns();
        let since = returns.number();
        let more = Lost { since, ..full }.and_one(1, returns);
        assert_eq!(more.word(), Lost { since, ..full }.word());
    }
}
