// SPDX-License-Identifier: GPL-2.0

//! Sorting, by the kernel's `sort()`.
//!
//! `core`'s sorts call a function that reports an inconsistent order and does not return, which
//! objtool does not know.
//!
//! Not for the hit path.

use core::cmp::Ordering;
use kernel::{
    bindings,
    prelude::*, //
};

/// Sorts a list, the smallest element first. The order of equal elements may change.
pub(crate) fn ascending<T: Ord + Copy>(list: &mut [T]) {
    let (first, count) = (list.as_mut_ptr().cast(), list.len());
    // SAFETY: `first` leads to `count` elements of that size, which no other code uses as they are
    // borrowed; `compare` is for that type. Without a swap function `sort()` swaps bytes, which
    // `T: Copy` allows.
    unsafe { bindings::sort(first, count, size_of::<T>(), Some(compare::<T>), None) };
}

/// # Safety
///
/// Both point to a `T`.
unsafe extern "C" fn compare<T: Ord>(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: By the precondition both point to elements of the list that is being sorted.
    let (a, b) = unsafe { (&*a.cast::<T>(), &*b.cast::<T>()) };
    match a.cmp(b) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_sort)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        ascending::<u32>(&mut []);
        for list in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 2]] {
            let mut numbers = list;
            ascending(&mut numbers);
            assert!(numbers.is_sorted());
        }
        let mut pairs = [(2u64, 1u8), (1, 9), (2, 0)];
        ascending(&mut pairs);
        assert_eq!(pairs, [(1, 9), (2, 0), (2, 1)]);
    }

    #[test]
    fn sorting_keeps_all_elements() {
        // A generator that comes by every residue, so there are repetitions.
        let mut seed = 7u32;
        let mut numbers: [u32; 257] = core::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 25
        });
        let sum = |numbers: &[u32]| numbers.iter().fold(0u32, |sum, n| sum.wrapping_add(*n));
        let before = sum(&numbers);
        ascending(&mut numbers);
        assert!(numbers.is_sorted());
        assert_eq!(sum(&numbers), before);
    }
}
