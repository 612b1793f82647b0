// SPDX-License-Identifier: GPL-2.0

//! Checks that an instruction starts at an address, and not data.
//!
//! Text does not show where data is, so the check decodes one instruction after another from a
//! known start, such as the start of the function. It emulates those that read memory relative to
//! PC, with registers that are zero, and marks the data that they use:
//!
//! * Literals: the words that loads relative to PC read, up to 4 KiB further on.
//! * Tables of addresses, after `ldr pc, [pc, ...]` or at the target of ADR: words as long as they
//!   are addresses of code that follows.
//! * Tables of TBB and TBH: distances of code that follows.
//!
//! ```text
//!     tbb [pc, r0]           adr r2, 1f
//!     .byte 2, 5             ldr pc, [r2, r0, lsl #2]
//!     ...                 1: .word ..., ...
//! ```
//!
//! A table ends where the first code that it leads to begins. Data before its first use is not
//! found: compilers emit none, as literals and tables follow the code that uses them.
//!
//! C counterpart: none. C takes any aligned address.

use super::{
    emulate::Regs,
    insn::{
        Exec,
        Insn, //
    },
    pattern::Kind,
    State, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};
use core::cell::Cell;

/// The halfwords that a check marks ahead of the instruction that it has come to.
const AHEAD: u64 = 4096;

/// A mark for each of the halfwords from one on, in a ring.
struct Marks {
    bits: [u32; (AHEAD / 32) as usize],
    /// The first halfword.
    from: u64,
}

impl Marks {
    fn bit(&mut self, at: u64) -> Option<(&mut u32, u32)> {
        let number = at / 2 % AHEAD;
        let word = self.bits.get_mut((number / 32) as usize)?;
        Some((word, 1 << (number % 32)))
    }

    /// Marks `len` bytes, as far as they are ahead.
    fn mark(&mut self, at: u64, len: u64) {
        for at in (at & !1..at.saturating_add(len)).step_by(2) {
            if (self.from..self.from.saturating_add(2 * AHEAD)).contains(&at) {
                if let Some((word, bit)) = self.bit(at) {
                    *word |= bit;
                }
            }
        }
    }

    /// Moves to `at`, removes the mark there, and returns whether there was one.
    fn take(&mut self, at: u64) -> bool {
        // The other halfword of an instruction may have one, too.
        while self.from < at {
            let from = self.from;
            if let Some((word, bit)) = self.bit(from) {
                *word &= !bit;
            }
            self.from = from.saturating_add(2);
        }
        self.bit(at).is_some_and(|(word, bit)| {
            let is_marked = *word & bit != 0;
            *word &= !bit;
            is_marked
        })
    }
}

/// Registers that are zero, and memory that is. Notes what an instruction uses.
#[derive(Default)]
struct Recorder {
    /// The memory that is read: its address and its size.
    read: Cell<(u32, u64)>,
    /// The number that a register becomes.
    number: u32,
}

impl Regs for Recorder {
    fn register(&self, _number: u8) -> u32 {
        0
    }
    fn set_register(&mut self, _number: u8, value: u32) {
        self.number = value;
    }
    fn psr(&self) -> u32 {
        0
    }
    fn set_psr(&mut self, _psr: u32) {}
    fn load(&self, at: u32, size: u8) -> Option<u32> {
        let (first, sum) = self.read.get();
        let first = if sum == 0 { at } else { first };
        self.read.set((first, sum.wrapping_add(size.into())));
        Some(0)
    }
    fn store(&mut self, _at: u32, _value: u32) -> Option<()> {
        None
    }
}

/// Marks the data that the instruction at `at` uses. The function starts at `known`. Ends early,
/// with `None`, where text ends, and for an instruction that does not use PC or is none.
fn mark(
    marks: &mut Marks,
    state: State,
    (known, at): (TextAddr, TextAddr),
    (word, len): (u32, u8),
    read: ReadText<'_>,
) -> Option<()> {
    // LDR of 16 bits; instructions of 32 bits whose first register is PC.
    let uses_pc = match len {
        2 => word >> 11 == 9,
        _ => word >> 16 & 15 == 15,
    };
    if !uses_pc {
        return None;
    }
    let insn = Insn::decode(state, word, len).ok()?;
    let pc = at.get().saturating_add(state.pc_distance().into());
    let mut recorder = Recorder::default();
    match insn.classify() {
        Ok(Exec::Emulate(emulation)) => drop(emulation.run(at, &mut recorder)),
        // VLDR
        _ if insn.row.kind == Kind::CoprocessorTransfer => {
            let (pc, offset) = (pc & !3, u64::from((word & 0xff) << 2));
            let place = match word & 1 << 23 {
                0 => pc.saturating_sub(offset),
                _ => pc.saturating_add(offset),
            };
            marks.mark(place, 8);
        }
        _ => {}
    }
    let (first, size) = recorder.read.get();
    let is_relative = insn.row.kind == Kind::BranchByTable;
    let mut place = u64::from(match insn.row.kind {
        Kind::Compute => recorder.number,
        _ => first,
    });
    // With a register as offset, no more than a table is known.
    if !is_relative && (insn.row.kind != Kind::Transfer || word & 1 << 25 == 0) {
        marks.mark(place, size);
    }
    let size = if is_relative { size } else { 4 };
    let mut end = u64::MAX;
    while at.get() < place && place < end {
        let mut bytes = [0; 4];
        read(TextAddr::new(place), bytes.get_mut(..size as usize)?)?;
        let entry = u64::from(u32::from_le_bytes(bytes));
        let target = match is_relative {
            true => pc.saturating_add(entry << 1),
            false => entry,
        };
        // Cases are near, most of them after the table. What seems to be the first entry may be
        // code before a table that is further on.
        let near = 0x2_0000 >> u8::from(is_relative && place == pc);
        let is_near = (known.get()..place.saturating_add(near)).contains(&target);
        if !is_near || !is_relative && target % 4 != 0 {
            break;
        }
        if target > place || is_relative {
            end = end.min(target);
        }
        if place < end {
            marks.mark(place, size);
        }
        place = place.saturating_add(size);
    }
    Some(())
}

