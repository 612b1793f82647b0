// SPDX-License-Identifier: GPL-2.0

//! Decodes one instruction.
//!
//! The first two bits of an instruction tell its length. The opcode is the first byte and, for most
//! first bytes, an extension. `gen-opcodes.awk` writes the table of opcodes from the kernel's
//! `opcodes.txt`.
//!
//! ```text
//! bits 0, 1    length          bits 0-7    12-15     8-15     40-47
//!    00           2           +--------+- - - - - - - - - - - - - - -+
//!  01, 10         4           | opcode |  extension, if there is one |
//!    11           6           +--------+- - - - - - - - - - - - - - -+
//! ```
//!
//! C counterpart: `is_known_insn()` in
//! [`arch/s390/kernel/dis.c`](srctree/arch/s390/kernel/dis.c).

pub(super) use super::opcodes::Mnemonic;
use super::opcodes::OPCODES;
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// The longest instruction has so many bytes.
pub(crate) const MAX_INSN: usize = 6;

/// The length of the instruction with this first byte, known or not.
pub(crate) const fn insn_len(first: u8) -> usize {
    match first >> 6 {
        0 => 2,
        1 | 2 => 4,
        _ => MAX_INSN,
    }
}

/// The place of the extension. All opcodes with the same first byte have one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// Nowhere.
    None,
    /// Bits 12 to 15.
    Nibble,
    /// The second byte.
    Second,
    /// The sixth byte.
    Sixth,
}

/// A line of the kernel's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opcode {
    /// The first byte and the extension.
    pub(crate) key: u16,
    pub(super) mnemonic: Mnemonic,
    pub(super) extension: Extension,
    /// Whether an operand is relative to the instruction's address.
    pub(super) relative: bool,
}

impl Opcode {
    pub(super) const fn new(
        key: u16,
        mnemonic: Mnemonic,
        extension: Extension,
        relative: bool,
    ) -> Self {
        Self {
            key,
            mnemonic,
            extension,
            relative,
        }
    }
}

/// An instruction of the kernel's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Insn {
    /// Its bytes from the top, in the order of the Principles of Operation: bit 0 is the highest.
    /// The bits after the instruction are zero.
    image: u64,
    pub(crate) opcode: &'static Opcode,
}

impl Insn {
    /// Decodes the instruction at the start of `bytes`, and ignores the bytes after it.
    ///
    /// [`Refusal::TruncatedInsn`] means that the instruction has more bytes,
    /// [`Refusal::InvalidInsn`] that the kernel's table has no such instruction.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let first = *bytes.first().ok_or(Refusal::TruncatedInsn)?;
        let bytes = bytes.get(..insn_len(first)).ok_or(Refusal::TruncatedInsn)?;
        let mut image = [0; 8];
        for (to, from) in image.iter_mut().zip(bytes) {
            *to = *from;
        }
        let image = u64::from_be_bytes(image);
        let opcode = find(image).ok_or(Refusal::InvalidInsn)?;
        Ok(Self { image, opcode })
    }

    /// Reads and decodes the instruction at `at`.
    pub(crate) fn read(at: TextAddr, read: ReadText<'_>) -> Result<Self, Refusal> {
        let mut bytes = [0; MAX_INSN];
        let (halfword, rest) = bytes.split_at_mut(2);
        read(at, halfword).ok_or(Refusal::UnreadableText)?;
        let more = halfword
            .first()
            .map_or(0, |&first| insn_len(first).wrapping_sub(2));
        if let Some(rest @ [_, ..]) = rest.get_mut(..more) {
            read(at.after(2)?, rest).ok_or(Refusal::UnreadableText)?;
        }
        Self::decode(&bytes)
    }

    /// The number of bytes: 2, 4 or 6.
    pub(crate) fn len(&self) -> usize {
        insn_len(self.bits(0, 8) as u8)
    }

    /// The bytes, of which the instruction has the first [`len`](Self::len).
    pub(crate) fn bytes(&self) -> [u8; MAX_INSN] {
        let [a, b, c, d, e, f, ..] = self.image.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// `count` bits from bit `from` on, as an unsigned number.
    pub(super) fn bits(&self, from: u32, count: u32) -> u64 {
        bits(self.image, from, count)
    }

    /// `count` bits from bit `from` on, as a signed number.
    pub(super) fn signed(&self, from: u32, count: u32) -> i64 {
        let top = self.image.wrapping_shl(from) as i64;
        top.wrapping_shr(64_u32.wrapping_sub(count))
    }

    /// The register number in four bits from bit `from` on.
    pub(super) fn register(&self, from: u32) -> u8 {
        self.bits(from, 4) as u8
    }

    /// Returns the instruction with bits 16 to 47 replaced.
    pub(super) fn with_low_word(&self, word: i32) -> Self {
        let kept = self.image & 0xffff_0000_0000_0000;
        Self {
            image: kept | u64::from(word as u32) << 16,
            ..*self
        }
    }
}

