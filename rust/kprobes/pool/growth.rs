// SPDX-License-Identifier: GPL-2.0

//! How much there is to be in store.

/// What is known when it is asked whether there is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// How much there is, taken or not.
    pub(crate) all: usize,
    /// How much of it is free.
    pub(crate) free: usize,
    /// How much there may have been at once, with what was [lost](super::peak).
    pub(crate) most: usize,
    /// How much there may be.
    pub(crate) bound: usize,
}

impl Demand {
    /// How much more there is to be.
    ///
    /// There is to be as much as there may have been at once. And who takes while hardly anything
    /// is free would soon find nothing: half as much comes to it then, before anybody has.
    pub(crate) fn more(self) -> usize {
        let scarce = self.free < self.all / 4;
        let ahead = if scarce { self.all + self.all / 2 } else { 0 };
        let wanted = self.most.max(ahead).min(self.bound);
        wanted.saturating_sub(self.all)
    }

    /// May there not be any more? Then what is lost is to be forgotten, or one after the other that
    /// is lost there would be a reason to grow by all of them, whenever the bound is raised.
    pub(crate) fn is_at_bound(self) -> bool {
        self.all >= self.bound
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_growth)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    fn more(all: usize, free: usize, most: usize) -> usize {
        let bound = 1000;
        Demand {
            all,
            free,
            most,
            bound,
        }
        .more()
    }

    #[test]
    fn there_is_to_be_what_there_was_at_once() {
        assert_eq!(more(10, 0, 1000), 990);
        assert_eq!(more(10, 10, 11), 1);
        assert_eq!(more(10, 10, 10), 0);
        assert_eq!(more(20, 20, 11), 0);
    }

    #[test]
    fn it_grows_before_there_is_nothing() {
        assert_eq!(more(100, 24, 0), 50);
        assert_eq!(more(100, 25, 0), 0);
        assert_eq!(more(100, 0, 180), 80);
    }

    #[test]
    fn the_bound_holds_but_takes_nothing_away() {
        assert_eq!(more(10, 0, usize::MAX), 990);
        assert_eq!(more(900, 0, 0), 100);
        assert_eq!(more(2000, 0, 2005), 0);
    }

    #[test]
    fn it_is_known_when_the_bound_is_reached() {
        let at = |all| Demand {
            all,
            free: 0,
            most: 0,
            bound: 1000,
        };
        assert!(!at(999).is_at_bound());
        assert!(at(1000).is_at_bound() && at(1001).is_at_bound());
    }
}
