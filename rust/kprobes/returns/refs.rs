// SPDX-License-Identifier: GPL-2.0

//! How many instances of a store are out when its owner is gone.
//!
//! It counts as `percpu_ref` does, with the words of the blocks in the place of the CPUs' counters.
//! While the store has an owner nothing is counted: an instance that comes back only changes its
//! block's word. From when the store is [left](Refs::leave) an instance that comes back changes
//! `out` instead. A grace period later everyone sees that the store was left, and nobody takes from
//! it: then the worker adds to `out` what the words say is out. Whoever makes it zero knows that
//! the store can be freed, and does not look at it again.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use crate::atomics::{
    AtomicBool,
    AtomicIsize,
    Ordering, //
};
use core::cell::Cell;

/// How far a store is on its way from its owner to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Owned,
    /// Left. The grace period from then on may not be over.
    Waiting,
    /// `out` is how many instances are out.
    Counted,
}

/// Who still has an instance of a store. The lock of the stores is held for all of it but
/// [`is_left`](Refs::is_left) and [`put`](Refs::put).
pub(crate) struct Refs {
    left: AtomicBool,
    /// How many instances are out. Before they are counted: less one for each that came back.
    out: AtomicIsize,
    stage: Cell<Stage>,
}

impl Refs {
    /// Those of a store with an owner.
    pub(crate) fn new() -> Self {
        Self {
            left: AtomicBool::new(false),
            out: AtomicIsize::new(0),
            stage: Cell::new(Stage::Owned),
        }
    }

    /// The owner goes. Nobody may find the store from before this on; those who have found it may
    /// still take from it until the end of their read-side sections of RCU.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Is the owner gone? Within a read-side section of RCU in which this is false the owner stays.
    #[inline(always)]
    pub(crate) fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// An instance comes back, by `give` if the store has an owner. Within a read-side section of
    /// RCU. Tells whether it was the last one: then the store may be gone.
    #[inline(always)]
    pub(crate) fn put(&self, give: impl FnOnce()) -> bool {
        if self.is_left() {
            return self.put_late();
        }
        give();
        false
    }

    #[cold]
    #[inline(never)]
    fn put_late(&self) -> bool {
        self.out.fetch_sub(1, Ordering::Release) == 1
    }

    /// If the owner has gone since this was last asked: the instances that are out are to be
    /// [counted](Refs::is_over) a grace period from now on.
    pub(crate) fn begins_to_wait(&self) -> bool {
        let begins = self.stage.get() == Stage::Owned && self.is_left();
        if begins {
            self.stage.set(Stage::Waiting);
        }
        begins
    }

    /// Have all instances come back to a store without owner? `out` tells how many are not free by
    /// the words; it is asked once, when the grace period is over.
    pub(crate) fn is_over(&self, out: impl FnOnce() -> usize) -> bool {
        if self.stage.get() == Stage::Waiting {
            self.out.fetch_add(out() as isize, Ordering::Relaxed);
            self.stage.set(Stage::Counted);
        }
        self.stage.get() == Stage::Counted && self.out.load(Ordering::Acquire) == 0
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_returns_refs)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    /// Gives one back; tells whether it went where it is from, and whether it was the last one.
    fn put(refs: &Refs) -> (bool, bool) {
        let given = Cell::new(false);
        let last = refs.put(|| given.set(true));
        (given.get(), last)
    }

    #[test]
    fn what_comes_back_in_time_goes_where_it_is_from() {
        let refs = Refs::new();
        assert_eq!(put(&refs), (true, false));
        refs.leave();
        assert!(refs.is_left());
        assert_eq!(put(&refs), (false, false));
    }

    #[test]
    fn a_store_with_an_owner_is_not_waited_for() {
        let refs = Refs::new();
        assert!(!refs.is_left() && !refs.begins_to_wait());
        assert!(!refs.is_over(|| unreachable!()));
        refs.leave();
        assert!(!refs.is_over(|| unreachable!()));
        assert!(refs.begins_to_wait() && !refs.begins_to_wait());
        assert!(refs.is_over(|| 0) && refs.is_over(|| unreachable!()));
    }

    #[test]
    fn the_last_one_is_told_before_or_after_the_count() {
        for (before, after) in [(0, 0), (0, 1), (1, 0), (2, 0), (0, 3), (2, 2)] {
            let refs = Refs::new();
            refs.leave();
            assert!(refs.begins_to_wait());
            for _ in 0..before {
                assert_eq!(put(&refs), (false, false));
            }
            assert_eq!(refs.is_over(|| before + after), after == 0);
            for left in (0..after).rev() {
                assert_eq!(put(&refs), (false, left == 0));
            }
            assert!(refs.is_over(|| unreachable!()));
        }
    }
}
