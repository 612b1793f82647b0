// SPDX-License-Identifier: GPL-2.0

//! Tables of addresses at which instructions start.
//!
//! The kernel has such tables for other purposes, in the order of addresses. Each entry is the
//! distance from the entry to an address. [`StartTable::last`] finds the nearest start of an
//! instruction at or before an address. Decoding may begin there.
//!
//! The kernel patches some stretches of text at boot, for the CPU that it runs on. An entry inside
//! of such a stretch may describe the text before that, or the text for another CPU.
//! [`StartTable::last`] skips the entries inside of these stretches.

use super::addr::TextAddr;

/// A stretch of text, from one address up to another. Lists of stretches are sorted by start.
pub(crate) type Stretch = (TextAddr, TextAddr);

/// A table of addresses in ascending order.
#[derive(Clone, Copy)]
pub(crate) struct StartTable<'a> {
    base: TextAddr,
    distances: &'a [i32],
}

impl<'a> StartTable<'a> {
    /// Makes a table whose first entry is at `base`.
    pub(crate) fn new(base: TextAddr, distances: &'a [i32]) -> Self {
        Self { base, distances }
    }

    /// Returns the last address that is neither after `at` nor inside of a stretch of `rewritten`.
    pub(crate) fn last(&self, at: TextAddr, rewritten: &[Stretch]) -> Option<TextAddr> {
        let mut at = at;
        loop {
            let found = self.not_behind(at)?;
            match inside(rewritten, found) {
                // The next round looks before the start of the stretch, so the loop ends.
                Some(start) => at = start,
                None => return Some(found),
            }
        }
    }

    /// Returns the last address that is not after `at`.
    fn not_behind(&self, at: TextAddr) -> Option<TextAddr> {
        let behind = self.distances.partition_point(|one| self.target(one) <= at);
        let last = self.distances.get(behind.checked_sub(1)?)?;
        Some(self.target(last))
    }

    /// Returns the address that an entry of `distances` stands for.
    fn target(&self, distance: &i32) -> TextAddr {
        let entry = core::ptr::from_ref(distance).addr();
        let offset = entry.wrapping_sub(self.distances.as_ptr().addr()) as u64;
        let at = self.base.get().wrapping_add(offset);
        TextAddr::new(at.wrapping_add(i64::from(*distance) as u64))
    }
}

/// Returns the start of the stretch that has the address, unless the address is its start.
fn inside(stretches: &[Stretch], at: TextAddr) -> Option<TextAddr> {
    let before = stretches.partition_point(|&(start, _)| start < at);
    let &(start, end) = stretches.get(before.checked_sub(1)?)?;
    (at < end).then_some(start)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_starts))]
mod tests {
    use super::*;

    const BASE: u64 = 0xffff_ffff_8200_0000;
    const TEXT: u64 = 0xffff_ffff_8100_0000;

    fn text(offset: u64) -> TextAddr {
        TextAddr::new(TEXT.wrapping_add(offset))
    }

    /// The distances to text at these offsets.
    fn distances<const N: usize>(offsets: [u64; N]) -> [i32; N] {
        core::array::from_fn(|number| {
            let entry = BASE + 4 * number as u64;
            offsets.get(number).map_or(0, |offset| {
                TEXT.wrapping_add(*offset).wrapping_sub(entry) as i32
            })
        })
    }

    fn last<const N: usize>(offsets: [u64; N], at: u64, rewritten: &[Stretch]) -> Option<u64> {
        let distances = distances(offsets);
        let table = StartTable::new(TextAddr::new(BASE), &distances);
        let found = table.last(text(at), rewritten)?;
        Some(found.get().wrapping_sub(TEXT))
    }

    #[test]
    fn the_nearest_start_is_found() {
        let offsets = [0, 4, 9, 9, 30];
        for at in 0..40 {
            let expected = offsets.into_iter().filter(|&offset| offset <= at).max();
            assert_eq!(last(offsets, at, &[]), expected);
        }
        assert_eq!(last([4, 9], 3, &[]), None);
        assert_eq!(last([], 3, &[]), None);
    }

    #[test]
    fn starts_inside_rewritten_code_are_ignored() {
        let offsets = [0, 5, 8, 12, 13, 20, 25];
        // The second has been written for a shorter stretch, too.
        let rewritten = [
            (text(2), text(5)),
            (text(8), text(15)),
            (text(8), text(20)),
            (text(19), text(21)),
        ];
        let found = |at| last(offsets, at, &rewritten);
        for (at, expected) in [
            (4, 0),
            (5, 5),
            (8, 8),
            (12, 8),
            (19, 8),
            (20, 8),
            (24, 8),
            (25, 25),
        ] {
            assert_eq!(found(at), Some(expected));
        }
        assert_eq!(last([12, 13], 30, &rewritten), None);
    }
}
