// SPDX-License-Identifier: GPL-2.0

//! Into how many blocks calls go, for the memory that these take.
//!
//! The kernel's allocator hands out *buckets* of a few sizes. What has one line more than a bucket
//! takes the next one, which may be twice as long. So it is not the number of calls that says how
//! large blocks are: of all buckets the one is chosen with which the blocks take the least in all.

use super::word::MOST;

/// Bytes that CPUs hand on together.
pub(crate) const LINE: usize = 64;

/// Buckets of whole lines, in lines. Beyond them are only pages in a row, which may be hard to get.
/// A call always has room in the last one, by how much a client may keep of it.
const BUCKETS: [usize; 8] = [2, 3, 4, 8, 16, 32, 64, 128];

/// How many lines a block of so many calls has, of so many bytes each: one for itself.
pub(crate) fn lines(calls: usize, size: usize) -> usize {
    1 + (calls * size).div_ceil(LINE)
}

/// How many lines it takes.
fn taken(lines: usize) -> usize {
    let bucket = BUCKETS.iter().find(|&&bucket| bucket >= lines);
    bucket.copied().unwrap_or(lines.next_power_of_two())
}

/// How many lines so many blocks take, which have an equal share of the calls each.
fn taken_by(blocks: usize, calls: usize, size: usize) -> usize {
    blocks.saturating_mul(taken(lines(calls.div_ceil(blocks), size)))
}

/// How many blocks there are to be for some calls of `size` bytes: no less than `least`, if there
/// are so many calls.
pub(crate) fn blocks(calls: usize, size: usize, least: usize) -> usize {
    let all = BUCKETS.iter().map(|&lines| {
        let room = ((lines - 1) * LINE).checked_div(size);
        let most = room.unwrap_or(1).clamp(1, MOST as usize);
        calls.div_ceil(most).max(least.min(calls))
    });
    // Fewer blocks are searched faster.
    let best = all.min_by_key(|&blocks| (taken_by(blocks, calls, size), blocks));
    best.unwrap_or(calls)
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_pool_room)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    /// A call alone, and one of which the client keeps as much as it may.
    const SIZES: [usize; 2] = [48, 48 + 4096];

    /// Sizes of calls.
    fn sizes() -> impl Iterator<Item = usize> {
        let [least, most] = SIZES;
        (least..=most).step_by(8)
    }

    #[test]
    fn no_block_is_just_above_a_bucket() {
        for size in sizes() {
            let blocks = blocks(4096, size, 1);
            let calls = 4096usize.div_ceil(blocks);
            let lines = lines(calls, size);
            assert!(calls <= MOST as usize && lines <= 128);
            // There is no room for one more, and small calls leave nothing that is worth it.
            let free = (taken(lines) - lines) * LINE;
            assert!(free < size);
            let is_full = calls * size * 8 >= taken(lines) * LINE * 7;
            assert!(is_full || size > 1024);
        }
    }

    #[test]
    fn a_line_too_many_is_not_paid_for() {
        // With 16 in each block these would have 17 lines.
        assert_eq!((blocks(1024, 64, 64), lines(16, 64)), (69, 17));
        assert_eq!(taken(lines(1024usize.div_ceil(69), 64)), 16);
        // With 32 there would be 129.
        assert_eq!((blocks(4096, 256, 1), lines(32, 256)), (133, 129));
        assert_eq!(lines(4096usize.div_ceil(133), 256), 125);
    }

    #[test]
    fn each_cpu_has_a_block() {
        for size in sizes().step_by(16) {
            for calls in [1, 2, 7, 8, 9, 64, 100, 1000] {
                for least in [1, 2, 8, 64] {
                    let blocks = blocks(calls, size, least);
                    assert!(blocks >= least.min(calls) && blocks <= calls);
                    assert!(calls.div_ceil(blocks) <= MOST as usize);
                }
            }
        }
    }
}
