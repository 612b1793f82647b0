// SPDX-License-Identifier: GPL-2.0

//! The code of copies.
//!
//! ```text
//! A32     copy                                Thumb   copy            (4 bytes, or 2)
//!         ldr pc, [pc, #-4]                           ldr.w pc, [pc]  (or [pc, #4])
//!         .word next                                                  (2 bytes after 2)
//!                                                     .word next + 1
//!
//!         copy                                        copy
//!         udf #0x18                                   udf #0x18
//! ```
//!
//! A copy of A32 always runs: the condition has been checked before the handlers, which may change
//! the flags.

use super::{
    insn::Insn,
    psr::ALWAYS,
    State,
    A32_BREAKPOINT,
    T16_BREAKPOINT,
    T32_BREAKPOINT, //
};
use crate::prelude::*;

/// The condition that always holds, in its place in A32.
const AL: u32 = (ALWAYS as u32) << 28;
/// `ldr pc, [pc, #-4]`
const A32_JUMP: u32 = 0xe51f_f004;
/// `ldr.w pc, [pc]`
const T32_JUMP: u32 = 0xf8df_f000;

impl Insn {
    /// Returns an instruction as it is in memory.
    fn bytes(&self, word: u32, len: u64) -> [u8; 4] {
        match (self.state, len) {
            (State::Thumb, 4) => word.rotate_right(16),
            _ => word,
        }
        .to_le_bytes()
    }

    /// Returns `code` with an instruction after it.
    fn append(&self, code: Code, word: u32, len: u64) -> Result<Code, Refusal> {
        let bytes = self.bytes(word, len);
        code.then(bytes.get(..len as usize).unwrap_or(&bytes))
    }

    /// The bits without a condition.
    fn unconditional(&self) -> u32 {
        match self.state {
            State::A32 if self.word < 0xf000_0000 => self.word & 0x0fff_ffff | AL,
            _ => self.word,
        }
    }

    fn copy(&self) -> Result<Code, Refusal> {
        self.append(Code::EMPTY, self.unconditional(), self.len())
    }

    /// Returns a copy of A32, and a jump to the address after both.
    pub(crate) fn with_jump(&self) -> [u32; 2] {
        [self.unconditional(), A32_JUMP]
    }

    /// Returns a copy that ends in a jump to `next`, for an address that is a multiple of four.
    pub(crate) fn boosted(&self, next: TextAddr) -> Result<Code, Refusal> {
        let copy = self.copy()?;
        let code = match (self.state, self.len()) {
            (State::A32, _) => self.append(copy, A32_JUMP, 4)?,
            (State::Thumb, 2) => self.append(copy, T32_JUMP | 4, 4)?.then(&[0; 2])?,
            (State::Thumb, _) => self.append(copy, T32_JUMP, 4)?,
        };
        let next = next.get() as u32 | self.state.pointer_bit();
        code.then(&next.to_le_bytes())
    }

    /// Returns a copy that ends in a breakpoint.
    pub(crate) fn stepped(&self) -> Result<Code, Refusal> {
        match self.state {
            State::A32 => self.append(self.copy()?, A32_BREAKPOINT | AL, 4),
            State::Thumb => self.append(self.copy()?, T16_BREAKPOINT.into(), 2),
        }
    }

    /// Returns the instruction, as in memory. One of two bytes has zeros after it.
    pub(crate) fn original(&self) -> [u8; 4] {
        self.bytes(self.word, self.len())
    }

    /// Returns the breakpoint that replaces the instruction, as in memory.
    pub(crate) fn breakpoint(&self) -> [u8; 4] {
        let word = match (self.state, self.len()) {
            (State::A32, _) => A32_BREAKPOINT | u32::from(self.condition()) << 28,
            (State::Thumb, 2) => T16_BREAKPOINT.into(),
            (State::Thumb, _) => T32_BREAKPOINT,
        };
        self.bytes(word, self.len())
    }
}

/// Returns A32's `b` at `at` to `to`, with a condition. It reaches 32 MiB.
pub(crate) fn jump(at: TextAddr, to: TextAddr, condition: u8) -> Result<[u8; 4], Refusal> {
    let pc = at.get().wrapping_add(8);
    let distance = to.get().wrapping_sub(pc) as i64;
    if !(-(1 << 25)..1 << 25).contains(&distance) {
        return Err(Refusal::TooFar);
    }
    let word = 0x0a00_0000 | (distance >> 2) as u32 & 0x00ff_ffff;
    Ok((word | u32::from(condition) << 28).to_le_bytes())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_copy))]