fn bits(image: u64, from: u32, count: u32) -> u64 {
    let top = image.wrapping_shl(from);
    top.wrapping_shr(64_u32.wrapping_sub(count))
}

/// The line of the table for an instruction. All lines with the same first byte have their
/// extension in the same place.
fn find(image: u64) -> Option<&'static Opcode> {
    let first = bits(image, 0, 8);
    let start = OPCODES.partition_point(|opcode| u64::from(opcode.key >> 8) < first);
    let extension = match OPCODES.get(start)?.extension {
        Extension::None => 0,
        Extension::Nibble => bits(image, 12, 4),
        Extension::Second => bits(image, 8, 8),
        Extension::Sixth => bits(image, 40, 8),
    };
    let key = first << 8 | extension;
    let found = OPCODES.binary_search_by_key(&key, |opcode| opcode.key.into());
    OPCODES.get(found.ok()?)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_insn))]
mod tests {
    use super::*;

    // lr %r1,%r2; la %r1,2(%r3); larl %r1,.; br %r14
    const TEXT: [u8; 14] = [
        0x18, 0x12, 0x41, 0x10, 0x30, 0x02, 0xc0, 0x10, 0x00, 0x00, 0x00, 0x00, 0x07, 0xfe,
    ];

    #[test]
    fn first_two_bits_are_the_length() {
        let firsts = [0x00, 0x07, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xff];
        assert_eq!(firsts.map(insn_len), [2, 2, 2, 4, 4, 4, 4, 6, 6]);
        let larl = Insn::decode(&TEXT[6..]).map(|insn| (insn.len(), insn.bytes()));
        assert_eq!(larl, Ok((6, [0xc0, 0x10, 0, 0, 0, 0])));
        let lr = Insn::decode(&TEXT).map(|insn| (insn.len(), insn.bytes()));
        assert_eq!(lr, Ok((2, [0x18, 0x12, 0, 0, 0, 0])));
    }

    #[test]
    fn each_opcode_is_found() {
        assert!(OPCODES.is_sorted_by_key(|row| row.key));
        for row in &OPCODES {
            let [first, extension] = row.key.to_be_bytes();
            let mut bytes = [first, 0xf0, 0xff, 0xff, 0xff, 0xff];
            match row.extension {
                Extension::None => {}
                Extension::Nibble => bytes[1] |= extension,
                Extension::Second => bytes[1] = extension,
                Extension::Sixth => bytes[5] = extension,
            }
            assert_eq!(Insn::decode(&bytes).map(|insn| insn.opcode), Ok(row));
        }
    }

    #[test]
    fn unknown_and_cut_instructions_are_refused() {
        let decode = |bytes: &[u8]| Insn::decode(bytes).err();
        // An unknown first byte, nibble, second byte, sixth byte
        assert_eq!(decode(&[0x02, 0x00]), Some(Refusal::InvalidInsn));
        assert_eq!(decode(&[0xff; 6]), Some(Refusal::InvalidInsn));
        assert_eq!(
            decode(&[0xc0, 0x12, 0, 0, 0, 0]),
            Some(Refusal::InvalidInsn)
        );
        assert_eq!(decode(&[0xb2, 0xfe, 0, 0]), Some(Refusal::InvalidInsn));
        assert_eq!(
            decode(&[0xe3, 0, 0, 0, 0, 0x01]),
            Some(Refusal::InvalidInsn)
        );
        for len in [0, 1, 3, 5] {
            let cut = TEXT.get(6..6 + len).unwrap_or_default();
            assert_eq!(decode(cut), Some(Refusal::TruncatedInsn));
        }
    }
}
