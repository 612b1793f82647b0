// SPDX-License-Identifier: GPL-2.0

//! Finds code between an exclusive load and its store.
//!
//! The return from an exception clears the CPU's exclusive monitor. So with a probe
//! between LDREX and STREX, the store would fail each time, and code that tries again would never
//! end. A load sets the monitor, and code runs on, maybe over branches, to a store:
//!
//! ```text
//!     1:  ldrex   r0, [r1]
//!         cmp     r0, r2
//!         bne     2f             no store is ahead at 2
//!         strex   r3, r0, [r1]
//! ```
//!
//! An instruction is refused if a store can be reached from it before another load. The manual
//! wants no more than 128 bytes between the two, so the search stays within [`NEAR`] bytes.
//!
//! A load without a store, such as LDREXD for a number of 64 bits, can be probed.
//!
//! C counterpart: none. C refuses only the loads and stores themselves.

use super::{
    insn::{
        Exec,
        Insn, //
    },
    pattern::Kind,
    psr::ALWAYS,
    State, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// How far from the instruction the search goes, each way.
const NEAR: u64 = 256;

/// A bit for each halfword that is near.
#[derive(Default)]
struct Halfwords([u32; (NEAR / 32) as usize]);

impl Halfwords {
    /// Adds a halfword. Returns false if it was there, or is not near.
    fn add(&mut self, number: u64) -> bool {
        let Some(word) = self.0.get_mut((number / 32) as usize) else {
            return false;
        };
        let bit = 1 << (number % 32);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Takes the first halfword out.
    fn take(&mut self) -> Option<u64> {
        let (place, word) = (0..).zip(&mut self.0).find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= word.wrapping_sub(1);
        Some(place << 5 | u64::from(bit))
    }
}

/// Refuses the instruction at `at` if it is an exclusive load with a store, the store, or between
/// the two. `function` is the function around it.
pub(crate) fn check(
    state: State,
    at: TextAddr,
    function: TextRange,
    read: ReadText<'_>,
) -> Result<(), Refusal> {
    let base = at.get().saturating_sub(NEAR);
    let number = |at: u64| at.wrapping_sub(base) / 2;
    let (mut seen, mut ahead) = (Halfwords::default(), Halfwords::default());
    ahead.add(number(at.get()));
    while let Some(halfword) = ahead.take() {
        let here = TextAddr::new(base.wrapping_add(halfword << 1));
        if !seen.add(halfword) || !function.contains(here) {
            continue;
        }
        // Bytes that are no instruction have no successor.
        let Ok(insn) = Insn::read(state, here, read) else {
            continue;
        };
        match insn.row.kind {
            Kind::StoreExclusive => return Err(Refusal::Transaction),
            Kind::LoadExclusive if here != at => continue,
            Kind::ClearExclusive => continue,
            _ => {}
        }
        let (falls_through, jumps) = match insn.classify() {
            Ok(Exec::CopyOrEmulate(emulation) | Exec::Emulate(emulation)) => {
                (emulation.falls_through(), emulation.jumps(here))
            }
            _ => (true, None),
        };
        // A Thumb instruction may be in an IT block, which has the condition.
        if falls_through || insn.condition() != ALWAYS || state == State::Thumb {
            ahead.add(number(here.get().wrapping_add(insn.len())));
        }
        if let Some(target) = jumps {
            ahead.add(number(target.into()));
        }
    }
    Ok(())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_exclusive))]
mod tests {
    use super::*;

    const START: u64 = 0xc010_0000;

