// SPDX-License-Identifier: GPL-2.0

//! A list of the latest elements, of a fixed length.

/// The latest `MOST` elements, the oldest first.
pub(crate) struct Latest<T, const MOST: usize>([Option<T>; MOST]);

impl<T, const MOST: usize> Latest<T, MOST> {
    /// Makes an empty list.
    pub(crate) const fn new() -> Self {
        Self([const { None }; MOST])
    }

    /// Adds an element. Removes the oldest one if the list is full.
    pub(crate) fn note(&mut self, one: T) {
        self.0.rotate_left(MOST.min(1));
        if let Some(last) = self.0.last_mut() {
            *last = Some(one);
        }
    }

    /// Returns all elements, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_latest))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut latest = Latest::<u32, 3>::new();
        assert_eq!(latest.iter().count(), 0);
        for (number, kept) in [(1, 1..=1), (2, 1..=2), (3, 1..=3), (4, 2..=4), (8, 3..=8)] {
            latest.note(number);
            let found = latest.iter();
            assert!(found
                .copied()
                .eq(kept.filter(|one| [1, 2, 3, 4, 8].contains(one))));
        }
    }

    #[test]
    fn room_for_none_keeps_none() {
        let mut latest = Latest::<u32, 0>::new();
        latest.note(1);
        assert_eq!(latest.iter().count(), 0);
    }
}
