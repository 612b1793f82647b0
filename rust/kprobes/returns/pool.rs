// SPDX-License-Identifier: GPL-2.0

//! Which return instances of a block are free: one word, and the search through all blocks.
//!
//! A word has a flag for each free instance, a flag that no CPU owns the block, and a count of the
//! instances that have come back. Taking an instance is one atomic AND, giving it back one atomic
//! ADD: an interrupt or an NMI in the middle of either finds a word that is right.
//!
//! A search takes no lock. While it walks, the last free instance may move from a block that it has
//! not reached to one that it has passed: then it finds nothing though there always was an
//! instance. So it looks again until two looks in a row find nothing and the counts say that
//! nothing has come back in between: then no instance was free at the end of the first look.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use crate::atomics::{
    AtomicU64,
    Ordering, //
};

/// How many instances a block can have.
pub(crate) const MOST: usize = 47;

/// The flags of the free instances.
const FLAGS: u64 = (1 << MOST) - 1;

/// The flag of a block that no CPU owns.
const UNOWNED: u64 = 1 << MOST;

/// What is added when an instance comes back, besides its flag.
const RETURN: u64 = UNOWNED << 1;

/// How often instances have come back. Only good for comparing: the counts wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returns(u64);

impl Returns {
    /// None yet.
    pub(crate) const NONE: Self = Self(0);

    /// Those of several blocks.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// The count modulo 65,536.
    pub(crate) fn number(self) -> u16 {
        self.0 as u16
    }
}

/// What is added to a block's word when an instance comes back.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// That of instance `index` of a block.
    pub(crate) fn of(index: u32) -> Self {
        Self(RETURN + (1 << index))
    }
}

/// The word of a block.
#[repr(transparent)]
pub(crate) struct Free(AtomicU64);

impl Free {
    /// The word of a block with `count` free instances, at most [`MOST`], which no CPU owns.
    pub(crate) fn first(count: u32) -> Self {
        Self(AtomicU64::new(UNOWNED | ((1 << count) - 1) & FLAGS))
    }

    /// Takes an instance. If none is free: what had come back until then.
    #[inline(always)]
    pub(crate) fn take(&self) -> Result<u32, Returns> {
        loop {
            let seen = self.0.load(Ordering::Acquire);
            let flags = seen & FLAGS;
            if flags == 0 {
                return Err(Returns(seen / RETURN));
            }
            // Another CPU, or an interrupt here, may be faster. Then it has got the instance.
            let index = flags.trailing_zeros();
            if self.0.fetch_and(!(1 << index), Ordering::AcqRel) & (1 << index) != 0 {
                return Ok(index);
            }
        }
    }

    /// Takes an instance, and the block itself for this CPU, if no CPU owns it.
    fn claim(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Acquire);
        let flags = seen & FLAGS;
        if flags == 0 || seen & UNOWNED == 0 {
            return None;
        }
        let index = flags.trailing_zeros();
        let next = seen & !(UNOWNED | 1 << index);
        let claimed = self
            .0
            .compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed);
        claimed.is_ok().then_some(index)
    }

    /// No CPU owns the block any more.
    pub(crate) fn disown(&self) {
        self.0.fetch_or(UNOWNED, Ordering::Relaxed);
    }

    /// Gives an instance back, which was taken, by its ticket.
    #[inline(always)]
    pub(crate) fn give(&self, ticket: Ticket) {
        self.0.fetch_add(ticket.0, Ordering::Release);
    }

    /// What has come back.
    pub(crate) fn returns(&self) -> Returns {
        Returns(self.0.load(Ordering::Acquire) / RETURN)
    }

    /// How many instances are free.
    pub(crate) fn len(&self) -> usize {
        (self.0.load(Ordering::Acquire) & FLAGS).count_ones() as usize
    }
}

/// Something with a word.
pub(crate) trait Block {
    /// Its word.
    fn free(&self) -> &Free;
}

/// The first of the blocks that no CPU owns and that has a free instance; the CPU owns it from now
/// on. Takes that instance.
pub(crate) fn claim<'a, B: Block + 'a>(
    mut blocks: impl Iterator<Item = &'a B>,
) -> Option<(&'a B, u32)> {
    blocks.find_map(|block| Some((block, block.free().claim()?)))
}

/// How often all blocks are looked at. Where instances come back all the time and others are always
/// faster, the search would have no end, and interrupts are off meanwhile.
const MOST_LOOKS: usize = 16;

