// SPDX-License-Identifier: GPL-2.0

//! A set of the slots of a page.

use super::atomics::Word;

/// A set of up to 64 slots for each word.
pub(super) struct Set<W, const WORDS: usize>([W; WORDS]);

impl<W: Word, const WORDS: usize> Set<W, WORDS> {
    /// The first so many slots.
    pub(super) fn first(count: usize, word: &mut impl FnMut(u64) -> W) -> Self {
        Self(core::array::from_fn(|number| {
            let bits = count.saturating_sub(64 * number).min(64);
            word(u64::MAX.checked_shr(64 - bits as u32).unwrap_or(0))
        }))
    }

    /// One more.
    pub(super) fn add(&self, index: usize) {
        if let Some(word) = self.0.get(index / 64) {
            word.add(1 << (index % 64));
        }
    }

    /// Takes one out. Only one may do so at a time.
    pub(super) fn take(&self) -> Option<usize> {
        for (number, word) in self.0.iter().enumerate() {
            let bits = word.seen();
            if bits != 0 {
                let bit = bits.trailing_zeros();
                word.remove(1 << bit);
                return Some(64 * number + bit as usize);
            }
        }
        None
    }

    /// Moves all that is in here to `other`, after `each` has been told; whether there was any.
    pub(super) fn pour(&self, other: &Self, mut each: impl FnMut(usize)) -> bool {
        let mut any = false;
        for (number, (from, to)) in self.0.iter().zip(&other.0).enumerate() {
            let bits = from.drain();
            let mut left = bits;
            while left != 0 {
                each(64 * number + left.trailing_zeros() as usize);
                left &= left - 1;
            }
            to.add(bits);
            any |= bits != 0;
        }
        any
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        let bits = |word: &W| word.seen().count_ones() as usize;
        self.0.iter().map(bits).sum()
    }
}
