// SPDX-License-Identifier: GPL-2.0

//! Where in an array an address belongs, and how long the array is.
//!
//! The hash is a multiplication by the golden ratio, of whose result the top bits count. Alone, it
//! spreads addresses that lie a fixed distance apart evenly, but for some distances so evenly that
//! they fill the same stretch of the array: 144 bytes make ways of ten words in the mean, and stubs
//! do lie a fixed distance apart. Folded onto itself before, an address is a fixed distance from
//! none, and no distance does much worse than chance.
//!
//! It assumes arrays of less than 2^32 words. No operation here is a call or a division on any
//! architecture, nor can one panic: lookups use it.

use crate::model::{
    addr::TextAddr,
    refusal::Refusal, //
};

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// By how many bits an address is moved to be folded; of 3 to 23, those do best.
const FOLD: u32 = 7;

/// The numbers of the words on the way of an address through an array of `len`, each once.
pub(super) fn path(at: TextAddr, len: usize) -> impl Iterator<Item = usize> {
    let mask = len.wrapping_sub(1);
    let first = home(at, mask);
    (0..len).map(move |step| first.wrapping_add(step) & mask)
}

/// The first word on the way of an address, in an array whose last word is number `mask`.
pub(crate) fn home(at: TextAddr, mask: usize) -> usize {
    let bits = mask.wrapping_add(1).trailing_zeros();
    // An array of one word has no bits of the hash.
    hash(at)
        .checked_shr(HASH_BITS.wrapping_sub(bits))
        .unwrap_or(0) as usize
        & mask
}

/// Bits of a hash.
pub(crate) const HASH_BITS: u32 = u64::BITS;

/// The hash of an address; its top bits are the number of the first word.
#[inline(always)]
pub(crate) fn hash(at: TextAddr) -> u64 {
    let folded = at.get() ^ (at.get() >> FOLD);
    folded.wrapping_mul(GOLDEN)
}

/// How many of `len` words may be in use or left, before a lookup's way gets too long.
pub(super) fn limit(len: usize) -> usize {
    (len / 4).wrapping_sub(len / 16)
}

/// The length of a new array for `entries`: an eighth of it at most is then in use, so that there
/// is room up to [`limit`].
pub(super) fn length(entries: usize, smallest: usize) -> Result<usize, Refusal> {
    let len = entries.checked_mul(8).ok_or(Refusal::NoMemory)?;
    len.max(smallest)
        .checked_next_power_of_two()
        .ok_or(Refusal::NoMemory)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_table_place))]
mod tests {
    use super::*;

    /// How many words lie on the ways to `count` addresses, `stride` bytes apart, in `LEN` words.
    fn words_visited<const LEN: usize>(count: usize, stride: u64) -> usize {
        let (mut used, mut visited) = ([false; LEN], 0);
        for number in 0..count as u64 {
            let at = TextAddr::new(0xc010_0000 + number * stride);
            let free = path(at, LEN).enumerate().find(|&(_, index)| !used[index]);
            let (step, index) = free.unwrap_or_default();
            visited += step + 1;
            used[index] = true;
        }
        visited
    }

    #[test]
    fn way_visits_each_word_once() {
        for at in [0, 1, 0x1000, u64::MAX] {
            let mut seen = [0; 16];
            for index in path(TextAddr::new(at), 16) {
                seen[index] += 1;
            }
            assert!(seen == [1; 16]);
        }
        assert_eq!(path(TextAddr::new(7), 1).count(), 1);
        assert_eq!(path(TextAddr::new(7), 0).count(), 0);
    }

    #[test]
    fn no_distance_between_addresses_is_bad() {
        let count = limit(1024);
        for stride in 1..=512 {
            // 1.3 words a way are what chance gives; the worst distance has 1.7.
            assert!(words_visited::<1024>(count, stride) <= count * 7 / 4);
        }
    }

    #[test]
    fn there_is_always_an_empty_word() {
        for bits in 1..20 {
            assert!(limit(1 << bits) < 1 << bits);
        }
        assert_eq!(limit(0), 0);
    }

    #[test]
    fn new_arrays_have_room() {
        assert_eq!(length(0, 8), Ok(8));
        assert_eq!(length(1, 8), Ok(8));
        assert_eq!(length(2, 8), Ok(16));
        assert_eq!(length(30_000, 8), Ok(262_144));
        assert_eq!(length(usize::MAX / 8, 8), Err(Refusal::NoMemory));
        assert_eq!(length(usize::MAX, 8), Err(Refusal::NoMemory));
        for entries in 0..1000 {
            assert!(length(entries, 8).is_ok_and(|len| entries < limit(len)));
        }
    }
}
