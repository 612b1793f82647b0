// SPDX-License-Identifier: GPL-2.0

//! Compares a function's arguments with the arguments that a handler takes.
//!
//! If the kernel has BTF, it knows the sizes of its functions' parameters. Types of the same size
//! are in the same location; the handler chooses among them. This file is pure.

/// The sizes in bytes of the arguments that a handler takes, from the first one on.
#[derive(Clone, Copy)]
pub enum Takes {
    /// No list: the handler takes arguments of the call itself.
    ByHand,
    /// All arguments of the function.
    All(&'static [usize]),
    /// These arguments. The function may have more.
    First(&'static [usize]),
}

impl Takes {
    /// Returns whether a function with `count` arguments of `sizes` bytes may have these arguments.
    /// A size that is 0, or after the end of `sizes`, is not known.
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
    fn arguments_must_match_in_number_and_size() {
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
    fn arguments_of_unknown_size_are_not_refused() {
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
