// SPDX-License-Identifier: GPL-2.0

//! When the last of what was taken from a store is back that nobody uses any more.
//!
//! While a store is in use nobody counts: what comes back goes where it is from. Once it was
//! [left](Account::leave), what comes back only counts; a grace period later nobody is left who had
//! not seen that, and what is out is counted as well. Both sums are one number, which becomes zero
//! once. Whoever makes it so learns that the last is back, and nobody else does.
//!
//! Who gives something back does not look at the store after that: it may be gone.

use core::sync::atomic::{
    AtomicBool,
    AtomicIsize,
    Ordering, //
};

/// A flag that is raised once.
pub(crate) trait Flag {
    /// One that is not raised.
    fn lowered() -> Self;

    /// Raises it. What this CPU did before is seen by who [sees](Flag::is_seen) that.
    fn raise(&self);

    /// Is it raised? It says nothing of anything else, and may say it late.
    fn is_raised(&self) -> bool;

    /// Is it raised? Then what was done before is seen.
    fn is_seen(&self) -> bool;
}

impl Flag for AtomicBool {
    fn lowered() -> Self {
        Self::new(false)
    }

    fn raise(&self) {
        self.store(true, Ordering::Release);
    }

    #[inline(always)]
    fn is_raised(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    fn is_seen(&self) -> bool {
        self.load(Ordering::Acquire)
    }
}

/// A number that any number change at any time.
pub(crate) trait Number {
    /// Zero.
    fn zero() -> Self;

    /// Adds to it; what it is then. What those did who have changed it before is seen, and who
    /// changes or [sees](Number::seen) it later sees what this CPU did before.
    fn add(&self, value: isize) -> isize;

    /// What it is. What those did who have changed it is seen.
    fn seen(&self) -> isize;
}

impl Number for AtomicIsize {
    fn zero() -> Self {
        Self::new(0)
    }

    fn add(&self, value: isize) -> isize {
        self.fetch_add(value, Ordering::AcqRel).wrapping_add(value)
    }

    fn seen(&self) -> isize {
        self.load(Ordering::Acquire)
    }
}

/// Is it over?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Somebody else will learn of it, if it is ever.
    NotByThis,
    /// The last is back, and who is told this is the only one.
    ByThis,
}

/// How far a store is on its way from its owner's to nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It is somebody's, or was when this was looked at.
    Used,
    /// Until nobody takes anything from it any more, or gives it back without seeing that.
    Waiting,
    /// What is out is counted.
    Counted,
}

/// Who still has something of a store.
pub(crate) struct Account<F, N> {
    /// Is it nobody's any more, so that what comes back only counts?
    left: F,
    /// How many are out: those that were counted, less those that came back since it was left. So
    /// it is below zero until they are counted.
    out: N,
}

impl<F: Flag, N: Number> Account<F, N> {
    /// That of a store that is in use.
    pub(crate) fn new() -> Self {
        Self {
            left: F::lowered(),
            out: N::zero(),
        }
    }

    /// It is nobody's any more, and goes when what is out is back. Nobody may find it from before
    /// this on; who has found it may still take from it. From a grace period on after this, what
    /// comes back only counts.
    pub(crate) fn leave(&self) {
        self.left.raise();
    }

    /// Is it nobody's any more? Who is told no, in a read-side section of RCU, is waited for before
    /// what is out is counted: until the end of that, what comes back may go where it is from.
    #[inline(always)]
    pub(crate) fn is_left(&self) -> bool {
        self.left.is_raised()
    }

    /// Something comes back, by `give` if that is to go where it is from. To be called in a
    /// read-side section of RCU. After it the store may be gone, unless the caller has more of it.
    #[inline(always)]
    pub(crate) fn back(&self, give: impl FnOnce()) -> Over {
        if self.is_left() {
            return self.back_late();
        }
        give();
        Over::NotByThis
    }

    #[cold]
    #[inline(never)]
    fn back_late(&self) -> Over {
        Self::over(self.out.add(-1))
    }

