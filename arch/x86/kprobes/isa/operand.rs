// SPDX-License-Identifier: GPL-2.0

//! Operands in memory: where an instruction says they are, and which address that comes to.
//!
//! ```text
//! segment base + ((base register, or next instruction) + (index register << scale) + displacement)
//!                |------------- 32 bits of it with the address-size prefix ----------------------|
//! ```
//!
//! All is as in the CPU: addresses wrap, only FS and GS have a base in 64-bit mode, and whichever
//! of their prefixes comes last counts. What an instruction names is kept in 12 bytes, so that it
//! is taken apart when a probe is registered, and only added up when one is hit.
//!
//! It knows the encodings of branches: an optional REX or REX2 before a one-byte opcode. REX2 can
//! name registers that a trap does not save, which is refused.
//!
//! C counterpart: none, C refuses such operands.

use super::{
    emulate::Frame,
    insn::{
        Insn,
        ModRm,
        Opcode,
        Prefix, //
    },
};
use crate::prelude::*;

/// Registers that a trap saves.
const SAVED: u8 = 16;

/// The segments that have a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Fs,
    Gs,
}

/// What a displacement is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Nothing,
    Register(u8),
    /// RIP or EIP, which is at the next instruction.
    Next,
}

/// ```text
///   7   6   5   4   3   2   1   0
/// +-------+-----------+-----------+
/// | scale |   index   |   base    |
/// +-------+-----------+-----------+
/// ```
#[derive(Clone, Copy)]
struct Sib(u8);

/// An operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    displacement: i32,
    base: Base,
    /// A register, and how many bits it is shifted by.
    index: Option<(u8, u8)>,
    segment: Option<Segment>,
    /// Are addresses 32 bits wide?
    narrow: bool,
}

impl Memory {
    /// The operand that the ModRM of `insn` names.
    pub(super) fn of(insn: &Insn, bytes: &[u8]) -> Result<Self, Refusal> {
        let modrm = insn.modrm().filter(|modrm| !modrm.is_register());
        let modrm = modrm.ok_or(Refusal::InvalidInsn)?;
        let extension = Extension::of(insn, bytes)?;
        let sib = match insn.sib_field() {
            Some(field) => Some(Sib(byte(bytes, field.offset)?)),
            None => None,
        };
        Ok(Self {
            displacement: displacement(insn, bytes)?,
            base: base(insn, modrm, sib, extension)?,
            index: index(sib, extension)?,
            segment: segment(insn, bytes),
            narrow: insn.has(Prefix::AddressSize),
        })
    }

    /// Where it is, for an instruction before `next`.
    #[inline]
    pub(crate) fn address(&self, next: TextAddr, frame: &impl Frame) -> u64 {
        let base = match self.base {
            Base::Nothing => 0,
            Base::Register(number) => frame.register(number),
            Base::Next => next.get(),
        };
        let index = self.index.map_or(0, |(number, shift)| {
            frame.register(number).wrapping_shl(u32::from(shift))
        });
        let displacement = i64::from(self.displacement) as u64;
        let mut offset = base.wrapping_add(index).wrapping_add(displacement);
        if self.narrow {
            offset = u64::from(offset as u32);
        }
        let segment = self
            .segment
            .map_or(0, |segment| frame.segment_base(segment));
        segment.wrapping_add(offset)
    }
}

/// What REX or REX2 adds to the numbers of registers.
///
/// ```text
///   7   6   5   4   3   2   1   0
/// +---------------+---+---+---+---+
/// | 0   1   0   0 | W | R | X | B |     REX
/// +---------------+---+---+---+---+
/// | M | R4| X4| B4| W | R | X | B |     REX2, after D5
/// +---------------+---+---+---+---+
/// ```
#[derive(Clone, Copy)]
pub(super) struct Extension {
    base: u8,
    index: u8,
}