    /// Which halfwords of a function are refused, as bits. `step` bytes are between instructions.
    fn refused(state: State, code: &[u16], step: usize) -> Result<u64, Refusal> {
        let len = code.len() as u64 * 2;
        let function = TextRange::with_len(TextAddr::new(START), len)?;
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let first = at.get().checked_sub(START)? as usize / 2;
            for (number, half) in into.chunks_mut(2).enumerate() {
                half.copy_from_slice(&code.get(first + number)?.to_le_bytes());
            }
            Some(())
        };
        let mut bits = 0;
        for number in (0..code.len()).step_by(step / 2) {
            let at = TextAddr::new(START + number as u64 * 2);
            match check(state, at, function, &mut read) {
                Ok(()) => {}
                Err(Refusal::Transaction) => bits |= 1 << number,
                Err(other) => return Err(other),
            }
        }
        Ok(bits)
    }

    fn refused_words<const N: usize>(code: [u32; N]) -> Result<u64, Refusal> {
        let mut halves = [0; 32];
        for (pair, word) in halves.chunks_exact_mut(2).zip(code) {
            pair.copy_from_slice(&[word as u16, (word >> 16) as u16]);
        }
        let bits = refused(State::A32, &halves[..2 * N], 4)?;
        // Of two bits, the lower one is that of the word.
        Ok((0..N).fold(0, |words, n| words | (bits >> (2 * n) & 1) << n))
    }

    #[test]
    fn all_from_the_load_to_the_store_is_refused() {
        // mov r0, r1; 1: ldrex r0, [r1]; add r0, r0, r2; strex r3, r0, [r1]; teq r3, #0; bne 1b;
        // bx lr
        let code = [
            0xe1a0_0001,
            0xe191_0f9f,
            0xe080_0002,
            0xe181_3f90,
            0xe333_0000,
            0x1aff_fffa,
            0xe12f_ff1e,
        ];
        assert_eq!(refused_words(code), Ok(0b000_1110));
        // ldrex r0, [r1]; add r2, pc, #0; cmp r1, pc; mrs r2, cpsr; strex r3, r0, [r1]
        let code = [
            0xe191_0f9f,
            0xe28f_2000,
            0xe151_f00f,
            0xe10f_2000,
            0xe181_3f90,
        ];
        assert_eq!(refused_words(code), Ok(0b1_1111));
        // ldrex r0, [r1]; mov pc, r0; strex r3, r0, [r1]
        let code = [0xe191_0f9f, 0xe1a0_f000, 0xe181_3f90];
        assert_eq!(refused_words(code), Ok(0b100));
    }

    #[test]
    fn branches_out_lead_to_no_store() {
        // 1: ldrex r0, [r1]; cmp r0, r2; bne 2f; strex r3, r0, [r1]; cmp r3, #0; bne 1b;
        // 2: clrex; bx lr
        let code = [
            0xe191_0f9f,
            0xe150_0002,
            0x1a00_0002,
            0xe181_3f90,
            0xe353_0000,
            0x1aff_fff9,
            0xf57f_f01f,
            0xe12f_ff1e,
        ];
        assert_eq!(refused_words(code), Ok(0b0000_1111));
        // ldrex r0, [r1]; b 1f; 2: nop; bx lr; 1: strex r3, r0, [r1]; b 2b
        let code = [
            0xe191_0f9f,
            0xea00_0001,
            0xe320_f000,
            0xe12f_ff1e,
            0xe181_3f90,
            0xeaff_fffb,
        ];
        assert_eq!(refused_words(code), Ok(0b01_0011));
        // ldrexd r2, r3, [r1]; bx lr; strexd of another load
        let code = [0xe1b1_2f9f, 0xe12f_ff1e, 0xe1a1_0f92];
        assert_eq!(refused_words(code), Ok(0b100));
        // ldrex r0, [r1]; bl .; pop {pc}; strex r3, r0, [r1]; popne {pc} instead
        let mut code = [0xe191_0f9f, 0xebff_fffe, 0xe8bd_8000, 0xe181_3f90];
        assert_eq!(refused_words(code), Ok(0b1000));
        code[2] = 0x18bd_8000;
        assert_eq!(refused_words(code), Ok(0b1111));
    }

    #[test]
    fn thumb_is_followed_over_its_conditions() {
        // nop; ldrex r0, [r1]; cbz r0, 1f; it eq; bxeq lr; strex r3, r0, [r1]; 1: bx lr
        let code = [
            0xbf00, 0xe851, 0x0f00, 0xb110, 0xbf08, 0x4770, 0xe841, 0x0300, 0x4770,
        ];
        // The second halves of instructions are no instructions.
        let bits = refused(State::Thumb, &code, 2).map(|bits| bits & !0b0_1000_0100);
        assert_eq!(bits, Ok(0b0_0111_1010));
    }

    #[test]
    fn branches_of_thumb_lead_to_stores() {
        // cbz r0, 1f; clrex; bx lr; 1: strex r3, r0, [r1]; and with beq 1f
        let mut code = [0xb110, 0xf3bf, 0x8f2f, 0x4770, 0xe841, 0x0300];
        for branch in [0xb110, 0xd002] {
            code[0] = branch;
            let bits = refused(State::Thumb, &code, 2).map(|bits| bits & 0b1_1011);
            assert_eq!(bits, Ok(0b1_1001));
        }
    }

    #[test]
    fn search_ends_at_the_end_of_the_function() {
        // nop; strex r3, r0, [r1] of the next function
        let code = [0xf000_u16, 0xe320, 0x3f90, 0xe181];
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let first = at.get().checked_sub(START)? as usize / 2;
            for (number, half) in into.chunks_mut(2).enumerate() {
                half.copy_from_slice(&code.get(first + number)?.to_le_bytes());
            }
            Some(())
        };
        let mut ends_at = |len| {
            let function = TextRange::with_len(TextAddr::new(START), len)?;
            check(State::A32, TextAddr::new(START), function, &mut read)
        };
        assert_eq!(ends_at(4), Ok(()));
        assert_eq!(ends_at(8), Err(Refusal::Transaction));
    }

    #[test]
    fn search_follows_branches_both_ways_and_ends() {
        // 1: strex r3, r0, [r1]; bx lr; b 1b. beq to itself, 16 times
        let code = [0xe181_3f90, 0xe12f_ff1e, 0xeaff_fffc];
        assert_eq!(refused_words(code), Ok(0b101));
        assert_eq!(refused_words([0x0aff_fffe; 16]), Ok(0));
        // A store that is too far from its load: 132 times adds r0, r0, r0, then strex
        let mut code = [0x1800_u16; 134];
        code[132..].copy_from_slice(&[0xe841, 0x0300]);
        assert_eq!(refused(State::Thumb, &code, 268), Ok(0));
        assert_eq!(refused(State::Thumb, &code[8..], 252), Ok(1));
    }
}
