// SPDX-License-Identifier: GPL-2.0

//! How large a store must be, and how large its blocks.
//!
//! A call that finds no instance goes on, and nobody sees its end. When it began, all that is in
//! store was in use. Where calls take equally long, it is over when as many have come back as were
//! in use then: that is a *turn*. So the calls that were lost count together if less than a turn
//! lies between the first and the last, and by the turn if more does; and they count beside what is
//! taken later, until the turn after the last one is over.
//!
//! Who takes an instance from a block that its CPU owns says nothing of it. So each block counts as
//! in use as a whole from when it was claimed, or an instance was found there, for the first time:
//! it is *touched*.
//!
//! A loss and a touch may come at the same time. The one that touches a block looks for losses
//! behind a full barrier. Who lost asks the worker, which has a full barrier before it looks. So
//! either the worker sees the touch, or it is asked again.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use super::pool::{
    Returns,
    MOST, //
};
use crate::atomics::{
    fence,
    AtomicBool,
    AtomicU64,
    AtomicUsize,
    Ordering, //
};

/// What comes back further apart cannot be told from what does not: the counts wrap.
const LONGEST_TURN: usize = 1 << 14;

/// As many losses are counted.
const MOST_LOST: u64 = (1 << 32) - 1;

/// How many turns it took until so much has come back.
fn turns(come_back: u16, turn: usize) -> u64 {
    u64::from(come_back) / turn.clamp(1, LONGEST_TURN) as u64
}

/// Calls that were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Losses {
    count: u64,
    /// What had come back at the first one, and at the last one.
    first: u16,
    last: u16,
}

impl Losses {
    fn of_word(word: u64) -> Self {
        Self {
            count: word >> 32,
            first: (word >> 16) as u16,
            last: word as u16,
        }
    }

    /// The turns between the last one and when so much had come back.
    fn turns_since(self, returns: Returns, turn: usize) -> u64 {
        turns(returns.number().wrapping_sub(self.last), turn)
    }

    fn word(self) -> u64 {
        self.count << 32 | u64::from(self.first) << 16 | u64::from(self.last)
    }

    /// One more, when so much had come back.
    fn and_one(self, returns: Returns) -> Self {
        let last = returns.number();
        Self {
            count: self.count.saturating_add(1).min(MOST_LOST),
            first: if self.count == 0 { last } else { self.first },
            last,
        }
    }
}

/// The calls that a store has lost of late.
pub(crate) struct Lost {
    /// [`Losses`], which hits change.
    word: AtomicU64,
    /// Was a block touched beside losses that counted?
    beside: AtomicBool,
    /// What the worker saw last.
    seen: AtomicU64,
    /// How many instances were touched when the worker first saw that.
    turn: AtomicUsize,
}

impl Lost {
    /// None.
    pub(crate) fn none() -> Self {
        Self {
            word: AtomicU64::new(0),
            beside: AtomicBool::new(false),
            seen: AtomicU64::new(0),
            turn: AtomicUsize::new(LONGEST_TURN),
        }
    }

    /// A call is lost, when so much had come back. The caller asks the worker after this.
    pub(crate) fn lose(&self, returns: Returns) {
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            let next = Losses::of_word(now).and_one(returns).word();
            match self
                .word
                .compare_exchange_weak(now, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
    }

    /// A block was touched: are there losses that count beside it? Then the caller asks the worker.
    pub(crate) fn touch(&self, returns: impl FnOnce() -> Returns) -> bool {
        fence(Ordering::SeqCst);
        let losses = Losses::of_word(self.word.load(Ordering::Relaxed));
        let turn = self.turn.load(Ordering::Relaxed);
        let counts = losses.count != 0 && losses.turns_since(returns(), turn) == 0;
        if counts {
            self.beside.store(true, Ordering::Relaxed);
        }
        counts
    }

    /// The losses, and whether there is anything new about them. For the worker, which was asked;
    /// `touched` looks at the blocks.
    pub(crate) fn look(&self, touched: impl FnOnce() -> usize) -> Seen {
        fence(Ordering::SeqCst);
        let (word, touched) = (self.word.load(Ordering::Acquire), touched());
        let more = self.seen.load(Ordering::Relaxed) != word;
        if more {
            self.seen.store(word, Ordering::Relaxed);
            self.turn.store(touched, Ordering::Relaxed);
        }
        Seen {
            losses: Losses::of_word(word),
            is_new: self.beside.swap(false, Ordering::Relaxed) || more,
            touched,
            turn: self.turn.load(Ordering::Relaxed),
        }
    }

    /// These do not count any more, unless there is one more by now.
    pub(crate) fn forget(&self, seen: &Seen) {
        let (word, relaxed) = (seen.losses.word(), Ordering::Relaxed);
        _ = self.word.compare_exchange(word, 0, relaxed, relaxed);
    }
}

/// What the worker has seen of the losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    losses: Losses,
    is_new: bool,
    /// How many instances are in touched blocks.
    touched: usize,
    /// How many were when the latest loss was new: so many make a turn.
    turn: usize,
}

