// SPDX-License-Identifier: GPL-2.0

//! Whether a function's arguments can be what a handler takes them for.
//!
//! What the kernel knows of its functions' declarations, if it has BTF, are the sizes of their
//! parameters; types that have the same size have the same place, and whose they are the handler
//! says. All is pure.

/// Are a handler's arguments of `taken` bytes those of a function, or the first of them, that has
/// `count`, of `sizes` bytes? Where a size is 0, or beyond what `sizes` has, it is not known.
pub(super) fn fits(taken: &[usize], count: usize, sizes: &[u32]) -> bool {
    let same = |(&taken, &size): (&usize, &u32)| size == 0 || usize::try_from(size) == Ok(taken);
    taken.len() <= count && taken.iter().zip(sizes).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_must_be_there_and_have_their_sizes() {
        // (int, const char __user *, struct open_how *)
        let sizes = [4, 8, 8, 0];
        for (taken, expected) in [
            ([4, 8, 8].as_slice(), true),
            (&[4, 8], true),
            (&[], true),
            (&[4, 8, 8, 8], false),
            (&[8, 8, 8], false),
            (&[4, 8, 4], false),
            (&[1], false),
        ] {
            assert_eq!(fits(taken, 3, &sizes), expected, "{taken:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_refused() {
        assert!(fits(&[4, 2, 8], 3, &[4, 0, 8]));
        assert!(fits(&[4, 2, 8], 3, &[4, 2]));
        assert!(!fits(&[4, 2, 8], 2, &[4, 2]));
    }

    #[test]
    fn a_function_without_arguments_has_none() {
        assert!(fits(&[], 0, &[]));
        assert!(!fits(&[4], 0, &[]));
    }
}
