// SPDX-License-Identifier: GPL-2.0

//! Which slots of a page are free, in use, or wait for Tasks RCU.
//!
//! A slot is given back in one of two ways. One that no CPU can be in is free at once. One that a
//! task may have been preempted in is left: it waits for a grace period of Tasks RCU, together with
//! all that were left by then. A page has one callback, so what is left while the callback is
//! pending waits for the next one.
//!
//! ```text
//!             take                leave              ask
//!    free ----------> in use ---------------> left ------> waiting
//!     ^                 |                                     |
//!     +-----------------+-------------------------------------+
//!                      free                                expired
//! ```

/// The slots of a page, up to 64.
///
/// # Invariants
///
/// No slot is in two of the sets. If one is in `left`, one is in `waiting`.
#[derive(Debug)]
pub(crate) struct Bits {
    all: u64,
    free: u64,
    left: u64,
    /// Those that wait. While there are any, the page's callback is pending.
    waiting: u64,
}

impl Bits {
    /// `count` free slots.
    pub(crate) fn new(count: usize) -> Self {
        let unused = 64_usize.saturating_sub(count) as u32;
        let all = u64::MAX.checked_shr(unused).unwrap_or(0);
        // INVARIANT: All are free.
        Self {
            all,
            free: all,
            left: 0,
            waiting: 0,
        }
    }

    /// Takes a free slot.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let index = self.free.trailing_zeros();
        self.free &= self.free.wrapping_sub(1);
        (index < u64::BITS).then_some(index as usize)
    }

    /// Gives back a slot that was taken, and that no CPU can be in.
    pub(crate) fn free(&mut self, index: usize) {
        self.free |= 1_u64.wrapping_shl(index as u32);
    }

    /// Gives back a slot that was taken, and that tasks may be in. If this returns true, the caller
    /// asks for a grace period of Tasks RCU, after which it calls [`expired`](Bits::expired).
    #[must_use]
    pub(crate) fn leave(&mut self, index: usize) -> bool {
        self.left |= 1_u64.wrapping_shl(index as u32);
        self.waiting == 0 && self.ask()
    }

    /// The grace period is over: what waits is free, after `each` was called for it. Returns what
    /// [`leave`](Bits::leave) does.
    #[must_use]
    pub(crate) fn expired(&mut self, mut each: impl FnMut(usize)) -> bool {
        self.free |= self.waiting;
        while self.waiting != 0 {
            each(self.waiting.trailing_zeros() as usize);
            self.waiting &= self.waiting.wrapping_sub(1);
        }
        self.ask()
    }

    /// Are all slots free?
    pub(crate) fn is_unused(&self) -> bool {
        self.free == self.all
    }

    /// What was left waits from now on, if there is any.
    fn ask(&mut self) -> bool {
        // INVARIANT: Nothing is left.
        self.waiting = core::mem::take(&mut self.left);
        self.waiting != 0
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_slot))]
mod tests {
    use super::*;

    /// Not all that a word has.
    const COUNT: usize = 50;

    fn page() -> Bits {
        Bits::new(COUNT)
    }

    /// Takes all that are free; how many there are.
    fn take_all(page: &mut Bits) -> usize {
        core::iter::from_fn(|| page.take()).count()
    }

    /// The grace period is over: how many slots wait no more, and whether to ask again.
    fn expire(page: &mut Bits) -> (usize, bool) {
        let mut count = 0;
        let ask = page.expired(|_| count += 1);
        (count, ask)
    }

    #[test]
    fn each_slot_is_taken_once() {
        let (mut page, mut seen) = (page(), [0; COUNT]);
        while let Some(index) = page.take() {
            seen[index] += 1;
        }
        assert!(seen == [1; COUNT]);
        page.free(45);
        assert_eq!(page.take(), Some(45));
        assert_eq!(page.take(), None);
        assert_eq!(take_all(&mut Bits::new(64)), 64);
        assert_eq!(take_all(&mut Bits::new(1)), 1);
    }

    #[test]
    fn what_lingers_is_free_after_a_grace_period() {
        let mut page = page();
        assert_eq!(take_all(&mut page), COUNT);
        assert!(page.leave(3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&mut page), (1, false));
        assert_eq!(page.take(), Some(3));
    }

    #[test]
    fn what_is_left_meanwhile_waits_for_the_next() {
        let mut page = page();
        assert_eq!(take_all(&mut page), COUNT);
        assert!(page.leave(3));
        assert!(!page.leave(46));
        assert!(!page.leave(5));
        assert_eq!(expire(&mut page), (1, true));
        assert_eq!(page.take(), Some(3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&mut page), (2, false));
        assert_eq!(take_all(&mut page), 2);
    }

    #[test]
    fn who_waits_is_told() {
        let mut page = page();
        take_all(&mut page);
        assert!(page.leave(1));
        let mut told = None;
        assert!(!page.expired(|index| told = Some(index)));
        assert_eq!(told, Some(1));
    }

    #[test]
    fn a_page_is_unused_when_nobody_has_a_slot() {
        let mut page = page();
        assert!(page.is_unused());
        let (Some(one), Some(other)) = (page.take(), page.take()) else {
            return;
        };
        assert!(!page.is_unused());
        page.free(one);
        assert!(!page.is_unused());
        assert!(page.leave(other));
        assert!(!page.is_unused());
        assert_eq!(expire(&mut page), (1, false));
        assert!(page.is_unused());
    }
}
