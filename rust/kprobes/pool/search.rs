// SPDX-License-Identifier: GPL-2.0

//! Looking for an instance in all blocks.

use super::word::{
    Free,
    Returns,
    Word, //
};

/// Something with a word of its own that says what is free in it.
pub(crate) trait Block {
    /// The kind of word.
    type Word: Word;

    /// What is free in it.
    fn free(&self) -> &Free<Self::Word>;
}

/// How often all blocks are looked at. Where something comes back all the time, and others are
/// always faster, this would never end; nor would the interrupts be back that are off meanwhile.
const MOST_LOOKS: usize = 16;

/// Takes an instance of any block. Says no only if there was an instant at which none was free, or
/// if others were faster each time, [so often](MOST_LOOKS), and what had come back until then.
///
/// `blocks` is asked for all of them, more than once, in whatever order. It may have more of them
/// the next time, and never less.
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
        // At the end of the look before this one, each word was as both have seen it. Who makes
        // them differ has given something back meanwhile.
        if before == Some(returns) {
            break;
        }
        before = Some(returns);
    }
    Err(before.unwrap_or(Returns::NONE))
}

/// What has come back to all of these. In the middle of others it is what had at some instant
/// since this was asked.
pub(crate) fn returns<'a, B: Block + 'a>(blocks: impl Iterator<Item = &'a B>) -> Returns {
    blocks.fold(Returns::NONE, |all, block| all.and(block.free().returns()))
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_search)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::{
        super::word::Ticket,
        *, //
    };
    use core::{
        cell::Cell,
        sync::atomic::AtomicU64, //
    };

    impl Block for Free<AtomicU64> {
        type Word = AtomicU64;

        fn free(&self) -> &Self {
            self
        }
    }

    #[test]
    fn all_that_there_is_can_be_taken() {
        let blocks = [3, 0, 1].map(Free::<AtomicU64>::first);
        for _ in 0..4 {
            assert!(take(|| blocks.iter()).is_ok());
        }
        assert!(take(|| blocks.iter()).is_err());
        assert!(take(|| blocks[..0].iter()).is_err());
    }

    #[test]
    fn what_goes_where_the_search_has_been_is_found() {
        let blocks = [1, 1].map(Free::<AtomicU64>::first);
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
        let blocks = [1, 1].map(Free::<AtomicU64>::first);
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
        assert_eq!(returns, Err(super::returns(blocks.iter())));
        assert_eq!(returns.map_err(Returns::number), Err(3));
    }

    #[test]
    fn a_search_that_is_always_overtaken_has_an_end() {
        let blocks = [1, 1].map(Free::<AtomicU64>::first);
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
