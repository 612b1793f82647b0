// SPDX-License-Identifier: GPL-2.0

//! Copies of instructions for another address, instructions that fault in the place of emulated
//! ones, and the instructions that EXRL executes.
//!
//! An instruction of format RIL with a PC-relative operand has a distance of 32 bits in halfwords,
//! which reaches 4 GiB each way:
//!
//! ```text
//!  0        8    12   16                              48
//! +--------+----+----+--------------------------------+
//! | opcode | R1 | op | distance / 2                   |
//! +--------+----+----+--------------------------------+
//! ```
//!
//! C counterpart: `copy_instruction()` in
//! [`arch/s390/kernel/kprobes.c`](srctree/arch/s390/kernel/kprobes.c).

use super::insn::{
    Extension,
    Insn,
    Mnemonic,
    MAX_INSN, //
};
use crate::prelude::*;

impl Insn {
    /// The address of the long PC-relative operand.
    fn operand(&self, at: TextAddr) -> TextAddr {
        let distance = self.signed(16, 32).wrapping_mul(2);
        TextAddr::new(at.get().wrapping_add(distance as u64))
    }

    /// The instruction at `from`, for a copy at `to`: a PC-relative operand keeps its address.
    pub(crate) fn moved(&self, from: TextAddr, to: TextAddr) -> Result<Self, Refusal> {
        if !self.opcode.relative {
            return Ok(*self);
        }
        // Format RIL has 32 bits for the distance; the other formats have fewer.
        if self.opcode.extension != Extension::Nibble || self.len() != MAX_INSN {
            return Err(Refusal::BoundToPlace);
        }
        let distance = self.operand(from).get().wrapping_sub(to.get()) as i64;
        let halfwords = i32::try_from(distance >> 1).map_err(|_| Refusal::TooFar)?;
        match distance & 1 {
            0 => Ok(self.with_low_word(halfwords)),
            _ => Err(Refusal::TooFar),
        }
    }

    /// For an instruction that the trap handler emulates and that accesses memory: an instruction
    /// of the same length that accesses the same bytes, and changes the condition code only.
    pub(crate) fn probing_access(&self) -> Option<[u8; MAX_INSN]> {
        let [_, second, third, fourth, fifth, _] = self.bytes();
        Some(match self.opcode.mnemonic {
            // CG compares %r0 with the word.
            Mnemonic::Bic => [0xe3, second & 15, third, fourth, fifth, 0x20],
            // TM tests no bit of the byte.
            Mnemonic::Ssm => [0x91, 0, third, fourth, 0, 0],
            // OI sets no bit of the byte.
            Mnemonic::Stnsm | Mnemonic::Stosm => [0x96, 0, third, fourth, 0, 0],
            _ => return None,
        })
    }

    /// The address of the instruction that this EXRL at `at` executes; `None` for other
    /// instructions.
    ///
    /// EXRL executes its target without branching there, so no breakpoint may be on the target. EX
    /// has its target in registers; the kernel has one, in a function that cannot be probed.
    pub(crate) fn executes(&self, at: TextAddr) -> Option<TextAddr> {
        (self.opcode.mnemonic == Mnemonic::Exrl).then(|| self.operand(at))
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_relocate))]
mod tests {
    use super::*;

    const AT: u64 = 0x3ff_8000_0000;

    /// Moves `bytes` from [`AT`] to an address that is `by` bytes further on.
    fn moved(bytes: &[u8], by: i64) -> Result<[u8; 6], Refusal> {
        let to = TextAddr::new(AT.wrapping_add(by as u64));
        let insn = Insn::decode(bytes)?.moved(TextAddr::new(AT), to)?;
        Ok(insn.bytes())
    }

    /// larl %r1, so many halfwords from there
    fn larl(halfwords: i32) -> [u8; 6] {
        let [a, b, c, d] = halfwords.to_be_bytes();
        [0xc0, 0x10, a, b, c, d]
    }

