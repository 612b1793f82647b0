// SPDX-License-Identifier: GPL-2.0

//! Which instances of a block are free, and how often one has come back, in one word.

use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};

/// How many instances a block can have.
pub(crate) const MOST: u32 = 48;

/// The flags of the free ones.
const FLAGS: u64 = (1 << MOST) - 1;

/// What is added when one has come back, besides its flag.
const RETURN: u64 = 1 << MOST;

/// A word that any number change at any time.
pub(crate) trait Word {
    /// One that nobody else knows yet.
    fn new(value: u64) -> Self;

    /// What it is. What was done before it [became](Word::add) so is seen.
    fn seen(&self) -> u64;

    /// Clears the bits; what it was. What was done before it [became](Word::add) so is seen, and
    /// who sees it cleared sees what this CPU did before.
    fn clear(&self, bits: u64) -> u64;

    /// Adds to it. What this CPU did before is seen by who sees it.
    fn add(&self, value: u64);
}

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    #[inline(always)]
    fn seen(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn clear(&self, bits: u64) -> u64 {
        self.fetch_and(!bits, Ordering::AcqRel)
    }

    #[inline(always)]
    fn add(&self, value: u64) {
        self.fetch_add(value, Ordering::Release);
    }
}

/// How often instances have come back. Only good for comparing: it begins anew after some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returns(u64);

impl Returns {
    /// Nothing yet.
    pub(crate) const NONE: Self = Self(0);

    /// Those of several blocks.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// How many they are, but for a multiple of 65,536.
    pub(super) fn number(self) -> u16 {
        self.0 as u16
    }
}

/// What is to be told to the word when an instance comes back.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// That of instance `index` of a block.
    pub(crate) fn of(index: u32) -> Self {
        Self(RETURN + (1 << index))
    }
}

/// Which instances of a block are free.
#[repr(transparent)]
pub(crate) struct Free<W>(W);

impl<W: Word> Free<W> {
    /// The first `count`, at most [`MOST`].
    pub(crate) fn first(count: u32) -> Self {
        let flags = 1u64.checked_shl(count).unwrap_or(0).wrapping_sub(1);
        Self(W::new(flags & FLAGS))
    }

    /// Takes one, which is the caller's from now on. If there is none: what had come back until
    /// then.
    #[inline(always)]
    pub(crate) fn take(&self) -> Result<u32, Returns> {
        loop {
            let seen = self.0.seen();
            let flags = seen & FLAGS;
            if flags == 0 {
                return Err(Returns(seen / RETURN));
            }
            // Another CPU, or an interrupt here, may be faster. Then it has got one.
            let index = flags.trailing_zeros();
            if self.0.clear(1 << index) & (1 << index) != 0 {
                return Ok(index);
            }
        }
    }

    /// Gives back the one that the ticket is of, which was taken.
    #[inline(always)]
    pub(crate) fn give(&self, ticket: Ticket) {
        self.0.add(ticket.0);
    }

    /// What has come back.
    pub(crate) fn returns(&self) -> Returns {
        Returns(self.0.seen() / RETURN)
    }

    /// How many are free.
    pub(crate) fn len(&self) -> u32 {
        (self.0.seen() & FLAGS).count_ones()
    }

    /// Takes all; how many they were.
    pub(crate) fn take_all(&self) -> u32 {
        (self.0.clear(FLAGS) & FLAGS).count_ones()
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_word)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    type Block = Free<AtomicU64>;

    #[test]
    fn each_is_taken_once_and_comes_back() {
        for count in [0, 1, 2, 47, MOST] {
            let block = Block::first(count);
            assert_eq!(block.len(), count);
            for _ in 0..3 {
                for index in 0..count {
                    assert_eq!(block.take(), Ok(index));
                }
                assert!(block.take().is_err());
                for index in 0..count {
                    block.give(Ticket::of(index));
                }
                assert_eq!(block.len(), count);
            }
            assert_eq!((block.take_all(), block.take_all()), (count, 0));
        }
    }

    #[test]
    fn what_comes_back_is_counted_when_it_is_gone_again() {
        let block = Block::first(1);
        assert_eq!(block.take(), Ok(0));
        let before = block.take();
        assert_eq!(block.take(), before);
        block.give(Ticket::of(0));
        assert_eq!(block.take(), Ok(0));
        let after = block.take();
        assert!(after.is_err());
        assert_ne!(before, after);
    }

    #[test]
    fn counting_begins_anew_and_no_flag_is_lost() {
        let block = Block::first(2);
        assert_eq!(block.take(), Ok(0));
        for _ in 0..70_000 {
            block.give(Ticket::of(0));
            assert_eq!(block.take(), Ok(0));
        }
        assert_eq!((block.take(), block.len()), (Ok(1), 0));
    }
}
