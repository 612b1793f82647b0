// SPDX-License-Identifier: GPL-2.0

//! Classes of encodings, written as the Arm Architecture Reference Manual draws them.
//!
//! A pattern has a character for each bit, the highest first; `_` only groups them. For Thumb,
//! the first halfword is the high one.
//!
//! ```text
//! 0 1     bits that all encodings of the class have
//! n m u   a register that is read, and may be PC
//! d t     a register that is written, and may be PC
//! g       a register that is read and written, and may be PC
//! A-Z     a register that must not be PC
//! others  other fields
//! ```
//!
//! A register is PC if all bits of its field are ones. A field of one bit is PC's bit in a list of
//! registers.

use crate::prelude::*;

/// The classes of instructions, by how kprobes treats them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They cannot be probed.
    Refuse(Refusal),
    /// LDREX and so on.
    LoadExclusive,
    /// STREX and so on.
    StoreExclusive,
    /// CLREX.
    ClearExclusive,
    /// A copy does the same.
    Copy,
    /// A load or store of a coprocessor: a copy does the same, unless it is relative to PC.
    CoprocessorTransfer,
    /// WFE, which interrupts end if they are not masked.
    Wait,
    /// Data processing.
    Compute,
    /// A32: a load or store of a word or byte. T32: a load of a word.
    Transfer,
    /// A32: a load or store of a halfword, two words, or a signed byte.
    ExtraTransfer,
    /// A load relative to PC.
    Literal,
    /// Loads or stores of several registers.
    Multiple,
    /// ADR.
    Address,
    /// B, BL, BLX to an address relative to PC.
    Branch,
    /// BX, BLX to an address in a register.
    BranchTo,
    /// CBZ, CBNZ.
    BranchIfZero,
    /// TBB, TBH.
    BranchByTable,
    /// IT.
    IfThen,
    /// MRS, MSR and CPS, which read or change the mask of interrupts.
    ReadPsr,
    WritePsr,
    ChangePsr,
}

/// A class of encodings.
#[derive(Debug)]
pub(super) struct Row {
    mask: u32,
    value: u32,
    /// The registers: a letter, and the bits of the field.
    fields: [(u8, u32); FIELDS],
    pub(super) kind: Kind,
}

const FIELDS: usize = 5;

/// Which registers of an instruction are PC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PcUse {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// One that must not be PC.
    pub(super) is_wrong: bool,
}

/// Makes a class of a pattern. The compiler evaluates it: an index out of bounds is an error then.
pub(super) const fn row(pattern: &str, kind: Kind) -> Row {
    let mut row = Row {
        mask: 0,
        value: 0,
        fields: [(0, 0); FIELDS],
        kind,
    };
    let pattern = pattern.as_bytes();
    let mut position = 0;
    while position < pattern.len() {
        let letter = pattern[position];
        position += 1;
        if letter == b'_' {
            continue;
        }
        row.mask = row.mask << 1 | matches!(letter, b'0' | b'1') as u32;
        row.value = row.value << 1 | (letter == b'1') as u32;
        let mut is_placed = !matches!(
            letter,
            b'n' | b'm' | b'u' | b'd' | b't' | b'g' | b'A'..=b'Z'
        );
        let mut field = 0;
        while field < FIELDS {
            row.fields[field].1 <<= 1;
            if !is_placed && (row.fields[field].0 == letter || row.fields[field].0 == 0) {
                row.fields[field].0 = letter;
                row.fields[field].1 |= 1;
                is_placed = true;
            }
            field += 1;
        }
    }
    row
}

/// Makes a table of patterns.
macro_rules! rows {
    ($name:ident: $($pattern:literal => $kind:expr,)*) => {
        pub(super) static $name: &[Row] = &[$(row($pattern, $kind)),*];
    };
}
pub(super) use rows;

impl Row {
    /// Returns whether the instruction is in this class.
    pub(super) fn has(&self, word: u32) -> bool {
        word & self.mask == self.value
    }

    /// Returns which registers of an instruction of this class are PC.
    pub(super) fn pc_use(&self, word: u32) -> PcUse {
        let mut pc = PcUse::default();
        for (letter, bits) in self.fields {
            if bits != 0 && word & bits == bits {
                pc.reads |= matches!(letter, b'n' | b'm' | b'u' | b'g');
                pc.writes |= matches!(letter, b'd' | b't' | b'g');
                pc.is_wrong |= letter.is_ascii_uppercase();
            }
        }
        pc
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_pattern))]
mod tests {
    use super::*;

    #[test]
    fn pattern_has_bits_and_registers() {
        let row = row("0100_01x0_dMMM_1ddd", Kind::Compute);
        assert_eq!((row.mask, row.value), (0xfd08, 0x4408));
        assert!(row.has(0x4608) && !row.has(0x4600) && !row.has(0x4508));
        let used = |word| {
            let PcUse {
                reads,
                writes,
                is_wrong,
            } = row.pc_use(word);
            (reads, writes, is_wrong)
        };
        assert_eq!(used(0x4408), (false, false, false));
        assert_eq!(used(0x448f), (false, true, false));
        assert_eq!(used(0x440f), (false, false, false));
        assert_eq!(used(0x4478), (false, false, true));
    }

    #[test]
    fn letters_of_a_pattern_give_the_use_of_pc() {
        let row = row("nmudtgXx", Kind::Copy);
        let used = |word| {
            let pc = row.pc_use(word);
            (pc.reads, pc.writes, pc.is_wrong)
        };
        // There is no room for the sixth field and the seventh.
        for (bit, expected) in [
            (0x80, (true, false, false)),
            (0x40, (true, false, false)),
            (0x20, (true, false, false)),
            (0x10, (false, true, false)),
            (0x08, (false, true, false)),
            (0x04, (false, false, false)),
            (0x01, (false, false, false)),
        ] {
            assert_eq!(used(bit), expected);
        }
        let row = super::row("gN", Kind::Copy);
        let pc = row.pc_use(3);
        assert!(pc.reads && pc.writes && pc.is_wrong);
    }
}