/// Fails unless an instruction starts at `at`. An instruction starts at `known`.
///
/// The text must be read as it was compiled: without the breakpoints of probes.
pub(crate) fn check_boundary(
    state: State,
    known: TextAddr,
    at: TextAddr,
    read: ReadText<'_>,
) -> Result<(), Refusal> {
    let step: u64 = if state == State::A32 { 4 } else { 2 };
    let mut marks = Marks {
        bits: [0; (AHEAD / 32) as usize],
        from: known.get(),
    };
    let mut start = known;
    while start <= at && at.get().is_multiple_of(step) {
        let is_data = marks.take(start.get());
        let (word, len) = Insn::read_bits(state, start, read)?;
        match (start == at, is_data) {
            (true, true) => break,
            (true, false) => return Ok(()),
            (false, true) => start = start.after(step)?,
            (false, false) => {
                mark(&mut marks, state, (known, start), (word, len), read);
                start = start.after(len.into())?;
            }
        }
    }
    Err(Refusal::NotABoundary)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_boundary))]
mod tests {
    use super::*;

    const START: u64 = 0xc010_0000;

    /// At which halfwords of a function instructions start, as bits.
    fn starts(state: State, code: &[u16]) -> u64 {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let bytes = code.iter().flat_map(|word| word.to_le_bytes());
            let mut bytes = bytes.skip(at.get().checked_sub(START)? as usize);
            for to in into {
                *to = bytes.next()?;
            }
            Some(())
        };
        let known = TextAddr::new(START);
        (0..code.len()).fold(0, |bits, number| {
            let at = TextAddr::new(START + 2 * number as u64);
            let is_start = check_boundary(state, known, at, &mut read);
            bits | u64::from(is_start.is_ok()) << number
        })
    }

    /// Returns the words of A32 code that are starts. No other halfword may be one.
    fn starts_a32<const N: usize>(code: [u32; N]) -> Option<u64> {
        let mut halves = [0; 40];
        for (pair, word) in halves.chunks_exact_mut(2).zip(code) {
            pair.copy_from_slice(&[word as u16, (word >> 16) as u16]);
        }
        let bits = starts(State::A32, &halves[..2 * N]);
        let words = (0..N).fold(0, |words, n| words | (bits >> (2 * n) & 1) << n);
        (bits & 0xaaaa_aaaa_aaaa_aaaa == 0).then_some(words)
    }

    const NOP: u32 = 0xe320_f000;
    const BX_LR: u32 = 0xe12f_ff1e;

    #[test]
    fn instructions_of_thumb_start_where_others_end() {
        // nop; bl .; nop.w; bx lr
        let code = [0xbf00, 0xf7ff, 0xfffe, 0xf3af, 0x8000, 0x4770];
        assert_eq!(starts(State::Thumb, &code), 0b10_1011);
        let mut read = |_: TextAddr, _: &mut [u8]| Some(());
        let at = |at| TextAddr::new(START + at);
        let odd = check_boundary(State::Thumb, at(0), at(1), &mut read);
        assert_eq!(odd, Err(Refusal::NotABoundary));
        let before = check_boundary(State::Thumb, at(4), at(2), &mut read);
        assert_eq!(before, Err(Refusal::NotABoundary));
        let odd = check_boundary(State::A32, at(0), at(2), &mut read);
        assert_eq!(odd, Err(Refusal::NotABoundary));
    }

    #[test]
    fn literals_are_no_instructions() {
        // ldr r0, 1f; bx lr; nop; 1: .word 2
        assert_eq!(starts_a32([0xe59f_0004, BX_LR, NOP, 2]), Some(0b0111));
        // ldrh r0, 1f; ldrd r2, 2f; bx lr; 1: .word 2; 2: .word 3, 4
        let code = [0xe1df_00b4, 0xe1cf_20d4, BX_LR, 2, 3, 4];
        assert_eq!(starts_a32(code), Some(0b00_0111));
        // vldr d0, 1f; b 2f; 1: .word 2, 3; 2: bx lr
        let code = [0xed9f_0b00, 0xea00_0001, 2, 3, BX_LR];
        assert_eq!(starts_a32(code), Some(0b1_0011));
        // nop; ldr r0, the nop
        assert_eq!(starts_a32([NOP, 0xe51f_000c]), Some(0b11));
        // ldr r0, 1f; bx lr; 1: .word 0xf000f000; nop
        let code = [0x4800, 0x4770, 0xf000, 0xf000, 0xbf00];
        assert_eq!(starts(State::Thumb, &code), 0b1_0011);
        // ldr.w r0, 1f; nop; bx lr; 1: .word 0xf000f000; nop
        let code = [0xf8df, 0x0004, 0xbf00, 0x4770, 0xf000, 0xf000, 0xbf00];
        assert_eq!(starts(State::Thumb, &code), 0b100_1101);
        // ldrd r0, r1, 1f; bx lr; nop; 1: .word 0, 0xf000f000; nop
        let code = [0xe9df, 0x0101, 0x4770, 0xbf00, 0, 0, 0xf000, 0xf000, 0xbf00];
        assert_eq!(starts(State::Thumb, &code), 0b1_0000_1101);
    }

    #[test]
    fn tables_of_addresses_end_where_code_begins() {
        let at = |offset: u32| START as u32 + offset;
        // add r2, pc, #0; ldr pc, [r2, r0, lsl #2]; .word 1f, 2f, 1f; 1: nop; 2: bx lr
        let code = [0xe28f_2000, 0xe792_f100, at(20), at(24), at(20), NOP, BX_LR];
        assert_eq!(starts_a32(code), Some(0b110_0011));
        // ldrls pc, [pc, r0, lsl #2]; b 2f; .word 0b, 2f; 0: nop; 2: bx lr
        let code = [0x979f_f100, 0xea00_0002, at(0), at(20), NOP, BX_LR];
        assert_eq!(starts_a32(code), Some(0b11_0011));
        // ldr r0, [pc, r0]; nop; nop
        assert_eq!(starts_a32([0xe79f_0000, NOP, NOP]), Some(0b111));
        // add r2, pc, #0, of code
        assert_eq!(starts_a32([0xe28f_2000, NOP, BX_LR]), Some(0b111));
    }

    #[test]
    fn tables_of_distances_end_where_code_begins() {
        // tbb [pc, r0]; .byte 2, 3, 2, 0; 1: nop; 2: bx lr
        let code = [0xe8df, 0xf000, 0x0302, 0x0002, 0xbf00, 0x4770];
        assert_eq!(starts(State::Thumb, &code), 0b11_0001);
        // tbh [pc, r0, lsl #1]; .short 4, 3, 0xf000; 1: nop; 2: bx lr
        let code = [0xe8df, 0xf010, 4, 3, 0xf000, 0xbf00, 0x4770];
        assert_eq!(starts(State::Thumb, &code), 0b110_0001);
        // tbb [pc, r0], tbh [pc, r0, lsl #1]; nop; b .: the table is not here.
        for table in [0xf000, 0xf010] {
            let code = [0xe8df, table, 0xbf00, 0xe7fe];
            assert_eq!(starts(State::Thumb, &code), 0b1101);
        }
    }

    #[test]
    fn text_that_ends_is_refused() {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            into.fill(0);
            (at.get() < START + 4).then_some(())
        };
        let at = |at| TextAddr::new(START + at);
        for state in [State::A32, State::Thumb] {
            assert_eq!(check_boundary(state, at(0), at(0), &mut read), Ok(()));
            let behind = check_boundary(state, at(0), at(4), &mut read);
            assert_eq!(behind, Err(Refusal::UnreadableText));
            let far = check_boundary(state, at(0), TextAddr::new(u64::MAX - 3), &mut read);
            assert!(far.is_err());
        }
    }

    #[test]
    fn marks_ahead_are_kept_and_passed_ones_dropped() {
        let mut marks = Marks {
            bits: [0; (AHEAD / 32) as usize],
            from: START,
        };
        marks.mark(START + 2 * AHEAD - 2, 4);
        marks.mark(START - 2, 4);
        assert!(marks.take(START) && !marks.take(START));
        assert!(!marks.take(START + 2 * AHEAD - 4));
        assert!(marks.take(START + 2 * AHEAD - 2));
        assert!(!marks.take(START + 2 * AHEAD));
        // A mark that is passed does not come again.
        marks.mark(START + 2 * AHEAD + 2, 2);
        assert!(!marks.take(START + 2 * AHEAD + 4));
        assert!(!marks.take(START + 4 * AHEAD + 2));
    }
}
