// SPDX-License-Identifier: GPL-2.0

//! Which block is whose: what is in store is shared out among the CPUs.
//!
//! CPUs are counted in an order of their own, those first that are online now. A block each makes
//! no two that run have one in common, whatever their numbers are. Behind them come those that may
//! be online one day: they have blocks already, or share some with the others where there are not
//! enough.
//!
//! A CPU takes from its *home*. Where there is nothing it takes from its *spare*, which is nobody's
//! home; where there is nothing either it searches all. Homes and spares stay what they are,
//! wherever something was found: so after many calls at once, which take from all blocks, no two
//! CPUs have one in common again.

/// What a CPU is, when something is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpu {
    /// There is none of that number.
    Impossible,
    /// It may come.
    Offline,
    Online,
}

/// Counts CPUs.
pub(crate) struct Ranks {
    online: usize,
    offline: usize,
}

impl Ranks {
    /// So many are online, or were just now: if they change meanwhile, two may have the same rank.
    pub(crate) fn new(online: usize) -> Self {
        Self {
            online: 0,
            offline: online,
        }
    }

    /// How many come before the next CPU, which is such a one.
    pub(crate) fn next(&mut self, cpu: Cpu) -> Option<usize> {
        let before = match cpu {
            Cpu::Impossible => return None,
            Cpu::Offline => &mut self.offline,
            Cpu::Online => &mut self.online,
        };
        let rank = *before;
        *before += 1;
        Some(rank)
    }
}

/// What new blocks are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Homes, and spares if there are more.
    Homes,
    /// Spares: so nobody takes from them without saying so.
    Spares,
}

/// New blocks, by number, which are given out to CPUs, by rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) blocks: usize,
    pub(crate) cpus: usize,
    pub(crate) purpose: Purpose,
}

impl Share {
    /// How many of them are given out at most, the first ones.
    pub(crate) fn given_out(self) -> usize {
        self.blocks.min(2 * self.cpus)
    }

    /// Which one a CPU is to have for its home.
    pub(crate) fn home(self, rank: usize) -> Option<usize> {
        match self.purpose {
            Purpose::Homes => rank.checked_rem(self.blocks.min(self.cpus)),
            Purpose::Spares => None,
        }
    }

    /// Which one it is to have for its spare, if there are any that are nobody's home.
    pub(crate) fn spare(self, rank: usize) -> Option<usize> {
        let homes = match self.purpose {
            Purpose::Homes => self.cpus,
            Purpose::Spares => 0,
        };
        let others = self.given_out().saturating_sub(homes);
        Some(homes + rank.checked_rem(others)?)
    }

    /// Is a CPU to have a home with room for `new`, which has one now with room for `now`, or none?
    /// It stays where it is but for a larger one of its own.
    pub(crate) fn is_to_move(self, now: Option<u32>, new: u32) -> bool {
        now.is_none_or(|now| now < new && self.cpus <= self.blocks)
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_homes)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::{
        Cpu::{
            Impossible,
            Offline,
            Online, //
        },
        *, //
    };

    #[test]
    fn those_that_are_online_come_first() {
        let mut ranks = Ranks::new(3);
        let cpus = [Online, Offline, Online, Impossible, Online, Offline];
        let right = [Some(0), Some(3), Some(1), None, Some(2), Some(4)];
        assert_eq!(cpus.map(|cpu| ranks.next(cpu)), right);
    }

    /// How many CPUs of 6 have each of so many blocks.
    fn given_out(blocks: usize, purpose: Purpose) -> [[usize; 20]; 2] {
        let share = Share {
            blocks,
            cpus: 6,
            purpose,
        };
        let mut all = [[0; 20]; 2];
        for rank in 0..6 {
            let mine = [share.home(rank), share.spare(rank)];
            for (count, mine) in all.iter_mut().zip(mine) {
                if let Some(number) = mine {
                    assert!(number < share.given_out());
                    count[number] += 1;
                }
            }
        }
        all
    }

    /// So many CPUs have one each, and each of these is of as few CPUs as it can be.
    fn is_fair(given: &[usize], cpus: usize) -> bool {
        let most = cpus.div_ceil(given.len().max(1));
        given.iter().sum::<usize>() == cpus && given.iter().all(|&cpus| cpus <= most)
    }

    #[test]
    fn each_has_its_own_as_long_as_there_are_enough() {
        for blocks in 1..20 {
            let [homes, spares] = given_out(blocks, Purpose::Homes);
            let (first, others) = (blocks.min(6), blocks.min(12));
            assert!(is_fair(&homes[..first], 6));
            // Nobody's home, where there is one.
            assert!(is_fair(
                &spares[first..others],
                if blocks > 6 { 6 } else { 0 }
            ));
            let [homes, spares] = given_out(blocks, Purpose::Spares);
            assert_eq!(homes, [0; 20]);
            assert!(is_fair(&spares[..first], 6));
        }
    }

    #[test]
    fn a_home_is_left_for_a_larger_one_of_its_own() {
        let share = |blocks| Share {
            blocks,
            cpus: 6,
            purpose: Purpose::Homes,
        };
        assert!(share(1).is_to_move(None, 1));
        assert!(share(6).is_to_move(Some(2), 3));
        assert!(!share(6).is_to_move(Some(3), 3));
        assert!(!share(5).is_to_move(Some(2), 30));
    }
}
