// SPDX-License-Identifier: GPL-2.0

//! Whether a function's arguments can be what a handler takes them for.
//!
//! What the kernel knows of its functions' declarations, if it has BTF, are the sizes of their
//! parameters; types that have the same size have the same place, and whose they are the handler
//! says. All is pure.

/// Which arguments of a function a handler takes, from the first on: how many bytes each has.
#[derive(Clone, Copy)]
pub enum Takes {
    /// It does not say. What it wants it asks the call for.
    ByHand,
    /// All that the function has.
    All(&'static [usize]),
    /// These. There may be more.
    First(&'static [usize]),
}

impl Takes {
    /// Can they be those of a function that has `count`, of `sizes` bytes? Where a size is 0, or
    /// beyond what `sizes` has, it is not known.
    pub(super) fn fits(self, count: usize, sizes: &[u32]) -> bool {
        let (taken, are_there) = match self {
            Self::ByHand => return true,
            Self::All(taken) => (taken, taken.len() == count),
            Self::First(taken) => (taken, taken.len() <= count),
        };
        let same =
            |(&taken, &size): (&usize, &u32)| size == 0 || usize::try_from(size) == Ok(taken);
        are_there && taken.iter().zip(sizes).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_must_be_there_and_have_their_sizes() {
        // (int, const char __user *, struct open_how *)
        let sizes = [4, 8, 8, 0];
        for (taken, all, first) in [
            ([4, 8, 8].as_slice(), true, true),
            (&[4, 8], false, true),
            (&[], false, true),
            (&[4, 8, 8, 8], false, false),
            (&[8, 8, 8], false, false),
            (&[4, 8, 4], false, false),
            (&[1], false, false),
        ] {
            assert_eq!(Takes::All(taken).fits(3, &sizes), all, "{taken:?}");
            assert_eq!(Takes::First(taken).fits(3, &sizes), first, "{taken:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_refused() {
        let takes = Takes::All(&[4, 2, 8]);
        assert!(takes.fits(3, &[4, 0, 8]));
        assert!(takes.fits(3, &[4, 2]));
        assert!(!takes.fits(2, &[4, 2]));
        assert!(Takes::ByHand.fits(3, &[4, 2, 8]));
    }

    #[test]
    fn a_function_without_arguments_has_none() {
        for takes in [Takes::All(&[]), Takes::First(&[])] {
            assert!(takes.fits(0, &[]));
        }
        for takes in [Takes::All(&[4]), Takes::First(&[4])] {
            assert!(!takes.fits(0, &[]));
        }
    }
}
