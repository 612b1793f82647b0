// SPDX-License-Identifier: GPL-2.0

//! The latest of many, in memory that never grows.

/// The latest `MOST` of what was noted.
pub(crate) struct Latest<T, const MOST: usize> {
    all: [Option<T>; MOST],
    /// Where the next one goes.
    next: usize,
}

impl<T, const MOST: usize> Latest<T, MOST> {
    /// Nothing was noted yet.
    pub(crate) const fn new() -> Self {
        Self {
            all: [const { None }; MOST],
            next: 0,
        }
    }

    /// One more; the oldest is forgotten if there are too many.
    pub(crate) fn note(&mut self, one: T) {
        if let Some(place) = self.all.get_mut(self.next) {
            *place = Some(one);
        }
        self.next = self.next.wrapping_add(1);
        if self.next >= MOST {
            self.next = 0;
        }
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let (newer, older) = self.all.split_at(self.next.min(MOST));
        older.iter().chain(newer).flatten()
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
