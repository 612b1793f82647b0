// SPDX-License-Identifier: GPL-2.0

//! The number of instances that a pool needs, and the size of its blocks.
//!
//! A call that finds no instance is *lost*: its return is not hooked, so its end is not noticed. A
//! pool should have room for all calls that ran at the same time, lost or not. When a call was
//! lost, all instances of the pool were in use. If calls take equally long, the calls that had
//! these instances end before the lost call. So lost calls count as running until as many instances
//! were given back as the pool had at the first loss: that is their *window*. The next lost call
//! begins a new window.
//!
//! Lost calls run at the same time as calls that take an instance later. The instances in use are
//! not counted, because CPUs take instances from their own blocks and share no counter. So when the
//! first instance of a block is taken, all of the block counts as in use: the block is *used*.
//!
//! One CPU may lose a call while another one marks a block as used. The marking CPU looks for
//! losses after a full barrier. The losing CPU asks the worker, which has a full barrier before it
//! looks. So the worker sees the mark, or is asked again.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use super::bitmap::CAPACITY;
use crate::atomics::{
    fence,
    AtomicUsize,
    Ordering, //
};

/// The bits of the number of returns and of a window in a word. In 32 bits there is less room for
/// both, and windows are multiples of 32.
const RETURN_BITS: u32 = if usize::BITS == 64 { 16 } else { 12 };
const WINDOW_BITS: u32 = if usize::BITS == 64 { 16 } else { 6 };

/// The number of returns wraps here.
const RETURNS: usize = 1 << RETURN_BITS;

/// The longest window.
const LONGEST_WINDOW: usize = RETURNS / 4;
const WINDOW_UNIT: usize = LONGEST_WINDOW.div_ceil(1 << (WINDOW_BITS - 1));

/// The calls that were lost in one window, in one word: their number; whether they have news for
/// the worker; the number of instances at the first loss; and the number of returns then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Losses(usize);

impl Losses {
    /// One lost call.
    const ONE: usize = Self::NEWS << 1;

    /// The worker has not seen the latest loss, or a block was used since.
    const NEWS: usize = RETURNS << WINDOW_BITS;

    fn number(self) -> usize {
        self.0 / Self::ONE
    }

    /// Returns whether the window is at its end.
    fn window_is_over(self, returns: u16) -> bool {
        let units = (self.0 % Self::NEWS) >> RETURN_BITS;
        let since = usize::from(returns).wrapping_sub(self.0) % RETURNS;
        self.number() == 0 || since >= units.wrapping_mul(WINDOW_UNIT)
    }

    fn plus_one(self, returns: u16, all: usize) -> Self {
        if self.window_is_over(returns) {
            let units = all.min(LONGEST_WINDOW).div_ceil(WINDOW_UNIT);
            let window = (units << RETURN_BITS) | (usize::from(returns) % RETURNS);
            return Self(Self::ONE | Self::NEWS | window);
        }
        Self(self.0.checked_add(Self::ONE).unwrap_or(self.0) | Self::NEWS)
    }
}

/// The sums over all blocks of a pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// The number of instances.
    pub(crate) all: usize,
    /// The number of free instances.
    pub(crate) free: usize,
    /// The number of instances in used blocks.
    pub(crate) used: usize,
    /// The number of instances that were given back, modulo 65,536.
    pub(crate) returns: u16,
}

/// The calls that a pool has lost recently.
pub(crate) struct Lost(AtomicUsize);

impl Lost {
    /// Makes a count without losses.
    pub(crate) fn none() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Counts a lost call. The caller asks the worker after this.
    pub(crate) fn count(&self, returns: u16, all: usize) {
        let count = |now| Some(Losses(now).plus_one(returns, all).0);
        _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, count);
    }

    /// Notes that a block was marked as used. Returns whether lost calls count in addition. The
    /// caller asks the worker then.
    pub(crate) fn note_use(&self, returns: impl FnOnce() -> u16) -> bool {
        fence(Ordering::SeqCst);
        let losses = Losses(self.0.load(Ordering::Relaxed));
        let counts = losses.number() != 0 && !losses.window_is_over(returns());
        if counts {
            self.0.fetch_or(Losses::NEWS, Ordering::Relaxed);
        }
        counts
    }

    /// Returns how many instances the worker adds: room for the lost calls beside the used blocks.
    /// If less than a quarter is free, the pool grows by half of its size before any call is lost.
    ///
    /// Forgets losses whose window is over, and losses at the limit, which would add up until the
    /// limit is raised. A loss that comes meanwhile is not forgotten.
    pub(crate) fn more(&self, limit: usize, totals: impl FnOnce() -> Totals) -> usize {
        let word = self.0.fetch_and(!Losses::NEWS, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        let (losses, totals) = (Losses(word), totals());
        let are_over = losses.window_is_over(totals.returns);
        if are_over || totals.all >= limit {
            let (seen, relaxed) = (word & !Losses::NEWS, Ordering::Relaxed);
            _ = self.0.compare_exchange(seen, 0, relaxed, relaxed);
        }
        let count = word & Losses::NEWS != 0 || !are_over;
        let lost = if count { losses.number() } else { 0 };
        let is_scarce = totals.free < totals.all / 4;
        let ahead = if is_scarce { totals.all / 2 } else { 0 };
        let wanted = (totals.used + lost).max(totals.all + ahead).min(limit);
        wanted.saturating_sub(totals.all)
    }
}

/// The bytes of a cache line on most machines. The first line of a block has no instances.
pub(crate) const LINE: usize = 64;