    /// What is told to who has changed the number to this. As long as what is out was not counted
    /// it is zero before anything has come back, and only then.
    fn over(out: isize) -> Over {
        match out {
            0 => Over::ByThis,
            _ => Over::NotByThis,
        }
    }
}

impl End {
    /// If it was left, what to wait for before the next [step](End::count): a grace period of RCU
    /// that begins after this.
    pub(crate) fn wait<F: Flag, N: Number>(self, account: &Account<F, N>) -> Option<Self> {
        (self == Self::Used && account.left.is_seen()).then_some(Self::Waiting)
    }

    /// What is out is counted, if it is time for that. `out` makes that nobody takes any of what
    /// is free, and tells how many are not.
    pub(crate) fn count<F: Flag, N: Number>(
        self,
        account: &Account<F, N>,
        out: impl FnOnce() -> usize,
    ) -> Option<(Self, Over)> {
        if self != Self::Waiting {
            return None;
        }
        let out = account
            .out
            .add(isize::try_from(out()).unwrap_or(isize::MAX));
        Some((Self::Counted, Account::<F, N>::over(out)))
    }

    /// Is all back? Then nobody but the caller looks at what was in store.
    pub(crate) fn is_over<F: Flag, N: Number>(self, account: &Account<F, N>) -> bool {
        self == Self::Counted && account.out.seen() == 0
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_account)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;
    use core::cell::Cell;

    type Ours = Account<AtomicBool, AtomicIsize>;

    /// Gives one back; tells whether it went where it is from.
    fn back(account: &Ours) -> (bool, Over) {
        let given = Cell::new(false);
        let over = account.back(|| given.set(true));
        (given.get(), over)
    }

    /// One that was left, and waits.
    fn left() -> (Ours, End) {
        let account = Ours::new();
        account.leave();
        let end = End::Used.wait(&account);
        (account, end.unwrap_or(End::Used))
    }

    #[test]
    fn what_comes_back_in_time_goes_where_it_is_from() {
        let account = Ours::new();
        assert_eq!(back(&account), (true, Over::NotByThis));
        account.leave();
        assert!(account.is_left());
        assert_eq!(back(&account), (false, Over::NotByThis));
    }

    #[test]
    fn a_store_in_use_is_not_waited_for() {
        let account = Ours::new();
        assert!(!account.is_left());
        assert_eq!(End::Used.wait(&account), None);
        account.leave();
        assert_eq!(End::Used.wait(&account), Some(End::Waiting));
        assert_eq!(End::Waiting.wait(&account), None);
        assert_eq!(End::Counted.wait(&account), None);
    }

    #[test]
    fn nothing_is_counted_before_its_time_or_twice() {
        let account = Ours::new();
        for end in [End::Used, End::Counted] {
            assert_eq!(end.count(&account, || 1), None);
        }
        assert!(!End::Used.is_over(&account) && !End::Waiting.is_over(&account));
        assert!(End::Counted.is_over(&account));
    }

    #[test]
    fn who_counts_the_last_learns_it() {
        for late in 0..4 {
            let (account, end) = left();
            for _ in 0..late {
                assert_eq!(back(&account), (false, Over::NotByThis));
            }
            assert!(!end.is_over(&account));
            let counted = end.count(&account, || late);
            assert_eq!(counted, Some((End::Counted, Over::ByThis)));
            assert!(End::Counted.is_over(&account));
        }
    }

    #[test]
    fn who_gives_the_last_back_learns_it() {
        for before in 0..4 {
            let (account, end) = left();
            for _ in 0..before {
                assert_eq!(back(&account), (false, Over::NotByThis));
            }
            let counted = end.count(&account, || before + 2);
            assert_eq!(counted, Some((End::Counted, Over::NotByThis)));
            assert!(!End::Counted.is_over(&account));
            assert_eq!(back(&account), (false, Over::NotByThis));
            assert!(!End::Counted.is_over(&account));
            assert_eq!(back(&account), (false, Over::ByThis));
            assert!(End::Counted.is_over(&account));
        }
    }
}