mod tests {
    use super::*;

    #[test]
    fn jumps_reach_32_mib() {
        let at = TextAddr::new(0xc010_0000);
        let jump = |distance: i64| {
            let to = TextAddr::new(at.get().wrapping_add_signed(distance));
            super::jump(at, to, ALWAYS).map(u32::from_le_bytes)
        };
        // b .; b .+8; b .+0x2000004; b .-0x1fffff8
        assert_eq!(jump(0), Ok(0xeaff_fffe));
        assert_eq!(jump(8), Ok(0xea00_0000));
        assert_eq!(jump((1 << 25) + 4), Ok(0xea7f_ffff));
        assert_eq!(jump((1 << 25) + 8), Err(Refusal::TooFar));
        assert_eq!(jump(8 - (1 << 25)), Ok(0xea80_0000));
        assert_eq!(jump(4 - (1 << 25)), Err(Refusal::TooFar));
        // beq .+8
        let jump = super::jump(at, TextAddr::new(0xc010_0008), 0);
        assert_eq!(jump.map(u32::from_le_bytes), Ok(0x0a00_0000));
    }

    const NEXT: TextAddr = TextAddr::new(0xc010_0104);

    /// The copy with a jump, the copy with a breakpoint, and the breakpoint.
    fn codes(state: State, code: &[u8]) -> Result<[Code; 3], Refusal> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let from = at.get() as usize;
            into.copy_from_slice(code.get(from..from + into.len())?);
            Some(())
        };
        let insn = Insn::read(state, TextAddr::new(0), &mut read)?;
        let breakpoint = insn.breakpoint();
        let breakpoint = Code::EMPTY.then(&breakpoint[..insn.len() as usize])?;
        Ok([insn.boosted(NEXT)?, insn.stepped()?, breakpoint])
    }

    fn check(state: State, code: &[u8], boosted: &[u8], stepped: &[u8], breakpoint: &[u8]) {
        let codes = codes(state, code);
        let bytes = codes.as_ref().map(|codes| {
            let [first, second, third] = codes;
            [first.bytes(), second.bytes(), third.bytes()]
        });
        assert_eq!(bytes, Ok([boosted, stepped, breakpoint]));
    }

    #[test]
    fn a32_copies_have_no_condition() {
        // addne r0, r1, r2: add r0, r1, r2; ldr pc, [pc, #-4]; .word NEXT
        check(
            State::A32,
            &[0x02, 0x00, 0x81, 0x10],
            &[
                0x02, 0x00, 0x81, 0xe0, 0x04, 0xf0, 0x1f, 0xe5, 0x04, 0x01, 0x10, 0xc0,
            ],
            &[0x02, 0x00, 0x81, 0xe0, 0xf8, 0x01, 0xf0, 0xe7],
            &[0xf8, 0x01, 0xf0, 0x17],
        );
        // dmb ish
        check(
            State::A32,
            &[0x5b, 0xf0, 0x7f, 0xf5],
            &[
                0x5b, 0xf0, 0x7f, 0xf5, 0x04, 0xf0, 0x1f, 0xe5, 0x04, 0x01, 0x10, 0xc0,
            ],
            &[0x5b, 0xf0, 0x7f, 0xf5, 0xf8, 0x01, 0xf0, 0xe7],
            &[0xf8, 0x01, 0xf0, 0xe7],
        );
    }

    #[test]
    fn jumps_of_thumb_are_aligned() {
        // adds r0, r0, r1; ldr.w pc, [pc, #4]; .short 0; .word NEXT + 1
        check(
            State::Thumb,
            &[0x40, 0x18],
            &[
                0x40, 0x18, 0xdf, 0xf8, 0x04, 0xf0, 0x00, 0x00, 0x05, 0x01, 0x10, 0xc0,
            ],
            &[0x40, 0x18, 0x18, 0xde],
            &[0x18, 0xde],
        );
        // str.w r0, [r1]
        check(
            State::Thumb,
            &[0xc1, 0xf8, 0x00, 0x00],
            &[
                0xc1, 0xf8, 0x00, 0x00, 0xdf, 0xf8, 0x00, 0xf0, 0x05, 0x01, 0x10, 0xc0,
            ],
            &[0xc1, 0xf8, 0x00, 0x00, 0x18, 0xde],
            &[0xf0, 0xf7, 0x18, 0xa0],
        );
    }
}
