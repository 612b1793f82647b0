// SPDX-License-Identifier: GPL-2.0

//! Putting things in order.
//!
//! Sorts of our own: `core`'s may call a function that says that the order is wrong and does not
//! return, which the kernel's checks of object code do not know. None has a bad case.
//! [`ascending`], a heap sort, needs no memory, and equal elements may change places.
//! [`ascending_numbers`] needs as much as there is to sort, and takes time that only grows as that
//! does.

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

/// A list as long as this is not worth counting bytes.
const SHORT: usize = 128;

/// Values of a byte.
const BYTES: usize = 256;

/// Puts numbers in order, the smallest first. `spare` is as long, and is written to.
///
/// Orders them by one byte after the other, the lowest first; those that are equal in it stay as
/// they were.
pub(crate) fn ascending_numbers(list: &mut [u32], spare: &mut [u32]) {
    if list.len() <= SHORT {
        return ascending(list);
    }
    // An even number of times, so that they end where they were.
    by_byte(list, spare, 0);
    by_byte(spare, list, 8);
    by_byte(list, spare, 16);
    by_byte(spare, list, 24);
}

/// Puts what is in `from` into `to`, in the order of the byte that is `shift` bits up.
fn by_byte(from: &[u32], to: &mut [u32], shift: u32) {
    let byte = |number: u32| (number >> shift) as usize % BYTES;
    let mut places = [0usize; BYTES];
    for &number in from {
        if let Some(count) = places.get_mut(byte(number)) {
            *count += 1;
        }
    }
    let mut before = 0;
    for place in &mut places {
        before += core::mem::replace(place, before);
    }
    for &number in from {
        if let Some(place) = places.get_mut(byte(number)) {
            if let Some(slot) = to.get_mut(*place) {
                *slot = number;
            }
            *place += 1;
        }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_order))]
mod tests {
    use super::*;

    /// Numbers below `1 << bits`, by a generator that comes by every residue.
    fn random<const N: usize>(bits: u32) -> [u32; N] {
        let mut seed = 7u32;
        core::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> (32 - bits)
        })
    }

    #[test]
    fn all_bytes_of_a_number_count() {
        for bits in [7, 16, 32] {
            let mut numbers = random::<257>(bits);
            let mut expected = numbers;
            ascending(&mut expected);
            ascending_numbers(&mut numbers, &mut [0; 257]);
            assert!(numbers == expected);
        }
        ascending_numbers(&mut [], &mut []);
    }

    #[test]
    fn numbers_come_into_order() {
        // With repetitions.
        let mut numbers = random::<257>(7);
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