/// Returns about how many bytes the allocator takes for a block with `count` instances.
fn taken(count: usize, size: usize) -> usize {
    (LINE + count * size).next_power_of_two()
}

/// Returns the number of blocks for a number of instances of `size` bytes: at least `least`, if
/// there are so many instances. The allocator rounds up to powers of two. So a block has down to
/// half of the instances that it could have, if the blocks take less memory in all then.
pub(crate) fn blocks(instances: usize, size: usize, least: usize) -> usize {
    let least = least.clamp(1, instances.max(1));
    let most = instances.div_ceil(least).min(CAPACITY);
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
        super::bitmap::{
            Bitmap,
            Ticket, //
        },
        *, //
    };

    /// The number of instances whose window is as long.
    const TEN: usize = 10 * WINDOW_UNIT;

    /// A pool of one used block, to which instances come back when the test says so.
    struct World {
        lost: Lost,
        bitmap: Bitmap,
        all: usize,
        limit: usize,
    }

    impl World {
        /// With so many instances, all in use.
        fn new(all: usize) -> Self {
            Self {
                lost: Lost::none(),
                bitmap: Bitmap::new(0),
                all,
                limit: usize::MAX,
            }
        }

        fn lose(&self, count: usize) {
            for _ in 0..count {
                self.lost.count(self.bitmap.returns(), self.all);
            }
        }

        fn come_back(&self, count: usize) {
            for _ in 0..count {
                self.bitmap.give(Ticket::of(0));
                assert_eq!(self.bitmap.take(), Ok(0));
            }
        }

        /// What the worker adds, with `used` of them used and plenty of them free.
        fn more_beside(&self, used: usize) -> usize {
            self.lost.more(self.limit, || Totals {
                all: self.all,
                free: self.all,
                used,
                returns: self.bitmap.returns(),
            })
        }

        fn more(&self) -> usize {
            self.more_beside(self.all)
        }

        fn uses(&self) -> bool {
            self.lost.note_use(|| self.bitmap.returns())
        }
    }

    #[test]
    fn losses_add_up_until_enough_calls_return() {
        let mut world = World::new(TEN);
        assert_eq!((world.more(), world.uses()), (0, false));
        world.lose(1);
        assert_eq!(world.more(), 1);
        world.lose(4);
        assert_eq!(world.more(), 5);
        world.come_back(TEN - 1);
        world.lose(3);
        assert_eq!(world.more(), 8);
        // The pool grows in the middle of the wave; none of the new ones is used, or all.
        world.all = TEN + 8;
        let both = (world.more_beside(TEN), world.more_beside(TEN + 8));
        assert_eq!(both, (0, 8));
        assert!(world.uses());
        world.come_back(1);
        // The worker is late, but sees that there was news.
        assert!(!world.uses());
        assert_eq!((world.more(), world.more()), (8, 0));
        assert!(!world.uses());
    }

    #[test]
    fn use_beside_losses_counts_for_a_late_worker() {
        let world = World::new(TEN);
        world.lose(5);
        assert_eq!(world.more(), 5);
        assert!(world.uses());
        world.come_back(2 * TEN);
        assert_eq!((world.more_beside(TEN + 2), world.more()), (7, 0));
    }

    #[test]
    fn losses_are_counted_by_the_window() {
        let world = World::new(TEN);
        // Eleven at once, for a thousand windows.
        for _ in 0..1000 {
            world.lose(1);
            world.come_back(TEN);
        }
        assert_eq!(world.more(), 1);
        let world = World::new(TEN);
        // A thousand at once, for ten windows; or as many as a word has room for.
        for _ in 0..100 {
            world.lose(99);
            world.come_back(1);
        }
        let more = world.more();
        assert!((900..=1000).contains(&more) || more == usize::MAX / Losses::ONE);
    }

    #[test]
    fn losses_at_the_limit_are_forgotten() {
        let mut world = World::new(TEN);
        world.lose(5);
        assert_eq!(world.more(), 5);
        // One is lost while the worker looks.
        let more = world.lost.more(10, || {
            world.lose(1);
            Totals::default()
        });
        assert_eq!((more, world.more()), (5, 6));
        world.limit = TEN + 2;
        assert_eq!(world.more(), 2);
        assert!(world.uses());
        world.all = TEN + 2;
        assert_eq!(world.more(), 0);
        assert!(!world.uses());
    }

    #[test]
    fn windows_end_and_losses_saturate() {
        let world = World::new(1 << 24);
        world.lose(1);
        world.come_back(LONGEST_WINDOW - 1);
        assert!(world.uses());
        world.come_back(1);
        assert!(!world.uses());
        // The most of them, from just before the number of returns wraps.
        let full = Losses(usize::MAX & !(Losses::NEWS - 1) | RETURNS | (RETURNS - 1));
        assert_eq!(full.plus_one(u16::MAX, 1), full);
        assert_eq!(full.number(), usize::MAX / Losses::ONE);
        assert!(full.window_is_over(WINDOW_UNIT as u16 - 1));
    }

    fn ahead(all: usize, free: usize, limit: usize) -> usize {
        let totals = Totals {
            all,
            free,
            ..Totals::default()
        };
        Lost::none().more(limit, || totals)
    }

    #[test]
    fn pool_grows_ahead_below_a_quarter_free() {
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
            assert!((CAPACITY / 2..=CAPACITY).contains(&count));
            // A block of fewer instances has more of its first line in it.
            let line = if usize::BITS == 64 { 0 } else { 64 };
            assert!(taken(count, size) * 7 <= (count * size + line) * 8);
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
                    assert!(instances.div_ceil(blocks) <= CAPACITY);
                }
            }
        }
    }
}