/// What the worker knows when it decides whether there is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// How many instances there are.
    pub(crate) all: usize,
    /// How many of them are free.
    pub(crate) free: usize,
    /// How many there may be.
    pub(crate) limit: usize,
    /// What was lost.
    pub(crate) lost: Seen,
    /// What has come back.
    pub(crate) returns: Returns,
}

impl Demand {
    /// How many more instances there must be: room for what was lost beside what is in use. And
    /// where less than a quarter is free, half as many come to it before any call is lost.
    pub(crate) fn more(&self) -> usize {
        let scarce = self.free < self.all / 4;
        let ahead = if scarce { self.all + self.all / 2 } else { 0 };
        let wanted = self.at_once().max(ahead).min(self.limit);
        wanted.saturating_sub(self.all)
    }

    /// How many there may have been at once; zero if that is not known.
    fn at_once(&self) -> usize {
        let Seen {
            losses,
            is_new,
            touched,
            turn,
        } = self.lost;
        if losses.count == 0 || (!is_new && self.is_over()) {
            return 0;
        }
        let turns = turns(losses.last.wrapping_sub(losses.first), turn);
        touched.saturating_add(losses.count.div_ceil(turns + 1) as usize)
    }

    /// Do the losses not count any more? Those at the limit never do: they would add up until the
    /// limit is raised.
    pub(crate) fn is_over(&self) -> bool {
        let Seen { losses, turn, .. } = self.lost;
        self.all >= self.limit || losses.turns_since(self.returns, turn) != 0
    }
}

/// Bytes of a cache line: a block begins with one of its own.
pub(crate) const LINE: usize = 64;

/// How much memory the allocator takes for a block with so many instances.
fn taken(count: usize, size: usize) -> usize {
    (LINE + count * size).next_power_of_two()
}

