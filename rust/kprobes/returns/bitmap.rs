// SPDX-License-Identifier: GPL-2.0

//! The free return instances of a block, in one word, and the search through all blocks.
//!
//! The word has a bit for each free instance, a bit that says that no CPU owns the block, and a
//! counter of the instances that were given back. An atomic AND takes an instance, and an atomic
//! ADD gives it back. An interrupt or an NMI in the middle of either finds a valid word.
//!
//! A search takes no lock. While it walks through the blocks, the last free instance may move from
//! a block that the walk has not reached to a block that it has passed. Then the walk finds nothing
//! although an instance was free all the time. So a search walks again until two walks in a row
//! find nothing and the counters show that no instance was given back in between. Then all blocks
//! were empty at the same time, at the end of the first of these two walks.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use crate::atomics::{
    AtomicUsize,
    Ordering, //
};

/// The most instances that a block can have: 47, or 15 in words of 32 bits.
pub(crate) const CAPACITY: usize = usize::BITS as usize - 17;

/// The bits of the free instances.
const FREE: usize = (1 << CAPACITY) - 1;

/// The bit of a block that no CPU owns.
const UNOWNED: usize = 1 << CAPACITY;

/// The lowest bit of the counter of returns, which has 16 bits.
const RETURN: usize = UNOWNED << 1;

/// The number that gives an instance back when it is added to the bitmap of the block.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(usize);

impl Ticket {
    /// Returns the ticket of instance `index` of a block.
    pub(crate) fn of(index: u32) -> Self {
        Self(RETURN + (1 << index))
    }
}

/// The bitmap of a block.
#[repr(transparent)]
pub(crate) struct Bitmap(AtomicUsize);

impl Bitmap {
    /// Makes the bitmap of a block with `count` free instances, at most [`CAPACITY`], and no owner.
    pub(crate) fn new(count: usize) -> Self {
        Self(AtomicUsize::new(UNOWNED | ((1 << count) - 1) & FREE))
    }

    /// Takes an instance. If none is free, returns the number of [returns](Self::returns).
    #[inline(always)]
    pub(crate) fn take(&self) -> Result<u32, u16> {
        loop {
            let seen = self.0.load(Ordering::Acquire);
            let free = seen & FREE;
            if free == 0 {
                return Err((seen / RETURN) as u16);
            }
            // Another CPU, or an interrupt on this CPU, may take the same instance first.
            let index = free.trailing_zeros();
            if self.0.fetch_and(!(1 << index), Ordering::AcqRel) & (1 << index) != 0 {
                return Ok(index);
            }
        }
    }

    /// Takes an instance, and makes this CPU the owner of the block, if no CPU owns the block.
    fn claim(&self) -> Option<u32> {
        let seen = self.0.load(Ordering::Acquire);
        let free = seen & FREE;
        if free == 0 || seen & UNOWNED == 0 {
            return None;
        }
        let index = free.trailing_zeros();
        let next = seen & !(UNOWNED | 1 << index);
        let claimed = self
            .0
            .compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed);
        claimed.is_ok().then_some(index)
    }

    /// Gives the block up: no CPU owns the block any more.
    pub(crate) fn disown(&self) {
        self.0.fetch_or(UNOWNED, Ordering::Relaxed);
    }

    /// Gives a taken instance back, by its ticket.
    #[inline(always)]
    pub(crate) fn give(&self, ticket: Ticket) {
        self.0.fetch_add(ticket.0, Ordering::Release);
    }

    /// Returns how many instances were given back, modulo 65,536.
    pub(crate) fn returns(&self) -> u16 {
        (self.0.load(Ordering::Acquire) / RETURN) as u16
    }

    /// Returns how many instances are free.
    pub(crate) fn len(&self) -> usize {
        (self.0.load(Ordering::Acquire) & FREE).count_ones() as usize
    }
}

