// SPDX-License-Identifier: GPL-2.0

//! Putting things in order.
//!
//! A heap sort of our own: `core`'s sort may call a function that says that the order is wrong and
//! does not return, which the kernel's checks of object code do not know. It needs no memory and
//! has no bad case. Equal elements may change places.

/// Puts a list in order, the smallest first.
pub(crate) fn ascending<T: Ord + Copy>(list: &mut [T]) {
    for root in (0..list.len() / 2).rev() {
        sink(list, root);
    }
    for end in (1..list.len()).rev() {
        list.swap(0, end);
        if let Some(heap) = list.get_mut(..end) {
            sink(heap, 0);
        }
    }
}

/// Lets a heap's element sink to where none below it is larger.
fn sink<T: Ord + Copy>(heap: &mut [T], mut at: usize) {
    loop {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let mut largest = at;
        for child in [left, right] {
            if child < heap.len() && heap.get(child) > heap.get(largest) {
                largest = child;
            }
        }
        if largest == at {
            return;
        }
        heap.swap(at, largest);
        at = largest;
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_order))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_into_order() {
        // A generator that comes by every residue, with repetitions.
        let mut numbers = [0u32; 257];
        let mut seed = 7u32;
        for number in &mut numbers {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *number = seed >> 25;
        }
        let sum = |numbers: &[u32]| numbers.iter().fold(0u32, |sum, n| sum.wrapping_add(*n));
        let before = sum(&numbers);
        ascending(&mut numbers);
        assert!(numbers.is_sorted());
        assert_eq!(sum(&numbers), before);
    }

    #[test]
    fn short_lists_come_into_order() {
        ascending::<u32>(&mut []);
        for list in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [2, 1, 2]] {
            let mut numbers = list;
            ascending(&mut numbers);
            assert!(numbers.is_sorted());
        }
    }
}