    #[test]
    fn operands_keep_their_addresses() {
        assert_eq!(moved(&larl(100), 0), Ok(larl(100)));
        assert_eq!(moved(&larl(100), 0x1000), Ok(larl(100 - 0x800)));
        assert_eq!(moved(&larl(-100), -0x1000), Ok(larl(-100 + 0x800)));
        // lgrl %r1; brasl %r14; exrl %r1
        for (first, second) in [(0xc4, 0x18), (0xc0, 0xe5), (0xc6, 0x10)] {
            let insn = [first, second, 0, 0, 0, 0x10];
            let copy = [first, second, 0xff, 0xff, 0xff, 0xf0];
            assert_eq!(moved(&insn, 0x40), Ok(copy));
        }
    }

    #[test]
    fn distance_that_does_not_fit_is_refused() {
        assert_eq!(moved(&larl(0), -0xffff_fffe), Ok(larl(i32::MAX)));
        assert_eq!(moved(&larl(0), -0x1_0000_0000), Err(Refusal::TooFar));
        assert_eq!(moved(&larl(0), 0x1_0000_0000), Ok(larl(i32::MIN)));
        assert_eq!(moved(&larl(0), 0x1_0000_0002), Err(Refusal::TooFar));
        assert_eq!(moved(&larl(i32::MAX), 0x1_ffff_fffe), Ok(larl(i32::MIN)));
        assert_eq!(moved(&larl(0), 1), Err(Refusal::TooFar));
    }

    #[test]
    fn other_instructions_stay_as_they_are() {
        // lgfi %r1,16; mvc; la
        for insn in [
            [0xc0, 0x11, 0, 0, 0, 0x10],
            [0xd2, 0x07, 0x10, 0x00, 0x20, 0x00],
            [0x41, 0x10, 0x20, 0x00, 0, 0],
        ] {
            assert_eq!(moved(&insn, 0x1000), Ok(insn));
        }
        // Short distances: brct; crj
        for insn in [
            [0xa7, 0x16, 0, 0x10, 0, 0],
            [0xec, 0x12, 0, 0x10, 0x80, 0x76],
        ] {
            assert_eq!(moved(&insn, 0x1000), Err(Refusal::BoundToPlace));
        }
    }

    #[test]
    fn probing_accesses_have_the_operands_of_the_original() {
        let access = |bytes: &[u8]| Insn::decode(bytes).ok()?.probing_access();
        // bi 0x12345(%r2,%r3), bic; cg %r0,0x12345(%r2,%r3)
        let cg = [0xe3, 0x02, 0x33, 0x45, 0x12, 0x20];
        assert_eq!(access(&[0xe3, 0xf2, 0x33, 0x45, 0x12, 0x47]), Some(cg));
        assert_eq!(access(&[0xe3, 0x42, 0x33, 0x45, 0x12, 0x47]), Some(cg));
        // ssm 0x345(%r3); stnsm, stosm 0x345(%r3),0xfc
        let tm = [0x91, 0, 0x33, 0x45, 0, 0];
        assert_eq!(access(&[0x80, 0x00, 0x33, 0x45]), Some(tm));
        let oi = [0x96, 0, 0x33, 0x45, 0, 0];
        assert_eq!(access(&[0xac, 0xfc, 0x33, 0x45]), Some(oi));
        assert_eq!(access(&[0xad, 0xfc, 0x33, 0x45]), Some(oi));
        // epsw; brcl; lg
        assert_eq!(access(&[0xb9, 0x8d, 0, 0x12]), None);
        assert_eq!(access(&[0xc0, 0xf4, 0, 0, 0, 0x10]), None);
        assert_eq!(access(&[0xe3, 0x12, 0x33, 0x45, 0x12, 0x04]), None);
    }

    #[test]
    fn exrl_alone_executes_another_instruction() {
        let executes = |bytes: &[u8]| {
            let target = Insn::decode(bytes).ok()?.executes(TextAddr::new(AT))?;
            Some(target.get().wrapping_sub(AT) as i64)
        };
        assert_eq!(executes(&[0xc6, 0x10, 0, 0, 0, 0x10]), Some(32));
        assert_eq!(executes(&[0xc6, 0x10, 0xff, 0xff, 0xff, 0xf0]), Some(-32));
        // pfdrl; larl; ex
        assert_eq!(executes(&[0xc6, 0x12, 0, 0, 0, 0x10]), None);
        assert_eq!(executes(&larl(16)), None);
        assert_eq!(executes(&[0x44, 0x10, 0x20, 0x00]), None);
    }
}
