// SPDX-License-Identifier: GPL-2.0

//! The states of a page's slots: free, in use, or pending until Tasks RCU has waited.
//!
//! A slot is given back in one of two ways. A slot that no CPU can be in is free at once. A slot in
//! which a task may have been preempted is *pending* until a grace period of Tasks RCU is over. A
//! page has one callback. The pending slots that the queued callback will free are *waiting* as
//! well. Slots that become pending after it was queued are for the next callback.
//!
//! ```text
//!             take             free_later         call_rcu_tasks
//!    free ----------> in use ------------> pending ------------> pending, waiting
//!     ^                 |                                               |
//!     +-----------------+-----------------------------------------------+
//!                      free                                          expired
//! ```

use crate::atomics::{
    AtomicUsize,
    Ordering, //
};

/// The slots of a page, as many as a word has bits. A bit of each word stands for a slot.
///
/// All words are changed without a lock. A page with a slot that is not free is not freed. So when
/// code gives back a slot, its last access to the page is the store that makes the slot free.
pub(crate) struct Bits {
    all: usize,
    free: AtomicUsize,
    /// Pending slots, the waiting ones included. If there are any, the page's callback is queued.
    pending: AtomicUsize,
    /// Waiting slots: those that the queued callback frees. Only the task that queues the callback,
    /// and the callback itself, use this word.
    waiting: AtomicUsize,
}

impl Bits {
    /// Makes free slots, one for each bit of `all`.
    pub(crate) fn new(all: usize) -> Self {
        Self {
            all,
            free: AtomicUsize::new(all),
            pending: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Takes a free slot. Only one task at a time takes slots.
    pub(crate) fn take(&self) -> Option<usize> {
        let index = self.free.load(Ordering::Relaxed).trailing_zeros();
        let slot = 1_usize.checked_shl(index)?;
        self.free.fetch_and(!slot, Ordering::Acquire);
        Some(index as usize)
    }

    /// Gives back taken slots that no CPU can be in. Returns whether all slots are free now.
    pub(crate) fn free(&self, slots: usize) -> bool {
        // `all` is read before the store, after which the page may be freed.
        let all = self.all;
        self.free.fetch_or(slots, Ordering::Release) | slots == all
    }

    /// Gives back a taken slot that tasks may be in. If this returns true, the caller calls
    /// `call_rcu_tasks()`, whose callback calls [`expired`](Bits::expired).
    #[must_use]
    pub(crate) fn free_later(&self, slot: usize) -> bool {
        let is_first = self.pending.fetch_or(slot, Ordering::AcqRel) == 0;
        if is_first {
            self.waiting.store(slot, Ordering::Relaxed);
        }
        is_first
    }

    /// Ends a grace period. Returns the slots that waited, for [`free`](Bits::free), and whether
    /// slots are pending. If so, the caller queues the callback again, before it frees the slots.
    #[must_use]
    pub(crate) fn expired(&self) -> (usize, bool) {
        let waited = self.waiting.load(Ordering::Relaxed);
        let pending = self.pending.fetch_and(!waited, Ordering::AcqRel) & !waited;
        if pending != 0 {
            self.waiting.store(pending, Ordering::Relaxed);
        }
        (waited, pending != 0)
    }

    /// Returns whether all slots are free.
    pub(crate) fn is_unused(&self) -> bool {
        self.free.load(Ordering::Acquire) == self.all
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_slot))]
mod tests {
    use super::*;

    /// Not all that a word has.
    const COUNT: usize = usize::BITS as usize - 14;

    fn page() -> Bits {
        Bits::new((1 << COUNT) - 1)
    }

    /// Takes all that are free; how many there are.
    fn take_all(page: &Bits) -> usize {
        core::iter::from_fn(|| page.take()).count()
    }

    /// The grace period is over: how many slots wait no more, and whether to ask again.
    fn expire(page: &Bits) -> (u32, bool) {
        let (waited, ask) = page.expired();
        page.free(waited);
        (waited.count_ones(), ask)
    }

    #[test]
    fn each_slot_is_taken_once() {
        let (page, mut seen) = (page(), [0; COUNT]);
        while let Some(index) = page.take() {
            seen[index] += 1;
        }
        assert!(seen == [1; COUNT]);
        page.free(1 << (COUNT - 5));
        assert_eq!(page.take(), Some(COUNT - 5));
        assert_eq!(page.take(), None);
        assert_eq!(take_all(&Bits::new(usize::MAX)), usize::BITS as usize);
        assert_eq!(take_all(&Bits::new(1)), 1);
    }

    #[test]
    fn free_later_frees_after_a_grace_period() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert!(page.free_later(1 << 3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (1, false));
        assert_eq!(page.take(), Some(3));
    }

    #[test]
    fn slots_left_during_a_wait_are_freed_by_the_next() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert!(page.free_later(1 << 3));
        assert!(!page.free_later(1 << (COUNT - 4)));
        assert!(!page.free_later(1 << 5));
        assert_eq!(expire(&page), (1, true));
        assert_eq!(page.take(), Some(3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (2, false));
        assert_eq!(take_all(&page), 2);
    }

    #[test]
    fn expired_returns_the_slots_that_waited() {
        let page = page();
        take_all(&page);
        assert!(page.free_later(1 << 1));
        assert_eq!(page.expired(), (1 << 1, false));
    }

    #[test]
    fn page_is_unused_when_all_slots_are_free() {
        let page = page();
        assert!(page.is_unused());
        let (Some(one), Some(other)) = (page.take(), page.take()) else {
            return;
        };
        assert!(!page.is_unused());
        page.free(1 << one);
        assert!(!page.is_unused());
        assert!(page.free_later(1 << other));
        assert!(!page.is_unused());
        assert_eq!(expire(&page), (1, false));
        assert!(page.is_unused());
    }
}
