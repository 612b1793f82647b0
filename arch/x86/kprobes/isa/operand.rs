// SPDX-License-Identifier: GPL-2.0

//! The memory operand of an indirect branch, and its address at a hit.
//!
//! ```text
//! segment base + ((base register, or next instruction) + (index register << scale) + displacement)
//!                |------------- truncated to 32 bits by the address-size prefix -----------------|
//! ```
//!
//! As in the CPU, addresses wrap, and only FS and GS have a base address in 64-bit mode. [`Memory`]
//! is made when a probe is registered and has 12 bytes, so a hit only adds numbers. REX2 can name
//! registers that a trap does not save; operands with these registers are refused.
//!
//! C counterpart: none. C refuses indirect branches through memory.

use super::{
    insn::{
        Insn,
        Prefix,
        Segment, //
    },
    regs::Regs,
};
use crate::prelude::*;

/// The number of general registers that a trap saves.
const SAVED: u8 = 16;

/// The summand that depends on the base field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Nothing,
    Register(u8),
    /// RIP or EIP, which is the address of the next instruction.
    Next,
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    displacement: i32,
    base: Base,
    /// The index register and the scale, as a number of bits to shift.
    index: Option<(u8, u8)>,
    segment: Option<Segment>,
    /// Whether the address-size prefix truncates the offset to 32 bits.
    narrow: bool,
}

impl Memory {
    /// Returns the memory operand that the ModRM of `insn` names.
    ///
    /// ```text
    ///   7   6   5   4   3   2   1   0
    /// +-------+-----------+-----------+
    /// | scale |   index   |   base    |     SIB
    /// +-------+-----------+-----------+
    /// ```
    pub(super) fn of(insn: &Insn) -> Result<Self, Refusal> {
        let modrm = insn.modrm.filter(|modrm| !modrm.is_register());
        let modrm = modrm.ok_or(Refusal::InvalidInsn)?;
        let number = insn.sib.map_or(modrm.rm(), |sib| sib & 7);
        let base = if insn.rip_relative().is_some() {
            Base::Next
        } else if number == 5 && modrm.mode() == 0 {
            Base::Nothing
        } else {
            Base::Register(saved(number | insn.base_extension)?)
        };
        let index = insn
            .sib
            .map(|sib| (sib >> 3 & 7 | insn.index_extension, sib >> 6));
        // RSP cannot be an index: its number means that there is no index.
        let index = index.filter(|&(number, _)| number != SP);
        if let Some((number, _)) = index {
            saved(number)?;
        }
        Ok(Self {
            displacement: insn.displacement_value() as i32,
            base,
            index,
            segment: insn.segment,
            narrow: insn.has(Prefix::AddressSize),
        })
    }

    /// Returns the address of the operand of an instruction before `next`.
    #[inline]
    pub(crate) fn address(&self, next: TextAddr, regs: &impl Regs) -> u64 {
        let base = match self.base {
            Base::Nothing => 0,
            Base::Register(number) => regs.register(number),
            Base::Next => next.get(),
        };
        let index = self.index.map_or(0, |(number, shift)| {
            regs.register(number).wrapping_shl(u32::from(shift))
        });
        let displacement = i64::from(self.displacement) as u64;
        let mut offset = base.wrapping_add(index).wrapping_add(displacement);
        if self.narrow {
            offset = u64::from(offset as u32);
        }
        let segment = self.segment.map_or(0, |segment| regs.segment_base(segment));
        segment.wrapping_add(offset)
    }
}

/// The number of RSP in encodings.
const SP: u8 = 4;

/// Returns `number`, if a trap saves that register.
pub(super) fn saved(number: u8) -> Result<u8, Refusal> {
    if number < SAVED {
        Ok(number)
    } else {
        Err(Refusal::UnsavedRegister)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_operand))]
mod tests {
    use super::{
        super::{
            decode::decode,
            test_registers::Fake, //
        },
        *,
    };

    const NEXT: TextAddr = TextAddr::new(0xffff_ffff_8100_0010);

    fn operand(bytes: &[u8]) -> Result<Memory, Refusal> {
        Memory::of(&decode(bytes)?)
    }

    /// The address, where each register has its own number in all four 16-bit parts.
    fn address(bytes: &[u8]) -> Result<u64, Refusal> {
        Ok(operand(bytes)?.address(NEXT, &Fake::numbered()))
    }

    const ONE: u64 = 0x0001_0001_0001_0001;