/// Into how many blocks a number of instances of `size` bytes go: at least `least`, if there are so
/// many instances. The allocator rounds up to powers of two. So a block may have down to half of
/// the instances that it could have, if the blocks take less memory in all then.
pub(crate) fn blocks(instances: usize, size: usize, least: usize) -> usize {
    let least = least.clamp(1, instances.max(1));
    let most = instances.div_ceil(least).min(MOST);
    let (mut best, mut least_memory) = (0, usize::MAX);
    for count in most.div_ceil(2).max(1)..=most {
        let blocks = instances.div_ceil(count.max(1)).max(least);
        let memory = blocks.saturating_mul(taken(count, size));
        if memory <= least_memory {
            (best, least_memory) = (blocks, memory);
        }
    }
    best
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_returns_growth)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::{
        super::pool::{
            Free,
            Ticket, //
        },
        *, //
    };

    /// A store of one block that is touched, from which something comes back when we say so.
    struct World {
        lost: Lost,
        free: Free,
        all: usize,
        limit: usize,
    }

    impl World {
        /// With so many, all in use.
        fn new(all: usize) -> Self {
            Self {
                lost: Lost::none(),
                free: Free::first(0),
                all,
                limit: usize::MAX,
            }
        }

        fn lose(&self, count: usize) {
            for _ in 0..count {
                self.lost.lose(self.free.returns());
            }
        }

        fn come_back(&self, count: usize) {
            for _ in 0..count {
                self.free.give(Ticket::of(0));
                assert_eq!(self.free.take(), Ok(0));
            }
        }

        /// What the worker knows, with `touched` of them touched and plenty of them free.
        fn demand(&self, touched: usize) -> Demand {
            Demand {
                all: self.all,
                free: self.all,
                limit: self.limit,
                lost: self.lost.look(|| touched),
                returns: self.free.returns(),
            }
        }

        fn touch(&self) -> bool {
            self.lost.touch(|| self.free.returns())
        }

        fn more(&self) -> usize {
            self.demand(self.all).more()
        }

        fn is_over(&self) -> bool {
            self.demand(self.all).is_over()
        }
    }

    #[test]
    fn each_that_is_lost_counts_until_others_come_back() {
        let mut world = World::new(10);
        assert_eq!((world.more(), world.touch()), (0, false));
        world.lose(1);
        assert_eq!(world.more(), 1);
        world.lose(4);
        assert_eq!(world.more(), 5);
        world.come_back(9);
        assert!(!world.is_over());
        world.lose(3);
        assert_eq!(world.more(), 8);
        // It grows in the middle of the wave, and nothing of that is touched, or all is.
        world.all = 18;
        assert_eq!((world.demand(10).more(), world.demand(18).more()), (0, 8));
        world.come_back(9);
        assert!(world.touch());
        world.come_back(1);
        // The worker is late, but has not seen that, or has.
        assert!(world.is_over() && !world.touch());
        assert_eq!((world.more(), world.touch()), (0, false));
    }

    #[test]
    fn what_is_touched_beside_losses_counts_when_the_worker_is_late() {
        let world = World::new(10);
        world.lose(5);
        assert_eq!(world.more(), 5);
        assert!(world.touch());
        world.come_back(20);
        let late = world.demand(12);
        assert_eq!((late.more(), late.is_over()), (7, true));
        assert_eq!(world.more(), 0);
    }

    #[test]
    fn calls_that_follow_each_other_count_by_the_turn() {
        let world = World::new(10);
        // Eleven at once, for a thousand turns.
        for _ in 0..1000 {
            world.lose(1);
            world.come_back(10);
        }
        assert_eq!(world.more(), 1);
        let world = World::new(10);
        // A thousand at once, for ten turns and a bit.
        for _ in 0..102 {
            world.lose(99);
            world.come_back(1);
        }
        let more = world.more();
        assert!((900..=1000).contains(&more));
    }

    #[test]
    fn what_is_forgotten_does_not_count() {
        let mut world = World::new(10);
        world.lose(5);
        let early = world.demand(10).lost;
        world.lose(1);
        world.lost.forget(&early);
        assert_eq!(world.more(), 6);
        world.limit = 12;
        let demand = world.demand(10);
        assert_eq!((demand.more(), demand.is_over()), (2, false));
        world.all = 12;
        let demand = world.demand(10);
        assert_eq!((demand.more(), demand.is_over()), (0, true));
        world.lost.forget(&demand.lost);
        assert!(!world.touch());
    }

    #[test]
    fn a_turn_has_an_end_and_losses_do_not_overflow() {
        let world = World::new(1 << 24);
        world.lose(1);
        world.come_back(LONGEST_TURN - 1);
        assert!(!world.is_over());
        world.come_back(1);
        assert!(world.is_over());
        let full = Losses {
            count: MOST_LOST,
            first: u16::MAX,
            last: 0,
        };
        assert_eq!(Losses::of_word(full.word()), full);
        assert_eq!(full.and_one(Returns::NONE), full);
    }

    fn ahead(all: usize, free: usize, limit: usize) -> usize {
        Demand {
            free,
            limit,
            ..World::new(all).demand(0)
        }
        .more()
    }

    #[test]
    fn it_grows_before_there_is_nothing() {
        assert_eq!(ahead(100, 24, 1000), 50);
        assert_eq!(ahead(100, 25, 1000), 0);
        assert_eq!(ahead(900, 0, 1000), 100);
        assert_eq!(ahead(2000, 0, 1000), 0);
    }

    /// From an instance alone to one of which the client keeps as much as it may.
    const SIZES: [usize; 6] = [48, 64, 248, 1072, 4096, 48 + 4096];

    #[test]
    fn blocks_take_little_more_than_their_instances() {
        for size in SIZES {
            let blocks = blocks(4096, size, 1);
            let count = 4096usize.div_ceil(blocks);
            assert!((MOST / 2..=MOST).contains(&count));
            assert!(taken(count, size) * 7 <= count * size * 8);
        }
        // With 16 in each block these would have 17 lines.
        assert_eq!(blocks(1024, 64, 64), 69);
    }

    #[test]
    fn each_cpu_has_a_block() {
        for size in SIZES {
            for instances in [1, 2, 7, 8, 9, 64, 100, 1000] {
                for least in [1, 2, 8, 64] {
                    let blocks = blocks(instances, size, least);
                    assert!(blocks >= least.min(instances) && blocks <= instances);
                    assert!(instances.div_ceil(blocks) <= MOST);
                }
            }
        }
    }
}
