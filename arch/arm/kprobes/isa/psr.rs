// SPDX-License-Identifier: GPL-2.0

//! The program status register: conditions, IT blocks, and what a step changes.
//!
//! ```text
//!  31  30  29  28  27 26-25 24 23-20 19-16  15-10    9   8   7   6   5   4-0
//! +---+---+---+---+---+-----+--+-----+-----+-------+---+---+---+---+---+------+
//! | N | Z | C | V | Q | IT  |J |     | GE  |  IT   | E | A | I | F | T | mode |
//! |   |   |   |   |   | 1-0 |  |     |     |  7-2  |   |   |   |   |   |      |
//! +---+---+---+---+---+-----+--+-----+-----+-------+---+---+---+---+---+------+
//! ```
//!
//! In an IT block of Thumb, bits 7 to 4 of IT are the condition of the current instruction, and
//! bits 3 to 0 are not zero.

pub(crate) const N: u32 = 1 << 31;
pub(crate) const Z: u32 = 1 << 30;
pub(crate) const C: u32 = 1 << 29;
pub(crate) const V: u32 = 1 << 28;
/// Masks interrupts.
pub(crate) const I: u32 = 1 << 7;
/// The CPU executes Thumb instructions.
pub(crate) const T: u32 = 1 << 5;
pub(super) const MODE: u32 = 0x1f;
/// The mode that the kernel runs in.
pub(super) const SVC: u32 = 0x13;
const IT: u32 = 0x0600_fc00;
/// The bits that MRS reads.
pub(super) const READABLE: u32 = 0xf8ff_03df;

/// The condition that always holds.
pub(crate) const ALWAYS: u8 = 14;
/// IT of the last instruction of a block, with this condition.
const LAST_ALWAYS: u8 = ALWAYS << 4 | 8;

/// Returns the bits that MSR writes with these fields: mode, F, I; A, E; GE; Q and the flags.
#[inline]
pub(super) fn mask(fields: u32) -> u32 {
    let field = |field, bits| if fields & field == field { bits } else { 0 };
    field(1, 0xdf) | field(2, 0x300) | field(4, 0xf_0000) | field(8, 0xf800_0000)
}

/// Returns IT.
fn it(psr: u32) -> u8 {
    (psr >> 8 & 0xfc | psr >> 25 & 3) as u8
}

/// Returns the PSR with another IT.
pub(super) fn with_it(psr: u32, it: u8) -> u32 {
    let it = u32::from(it);
    psr & !IT | (it & 0xfc) << 8 | (it & 3) << 25
}

/// Returns whether the CPU is in an IT block. There, the code after a copy would be in the block,
/// too, so no copy can end in a jump back.
#[inline]
pub(crate) fn is_in_it_block(psr: u32) -> bool {
    it(psr) & 15 != 0
}

/// Returns whether an instruction with this [`condition`](super::insn::Insn::condition) is
/// executed. In an IT block, the block has the condition.
#[inline]
pub(crate) fn holds(condition: u8, psr: u32) -> bool {
    let condition = match is_in_it_block(psr) {
        true => it(psr) >> 4,
        false => condition,
    };
    let (carry, zero) = (psr & C != 0, psr & Z != 0);
    let same_sign = (psr & N != 0) == (psr & V != 0);
    let even = match condition >> 1 {
        0 => zero,
        1 => carry,
        2 => psr & N != 0,
        3 => psr & V != 0,
        4 => carry && !zero,
        5 => same_sign,
        6 => same_sign && !zero,
        _ => return true,
    };
    even == (condition & 1 == 0)
}

/// Returns the PSR after an instruction: an IT block advances.
#[inline]
pub(crate) fn advanced(psr: u32) -> u32 {
    let it = it(psr);
    match it & 7 {
        0 => with_it(psr, 0),
        _ => with_it(psr, it & 0xe0 | it << 1 & 0x1f),
    }
}

/// Returns the PSR for a step: interrupts are masked. In an IT block, the copy is the last
/// instruction of one, so that the breakpoint after the copy has no condition.
#[inline]
pub(crate) fn for_step(psr: u32) -> u32 {
    let psr = psr | I;
    match is_in_it_block(psr) {
        true => with_it(psr, LAST_ALWAYS),
        false => psr,
    }
}

/// Returns the PSR after the original instruction, from those before and after the step.
#[inline]
pub(crate) fn after_step(before: u32, psr: u32) -> u32 {
    psr & !(I | IT) | advanced(before) & (I | IT)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_psr))]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_by_the_flags() {
        // Of NZCV from 0 to 15, those with which each condition holds, as bits.
        let expected: [u16; 16] = [
            0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff, 0xaaaa, 0x5555, 0x0c0c, 0xf3f3, 0xaa55,
            0x55aa, 0x0a05, 0xf5fa, 0xffff, 0xffff,
        ];
        for (condition, flags) in expected.into_iter().enumerate() {
            for nzcv in 0..16 {
                let passes = flags >> nzcv & 1 == 1;
                assert_eq!(holds(condition as u8, nzcv << 28), passes);
                // In an IT block with this condition, the instruction's own is not looked at.
                let psr = with_it(nzcv << 28, (condition as u8) << 4 | 8);
                assert_eq!((holds(0, psr), holds(1, psr)), (passes, passes));
            }
        }
    }

    #[test]
    fn thumb_it_block_advances_to_its_end() {
        // ittet ne: 0x1b is NE, EQ, NE with the masks that are left
        let mut psr = with_it(0x8000_0033, 0x1b);
        let mut seen = [(0, false); 5];
        for state in &mut seen {
            *state = (it(psr), is_in_it_block(psr));
            assert_eq!(psr & !IT, 0x8000_0033);
            psr = advanced(psr);
        }
        let expected = [
            (0x1b, true),
            (0x16, true),
            (0x0c, true),
            (0x18, true),
            (0, false),
        ];
        assert_eq!(seen, expected);
        assert_eq!(with_it(0, 0xff), IT);
    }

    #[test]
    fn step_is_masked_and_the_last_of_its_block() {
        assert_eq!(for_step(0x6000_0033), 0x6000_00b3);
        let before = with_it(0x6000_0033, 0x1c);
        assert_eq!(for_step(before), with_it(0x6000_00b3, 0xe8));
        // Behind the copy: other flags, no IT
        assert_eq!(after_step(before, 0x9000_00b3), with_it(0x9000_0033, 0x18));
        assert_eq!(after_step(0x6000_00b3, 0x9000_00b3), 0x9000_00b3);
    }
}