/// Finds the first block that has a free instance and that no CPU owns. Takes the instance, and
/// makes this CPU the owner of the block.
pub(crate) fn claim<'a, B: AsRef<Bitmap> + 'a>(
    mut blocks: impl Iterator<Item = &'a B>,
) -> Option<(&'a B, u32)> {
    blocks.find_map(|block| Some((block, block.as_ref().claim()?)))
}

/// The most walks of a search through all blocks. Preemption is off meanwhile. Without a limit the
/// search might not end, if other CPUs always take the returned instances first.
const MAX_WALKS: usize = 5;

/// Takes an instance of any block. Fails only if none was free at some instant, or if other CPUs
/// were faster in each of [`MAX_WALKS`] walks. Then returns the number of returns.
///
/// `blocks` gives all blocks, in any order, each time that it is called. The next call may give
/// more blocks, but not fewer.
pub(crate) fn take<'a, B: AsRef<Bitmap> + 'a, I: Iterator<Item = &'a B>>(
    blocks: impl Fn() -> I,
) -> Result<(&'a B, u32), u16> {
    let mut before = None;
    for _ in 0..MAX_WALKS {
        let mut returns = 0u16;
        for block in blocks() {
            match block.as_ref().take() {
                Ok(index) => return Ok((block, index)),
                Err(of_block) => returns = returns.wrapping_add(of_block),
            }
        }
        // At the end of the previous walk, each bitmap was as both walks have seen it.
        if before == Some(returns) {
            break;
        }
        before = Some(returns);
    }
    Err(before.unwrap_or_default())
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_returns_bitmap)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;
    use core::cell::Cell;

    impl AsRef<Self> for Bitmap {
        fn as_ref(&self) -> &Self {
            self
        }
    }

    #[test]
    fn each_instance_is_taken_once_and_given_back() {
        for count in [0, 1, 2, CAPACITY as u32 - 1, CAPACITY as u32] {
            let block = Bitmap::new(count as usize);
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
    fn returns_are_counted_even_if_taken_again() {
        let block = Bitmap::new(1);
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
    fn count_of_returns_wraps_and_keeps_the_flags() {
        let block = Bitmap::new(2);
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
        let blocks = [0, 2, 1].map(Bitmap::new);
        let number =
            |found: (&Bitmap, u32)| blocks.iter().position(|one| core::ptr::eq(one, found.0));
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
    fn search_takes_the_instances_of_all_blocks() {
        let blocks = [3, 0, 1].map(Bitmap::new);
        for _ in 0..4 {
            assert!(take(|| blocks.iter()).is_ok());
        }
        assert!(take(|| blocks.iter()).is_err());
        assert!(take(|| blocks[..0].iter()).is_err());
    }

    #[test]
    fn search_finds_an_instance_that_moved_behind_it() {
        let blocks = [1, 1].map(Bitmap::new);
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
    fn overtaken_search_is_repeated() {
        let blocks = [1, 1].map(Bitmap::new);
        assert_eq!((blocks[0].take(), blocks[1].take()), (Ok(0), Ok(0)));
        let searches = Cell::new(0);
        let all = || {
            searches.set(searches.get() + 1);
            blocks.iter().inspect(|&block| {
                // An instance returns and is taken where the search has already been.
                if searches.get() <= 3 && core::ptr::eq(block, &blocks[1]) {
                    blocks[0].give(Ticket::of(0));
                    assert_eq!(blocks[0].take(), Ok(0));
                }
            })
        };
        let returns = take(all).map(|_| ());
        assert_eq!(searches.get(), 5);
        assert_eq!(returns, Err(blocks[0].returns()));
        assert_eq!(returns, Err(3));
    }

    #[test]
    fn search_that_is_always_overtaken_ends() {
        let blocks = [1, 1].map(Bitmap::new);
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
        assert_eq!(searches.get(), MAX_WALKS);
        // An instance that returns behind the last search is not seen.
        assert_eq!(returns, Err(MAX_WALKS as u16 - 1));
    }
}
