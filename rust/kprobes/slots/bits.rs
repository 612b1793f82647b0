// SPDX-License-Identifier: GPL-2.0

//! The states of a page's slots: free, in use, or pending.
//!
//! A slot is given back in one of two ways. A slot that no CPU can be in is free at once. A slot in
//! which a task may have been preempted is *pending* until a grace period of Tasks RCU is over.
//!
//! A page has one callback of Tasks RCU. The queued callback frees only slots that were pending
//! when it was queued, which its grace period *covers*. Slots that become pending later are not
//! covered before the callback is queued again.
//!
//! ```text
//!             take            mark_pending        call_rcu_tasks
//!    free ----------> in use --------------> pending ------------> pending, covered
//!     ^                 |                                                 |
//!     +-----------------+-------------------------------------------------+
//!                   mark_free                              end_grace_period, mark_free
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
    /// Pending slots, covered or not. If there are any, the page's callback is queued.
    pending: AtomicUsize,
    /// Covered slots: those that the queued callback frees. Only the task that queues the callback,
    /// and the callback itself, use this word.
    covered: AtomicUsize,
}

impl Bits {
    /// Makes free slots, one for each bit of `all`.
    pub(crate) fn new(all: usize) -> Self {
        Self {
            all,
            free: AtomicUsize::new(all),
            pending: AtomicUsize::new(0),
            covered: AtomicUsize::new(0),
        }
    }

    /// Takes a free slot. Only one task at a time takes slots.
    pub(crate) fn take(&self) -> Option<usize> {
        let index = self.free.load(Ordering::Relaxed).trailing_zeros();
        let slot = 1_usize.checked_shl(index)?;
        self.free.fetch_and(!slot, Ordering::Acquire);
        Some(index as usize)
    }

    /// Makes slots free that no CPU can be in: slots in use, or slots that
    /// [`end_grace_period`](Bits::end_grace_period) has returned. Returns whether all slots of the
    /// page are free now.
    pub(crate) fn mark_free(&self, slots: usize) -> bool {
        // `all` is read before the store, after which the page may be freed.
        let all = self.all;
        self.free.fetch_or(slots, Ordering::Release) | slots == all
    }

    /// Makes a slot in use pending, as tasks may be in it. If this returns true, the caller calls
    /// `call_rcu_tasks()`, whose callback calls [`end_grace_period`](Bits::end_grace_period).
    #[must_use]
    pub(crate) fn mark_pending(&self, slot: usize) -> bool {
        let is_first = self.pending.fetch_or(slot, Ordering::AcqRel) == 0;
        if is_first {
            self.covered.store(slot, Ordering::Relaxed);
        }
        is_first
    }

    /// Ends a grace period. Returns the slots that it has covered, for
    /// [`mark_free`](Bits::mark_free), and whether other slots are pending. These are covered now:
    /// the caller queues the callback again, before it frees the returned slots.
    #[must_use]
    pub(crate) fn end_grace_period(&self) -> (usize, bool) {
        let covered = self.covered.load(Ordering::Relaxed);
        let pending = self.pending.fetch_and(!covered, Ordering::AcqRel) & !covered;
        if pending != 0 {
            self.covered.store(pending, Ordering::Relaxed);
        }
        (covered, pending != 0)
    }

    /// Returns whether all slots are free.
    pub(crate) fn is_unused(&self) -> bool {
        self.free.load(Ordering::Acquire) == self.all
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_slot_bits))]
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

    /// Ends a grace period: how many slots become free, and whether to queue the callback again.
    fn expire(page: &Bits) -> (u32, bool) {
        let (covered, again) = page.end_grace_period();
        page.mark_free(covered);
        (covered.count_ones(), again)
    }

    #[test]
    fn each_slot_is_taken_once() {
        let (page, mut seen) = (page(), [0; COUNT]);
        while let Some(index) = page.take() {
            seen[index] += 1;
        }
        assert!(seen == [1; COUNT]);
        page.mark_free(1 << (COUNT - 5));
        assert_eq!(page.take(), Some(COUNT - 5));
        assert_eq!(page.take(), None);
        assert_eq!(take_all(&Bits::new(usize::MAX)), usize::BITS as usize);
        assert_eq!(take_all(&Bits::new(1)), 1);
    }

    #[test]
    fn pending_slot_is_free_after_a_grace_period() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert!(page.mark_pending(1 << 3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (1, false));
        assert_eq!(page.take(), Some(3));
    }

    #[test]
    fn slots_not_covered_are_freed_by_the_next_grace_period() {
        let page = page();
        assert_eq!(take_all(&page), COUNT);
        assert!(page.mark_pending(1 << 3));
        assert!(!page.mark_pending(1 << (COUNT - 4)));
        assert!(!page.mark_pending(1 << 5));
        assert_eq!(expire(&page), (1, true));
        assert_eq!(page.take(), Some(3));
        assert_eq!(page.take(), None);
        assert_eq!(expire(&page), (2, false));
        assert_eq!(take_all(&page), 2);
    }

    #[test]
    fn end_grace_period_returns_the_covered_slots() {
        let page = page();
        take_all(&page);
        assert!(page.mark_pending(1 << 1));
        assert_eq!(page.end_grace_period(), (1 << 1, false));
    }

    #[test]
    fn page_is_unused_when_all_slots_are_free() {
        let page = page();
        assert!(page.is_unused());
        let (Some(one), Some(other)) = (page.take(), page.take()) else {
            return;
        };
        assert!(!page.is_unused());
        page.mark_free(1 << one);
        assert!(!page.is_unused());
        assert!(page.mark_pending(1 << other));
        assert!(!page.is_unused());
        assert_eq!(expire(&page), (1, false));
        assert!(page.is_unused());
    }
}
