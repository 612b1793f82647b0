// SPDX-License-Identifier: GPL-2.0

//! The slots of one page, and when their page may go.
//!
//! The flag that the callback is on its way is what its head belongs to: whoever raises it may hand
//! the head over, and whoever is called lowers it. What was left by another CPU in between would
//! wait for ever if nobody looked again after lowering the flag. An unused page would stay if
//! nobody knew of it, so whoever frees a slot asks. For both, the page must still be there, though
//! all slots may be free by then; so
//!
//! - who calls [`leave`](Map::leave) is not waited for by the grace period that it asks for only
//!   after it has returned, which is what Tasks RCU does for any code that does not sleep;
//! - who calls [`expired`](Map::expired) is in a read-side section of RCU, and so is
//!   [`free`](Map::free), which enters one: the page is freed after a grace period of that.

use super::{
    atomics::{
        Flag,
        Word, //
    },
    set::Set, //
};

/// The slots of one page.
///
/// # Invariants
///
/// Each slot is in use or in one of the sets, or is on its way from one to the next with who has
/// raised the flag. Whoever has left one sees to it that the callback is on its way.
pub(crate) struct Map<W, F, const WORDS: usize> {
    count: usize,
    free: Set<W, WORDS>,
    /// Given back, to be handed to Tasks RCU.
    left: Set<W, WORDS>,
    /// Handed to it.
    waiting: Set<W, WORDS>,
    /// Is the callback on its way?
    asked: F,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Then {
    /// Ask for a grace period of Tasks RCU, by the page's head; when it is over, tell
    /// [`expired`](Map::expired).
    Ask,
    /// Nothing.
    Nothing,
}

impl<W: Word, F: Flag, const WORDS: usize> Map<W, F, WORDS> {
    /// `count` free slots, of words that `word` makes and a flag that is down.
    pub(crate) fn new(count: usize, mut word: impl FnMut(u64) -> W, asked: F) -> Self {
        // INVARIANT: All are free.
        Self {
            count,
            free: Set::first(count, &mut word),
            left: Set::first(0, &mut word),
            waiting: Set::first(0, &mut word),
            asked,
        }
    }

    /// A slot that is free, to be used. Only one may take at a time.
    pub(crate) fn take(&self) -> Option<usize> {
        self.free.take()
    }

    /// Gives back a slot that was taken, and that no CPU can be in. If the page is unused then,
    /// `unused` is called.
    ///
    /// `enter` begins a read-side section of RCU that lasts as long as what it returns: until the
    /// page is asked nothing more.
    pub(crate) fn free<R>(&self, index: usize, enter: impl FnOnce() -> R, unused: impl FnOnce()) {
        let _reading = enter();
        self.free.add(index);
        if self.is_unused() {
            unused();
        }
    }

    /// Gives back a slot that was taken, and that tasks may still be in.
    pub(crate) fn leave(&self, index: usize) -> Then {
        self.left.add(index);
        self.ask()
    }

    /// The grace period is over: what waits is free, after `each` has been told.
    pub(crate) fn expired(&self, each: impl FnMut(usize)) -> Then {
        self.waiting.pour(&self.free, each);
        self.asked.lower();
        if self.left.len() == 0 {
            return Then::Nothing;
        }
        self.ask()
    }

    /// Are all slots free, and is the callback not on its way? It stays so for who alone may take.
    pub(crate) fn is_unused(&self) -> bool {
        self.free.len() == self.count && !self.asked.is_raised()
    }

    /// Hands on what was left, unless the callback is on its way already.
    fn ask(&self) -> Then {
        // The loop is for what is left while another one, who has found nothing, is about to lower
        // the flag.
        while self.asked.raise() {
            if self.left.pour(&self.waiting, |_| ()) {
                return Then::Ask;
            }
            self.asked.lower();
            if self.left.len() == 0 {
                break;
            }
        }
        Then::Nothing
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_slot))]
mod tests {
    use super::*;
    use core::sync::atomic::{
        AtomicBool,
        AtomicU64, //
    };

    /// More than a word, and not full.
    const COUNT: usize = 70;

    type Page = Map<AtomicU64, AtomicBool, 2>;

    fn page() -> Page {
        Map::new(COUNT, AtomicU64::new, AtomicBool::new(false))
    }

    /// Takes all that are free; how many there are.
    fn take_all(page: &Page) -> usize {
        core::iter::from_fn(|| page.take()).count()
    }

    /// The grace period is over: how many slots wait no more, and what is to be done then.
    fn expire(page: &Page) -> (usize, Then) {
        let mut count = 0;
        let then = page.expired(|_| count += 1);
        (count, then)
    }

    #[test]
    fn each_slot_is_taken_once() {
        let (page, mut seen) = (page(), [0; COUNT]);
        while let Some(index) = page.take() {
            seen[index] += 1;
        }
        assert!(seen == [1; COUNT]);
        page.free(65, || (), || ());
        assert_eq!(page.take(), Some(65));
        assert_eq!(page.take(), None);
    }

    #[test]
    fn what_lingers_is_free_after_a_grace_period() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert_eq!(page.leave(3), Then::Ask);
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (1, Then::Nothing));
        assert_eq!(page.take(), Some(3));
    }

    #[test]
    fn what_is_left_meanwhile_waits_for_the_next() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert_eq!(page.leave(3), Then::Ask);
        assert_eq!(page.leave(66), Then::Nothing);
        assert_eq!(page.leave(5), Then::Nothing);
        assert_eq!(expire(&page), (1, Then::Ask));
        assert_eq!(page.take(), Some(3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (2, Then::Nothing));
        assert_eq!(take_all(&page), 2);
    }

    #[test]
    fn slots_are_forgotten_before_they_are_free() {
        let page = page();
        take_all(&page);
        let _ = page.leave(1);
        let mut told = None;
        let _ = page.expired(|index| {
            assert_eq!(page.take(), None);
            told = Some(index);
        });
        assert_eq!(told, Some(1));
    }

    #[test]
    fn who_frees_the_last_slot_is_told() {
        let page = page();
        let mut told = 0;
        let (one, other) = (page.take(), page.take());
        for index in [one, other].into_iter().flatten() {
            page.free(index, || (), || told += 1);
            assert_eq!(told, usize::from(page.is_unused()));
        }
        assert_eq!(told, 1);
    }

    #[test]
    fn a_page_is_unused_when_nobody_has_a_slot() {
        let page = page();
        assert!(page.is_unused());
        let (Some(one), Some(other)) = (page.take(), page.take()) else {
            return;
        };
        assert!(!page.is_unused());
        page.free(one, || (), || ());
        assert!(!page.is_unused());
        assert_eq!(page.leave(other), Then::Ask);
        assert!(!page.is_unused());
        assert_eq!(expire(&page), (1, Then::Nothing));
        assert!(page.is_unused());
    }
}