    #[test]
    fn address_is_base_plus_index_plus_displacement() {
        let cases: [(&[u8], u64); 14] = [
            // (%rax) (%rdi) (%r8) 16(%rbp) -16(%r13)
            (&[0xff, 0x10], 0),
            (&[0xff, 0x27], 7 * ONE),
            (&[0x41, 0xff, 0x10], 8 * ONE),
            (&[0xff, 0x55, 0x10], 5 * ONE + 0x10),
            (&[0x41, 0xff, 0x65, 0xf0], 13 * ONE - 0x10),
            // (%rsp) 8(%rsp) (%r12)
            (&[0xff, 0x14, 0x24], 4 * ONE),
            (&[0xff, 0x54, 0x24, 0x08], 4 * ONE + 8),
            (&[0x41, 0xff, 0x14, 0x24], 12 * ONE),
            // -0x1000(,%rcx,8) (%rdx,%r12,2) 0x100(%r13,%rbx,4)
            (
                &[0xff, 0x14, 0xcd, 0x00, 0xf0, 0xff, 0xff],
                8 * ONE - 0x1000,
            ),
            (&[0x42, 0xff, 0x24, 0x62], 26 * ONE),
            (&[0x41, 0xff, 0x94, 0x9d, 0, 1, 0, 0], 25 * ONE + 0x100),
            // 0x7fffffff, -0x80000000, 0x100(%rip)
            (&[0xff, 0x14, 0x25, 0xff, 0xff, 0xff, 0x7f], 0x7fff_ffff),
            (
                &[0xff, 0x14, 0x25, 0x00, 0x00, 0x00, 0x80],
                0xffff_ffff_8000_0000,
            ),
            (&[0xff, 0x15, 0x00, 0x01, 0x00, 0x00], 0xffff_ffff_8100_0110),
        ];
        for (bytes, expected) in cases {
            assert_eq!(address(bytes), Ok(expected));
        }
    }

    #[test]
    fn address_size_prefix_makes_sums_of_32_bits() {
        let cases: [(&[u8], u64); 4] = [
            (&[0x67, 0xff, 0x27], 0x0007_0007),
            (&[0x67, 0xff, 0x60, 0xff], 0xffff_ffff),
            (&[0x67, 0xff, 0x15, 0x00, 0x00, 0x00, 0x7f], 0x10),
            (&[0x65, 0x67, 0xff, 0x60, 0xff], Fake::GS + 0xffff_ffff),
        ];
        for (bytes, expected) in cases {
            assert_eq!(address(bytes), Ok(expected));
        }
    }

    #[test]
    fn last_segment_with_a_base_counts() {
        let cases: [(&[u8], u64); 5] = [
            (&[0x64, 0xff, 0x20], Fake::FS),
            (&[0x65, 0xff, 0x20], Fake::GS),
            (&[0x65, 0x64, 0xff, 0x20], Fake::FS),
            (
                &[0x64, 0x65, 0x41, 0xff, 0x20],
                Fake::GS.wrapping_add(8 * ONE),
            ),
            (&[0x3e, 0x2e, 0x36, 0x26, 0xff, 0x20], 0),
        ];
        for (bytes, expected) in cases {
            assert_eq!(address(bytes), Ok(expected));
        }
    }

    #[test]
    fn rex2_names_registers_up_to_15_here() {
        // B, X, X and B; then B4 alone, X4 alone.
        assert_eq!(address(&[0xd5, 0x01, 0xff, 0x10]), Ok(8 * ONE));
        assert_eq!(address(&[0xd5, 0x02, 0xff, 0x14, 0x08]), Ok(9 * ONE));
        assert_eq!(address(&[0xd5, 0x03, 0xff, 0x14, 0x08]), Ok(17 * ONE));
        let no = Err(Refusal::UnsavedRegister);
        assert_eq!(address(&[0xd5, 0x10, 0xff, 0x10]), no);
        assert_eq!(address(&[0xd5, 0x20, 0xff, 0x14, 0x08]), no);
        // R20 is an index, unlike RSP with the same low bits.
        assert_eq!(address(&[0xd5, 0x20, 0xff, 0x14, 0x20]), no);
        // Without a register they say nothing.
        assert_eq!(
            address(&[0xd5, 0x10, 0xff, 0x15, 0, 0, 0, 0]),
            Ok(NEXT.get())
        );
    }

    #[test]
    fn register_operands_have_no_address() {
        assert_eq!(operand(&[0xff, 0xd0]), Err(Refusal::InvalidInsn));
        assert_eq!(operand(&[0x90]), Err(Refusal::InvalidInsn));
    }
}