impl Extension {
    pub(super) fn of(insn: &Insn, bytes: &[u8]) -> Result<Self, Refusal> {
        let fourth = match insn.opcode() {
            Opcode::Primary(_) => 0,
            Opcode::Rex2Primary(_) => 0b11_0000,
            _ => return Err(Refusal::BoundToPlace),
        };
        let Some(field) = insn.escape_field() else {
            return Ok(Self { base: 0, index: 0 });
        };
        let last = field.offset.wrapping_add(field.size).wrapping_sub(1);
        let bits = byte(bytes, last)?;
        Ok(Self {
            base: (bits & 0b01) << 3 | bits & fourth & 0b01_0000,
            index: (bits & 0b10) << 2 | (bits & fourth & 0b10_0000) >> 1,
        })
    }

    /// The bits X and B, if they are all that is needed.
    pub(super) fn x_and_b(self) -> Result<u8, Refusal> {
        saved(self.base)?;
        saved(self.index)?;
        Ok(self.index >> 2 | self.base >> 3)
    }
}

/// `number`, if a trap saves that register.
pub(super) fn saved(number: u8) -> Result<u8, Refusal> {
    if number < SAVED {
        Ok(number)
    } else {
        Err(Refusal::UnsavedRegister)
    }
}

fn base(
    insn: &Insn,
    modrm: ModRm,
    sib: Option<Sib>,
    extension: Extension,
) -> Result<Base, Refusal> {
    if insn.rip_relative_field().is_some() {
        return Ok(Base::Next);
    }
    let number = sib.map_or(modrm.rm(), |sib| sib.0 & 7);
    if sib.is_some() && number == 5 && modrm.mode() == 0 {
        return Ok(Base::Nothing);
    }
    Ok(Base::Register(saved(number | extension.base)?))
}

/// RSP cannot be an index: its number says that there is none.
fn index(sib: Option<Sib>, extension: Extension) -> Result<Option<(u8, u8)>, Refusal> {
    let Some(Sib(sib)) = sib else {
        return Ok(None);
    };
    match (sib >> 3) & 7 | extension.index {
        4 => Ok(None),
        number => Ok(Some((saved(number)?, sib >> 6))),
    }
}

fn displacement(insn: &Insn, bytes: &[u8]) -> Result<i32, Refusal> {
    let Some(field) = insn.displacement_field() else {
        return Ok(0);
    };
    let rest = bytes.get(usize::from(field.offset)..).unwrap_or_default();
    let value = match field.size {
        1 => rest.first().map(|&byte| i32::from(byte as i8)),
        4 => rest.first_chunk().map(|&bytes| i32::from_le_bytes(bytes)),
        _ => None,
    };
    value.ok_or(Refusal::TruncatedInsn)
}

/// The segment that counts.
pub(super) fn segment(insn: &Insn, bytes: &[u8]) -> Option<Segment> {
    let prefixes = bytes.get(..usize::from(insn.prefix_field()?.size))?;
    prefixes.iter().rev().find_map(|prefix| match prefix {
        0x64 => Some(Segment::Fs),
        0x65 => Some(Segment::Gs),
        _ => None,
    })
}

fn byte(bytes: &[u8], offset: u8) -> Result<u8, Refusal> {
    let byte = bytes.get(usize::from(offset)).copied();
    byte.ok_or(Refusal::TruncatedInsn)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_operand))]
mod tests {
    use super::{
        super::{
            decode::decode,
            fake::Fake, //
        },
        *,
    };

    const NEXT: TextAddr = TextAddr::new(0xffff_ffff_8100_0010);

    fn operand(bytes: &[u8]) -> Result<Memory, Refusal> {
        Memory::of(&decode(bytes)?, bytes)
    }

    /// The address, where each register has its own number in all four 16-bit parts.
    fn address(bytes: &[u8]) -> Result<u64, Refusal> {
        Ok(operand(bytes)?.address(NEXT, &Fake::numbered()))
    }

    const ONE: u64 = 0x0001_0001_0001_0001;

    #[test]
    fn addresses_are_sums() {
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
    fn registers_are_no_memory() {
        assert_eq!(operand(&[0xff, 0xd0]), Err(Refusal::InvalidInsn));
        assert_eq!(operand(&[0x90]), Err(Refusal::InvalidInsn));
    }
}