/// Takes an instance of any block. Fails only if there was an instant at which none was free, or if
/// others were faster in each of [`MOST_LOOKS`] looks; then tells what had come back.
///
/// `blocks` gives all blocks, in any order, each time that it is called. There may be more of them
/// the next time, never less.
pub(crate) fn take<'a, B: Block + 'a, I: Iterator<Item = &'a B>>(
    blocks: impl Fn() -> I,
) -> Result<(&'a B, u32), Returns> {
    let mut before = None;
    for _ in 0..MOST_LOOKS {
        let mut returns = Returns::NONE;
        for block in blocks() {
            match block.free().take() {
                Ok(index) => return Ok((block, index)),
                Err(of_block) => returns = returns.and(of_block),
            }
        }
        // At the end of the look before, each word was what both looks have seen.
        if before == Some(returns) {
            break;
        }
        before = Some(returns);
    }
    Err(before.unwrap_or(Returns::NONE))
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_returns_pool)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;
    use core::cell::Cell;

    impl Block for Free {
        fn free(&self) -> &Self {
            self
        }
    }

    #[test]
    fn each_is_taken_once_and_comes_back() {
        for count in [0, 1, 2, 46, MOST as u32] {
            let block = Free::first(count);
            assert_eq!(block.len(), count as usize);
            for _ in 0..3 {
                for index in 0..count {
                    assert_eq!(block.take(), Ok(index));
                }
                assert!(block.take().is_err());
                for index in 0..count {
                    block.give(Ticket::of(index));
                }
                assert_eq!(block.len(), count as usize);
            }
        }
    }

    #[test]
    fn what_comes_back_is_counted_when_it_is_gone_again() {
        let block = Free::first(1);
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
        let block = Free::first(2);
        assert_eq!(block.claim(), Some(0));
        for _ in 0..70_000 {
            block.give(Ticket::of(0));
            assert_eq!(block.take(), Ok(0));
        }
        assert_eq!(block.claim(), None);
        assert_eq!((block.take(), block.len()), (Ok(1), 0));
    }

    #[test]
    fn a_block_has_one_owner_and_is_claimed_with_an_instance() {
        let blocks = [0, 2, 1].map(Free::first);
        let number =
            |found: (&Free, u32)| blocks.iter().position(|one| core::ptr::eq(one, found.0));
        let claimed = || claim(blocks.iter()).and_then(number);
        assert_eq!((claimed(), claimed(), claimed()), (Some(1), Some(2), None));
        // The second one has an instance, and an owner.
        assert_eq!(blocks[1].len(), 1);
        blocks[1].disown();
        assert_eq!((claimed(), claimed()), (Some(1), None));
        blocks[1].disown();
        assert_eq!(claimed(), None);
        blocks[1].give(Ticket::of(1));
        assert_eq!((claimed(), claimed()), (Some(1), None));
    }

    #[test]
    fn all_that_there_is_can_be_taken() {
        let blocks = [3, 0, 1].map(Free::first);
        for _ in 0..4 {
            assert!(take(|| blocks.iter()).is_ok());
        }
        assert!(take(|| blocks.iter()).is_err());
        assert!(take(|| blocks[..0].iter()).is_err());
    }

    #[test]
    fn what_goes_where_the_search_has_been_is_found() {
        let blocks = [1, 1].map(Free::first);
        assert_eq!(blocks[0].take(), Ok(0));
        let searches = Cell::new(0);
        // Between the first block and the second, in the first two searches, the only free instance
        // goes from one to the other.
        let all = || {
            searches.set(searches.get() + 1);
            blocks.iter().enumerate().map(|(number, block)| {
                if number == 1 && searches.get() == 1 {
                    blocks[0].give(Ticket::of(0));
                    assert_eq!(blocks[1].take(), Ok(0));
                } else if number == 0 && searches.get() == 2 {
                    blocks[1].give(Ticket::of(0));
                    assert_eq!(blocks[0].take(), Ok(0));
                }
                block
            })
        };
        let found = take(all).map(|(block, index)| (core::ptr::eq(block, &blocks[1]), index));
        assert_eq!((found, searches.get()), (Ok((true, 0)), 2));
    }

    #[test]
    fn a_search_that_was_overtaken_is_made_again() {
        let blocks = [1, 1].map(Free::first);
        assert_eq!((blocks[0].take(), blocks[1].take()), (Ok(0), Ok(0)));
        let searches = Cell::new(0);
        let all = || {
            searches.set(searches.get() + 1);
            blocks.iter().inspect(|&block| {
                // It comes and goes where the search does not see it.
                if searches.get() <= 3 && core::ptr::eq(block, &blocks[1]) {
                    blocks[0].give(Ticket::of(0));
                    assert_eq!(blocks[0].take(), Ok(0));
                }
            })
        };
        let returns = take(all).map(|_| ());
        assert_eq!(searches.get(), 5);
        assert_eq!(returns, Err(blocks[0].returns()));
        assert_eq!(returns.map_err(Returns::number), Err(3));
    }

    #[test]
    fn a_search_that_is_always_overtaken_has_an_end() {
        let blocks = [1, 1].map(Free::first);
        assert_eq!((blocks[0].take(), blocks[1].take()), (Ok(0), Ok(0)));
        let searches = Cell::new(0);
        let all = || {
            searches.set(searches.get() + 1);
            blocks.iter().inspect(|&block| {
                if searches.get() < 1000 && core::ptr::eq(block, &blocks[1]) {
                    blocks[0].give(Ticket::of(0));
                    assert_eq!(blocks[0].take(), Ok(0));
                }
            })
        };
        let returns = take(all).map(|_| ());
        assert_eq!(searches.get(), MOST_LOOKS);
        // What has come back behind it is not seen.
        assert_eq!(returns.map_err(Returns::number), Err(MOST_LOOKS as u16 - 1));
    }
}
