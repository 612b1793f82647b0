// SPDX-License-Identifier: GPL-2.0

//! How much there is to be in store.

/// What is known when it is asked whether there is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// How much there is, taken or not.
    pub(crate) all: usize,
    /// How much of it is free.
    pub(crate) free: usize,
    /// How many found nothing since this was asked last.
    pub(crate) lost: usize,
    /// How much there may be.
    pub(crate) bound: usize,
}

impl Demand {
    /// How much there is to be from now on, never less than there is.
    ///
    /// Each who found nothing may be one more at the same time: so as many come to it. And who
    /// takes while hardly anything is free would soon find nothing: half as much comes to it then,
    /// before anybody has.
    pub(crate) fn wanted(self) -> usize {
        let lost = self.all.saturating_add(self.lost);
        let scarce = self.free < self.all / 4;
        let ahead = if scarce { self.all + self.all / 2 } else { 0 };
        lost.max(ahead).min(self.bound).max(self.all)
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_growth)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    fn wanted(all: usize, free: usize, lost: usize) -> usize {
        let bound = 1000;
        Demand {
            all,
            free,
            lost,
            bound,
        }
        .wanted()
    }

    #[test]
    fn each_who_found_nothing_counts() {
        assert_eq!(wanted(10, 0, 990), 1000);
        assert_eq!(wanted(10, 10, 1), 11);
        assert_eq!(wanted(10, 10, 0), 10);
    }

    #[test]
    fn it_grows_before_there_is_nothing() {
        assert_eq!(wanted(100, 24, 0), 150);
        assert_eq!(wanted(100, 25, 0), 100);
        assert_eq!(wanted(100, 0, 80), 180);
    }

    #[test]
    fn the_bound_holds_but_takes_nothing_away() {
        assert_eq!(wanted(10, 0, usize::MAX), 1000);
        assert_eq!(wanted(900, 0, 0), 1000);
        assert_eq!(wanted(2000, 0, 5), 2000);
    }
}
