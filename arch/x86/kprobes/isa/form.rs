// SPDX-License-Identifier: GPL-2.0

//! What follows an opcode, and the search for it in the generated tables.
//!
//! An entry of a table is 16 bits. Most opcodes tell alone what follows them:
//!
//! ```text
//!  15  14                  8   7   4    3     2     1     0
//! +-------+------------------+-------+-----+-----+-----+-----+
//! |  0 0  |        0         | imm.  | no  |fixed|ModRM|valid|
//! |       |                  | kind  |REX2 |     |     |     |
//! +-------+------------------+-------+-----+-----+-----+-----+
//! ```
//!
//! Where the mandatory prefix or ModRM has a say, the entry leads to a row of a further table, in
//! which they choose another entry, at most three times:
//!
//! ```text
//! +-------+--------------------------------------------------+
//! |  0 1  |  row of BY_PREFIX: none, 66, F3, F2              |
//! |  1 0  |  row of BY_REG: reg, for memory then registers   |
//! |  1 1  |  row of BY_RM: rm                                |
//! +-------+--------------------------------------------------+
//! ```
//!
//! So one table lookup is enough for most instructions, while groups, and the many opcodes of
//! which only some forms exist, cost a lookup each. `gen-opcodes.awk` writes the tables from
//! the kernel's `x86-opcode-map.txt`, and rows in this order.

use super::{
    insn::{
        ModRm,
        Selector, //
    },
    opcodes::{
        BY_PREFIX,
        BY_REG,
        BY_RM, //
    },
};
use crate::prelude::*;

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
use super::opcodes;

const VALID: u16 = 1 << 0;
const MODRM: u16 = 1 << 1;
const FIXED: u16 = 1 << 2;
const NO_REX2: u16 = 1 << 3;
const IMMEDIATE_SHIFT: u32 = 4;
const IMMEDIATE_MASK: u16 = 0xf;
const KIND_SHIFT: u32 = 14;
const ROW_MASK: u16 = 0x3fff;

/// How often an entry may lead on: by prefix, reg and rm.
const STEPS: usize = 3;

/// An entry of a table.
#[derive(Clone, Copy)]
pub(super) struct Entry(u16);

impl Entry {
    const INVALID: Self = Self(0);

    /// Of an opcode in `table`.
    pub(super) fn of(table: &[u16; 256], opcode: u8) -> Self {
        pick(table, usize::from(opcode))
    }

    /// The form that this entry comes to; `modrm` gives the byte after the opcode.
    #[inline]
    pub(super) fn form(
        self,
        selector: Selector,
        modrm: impl Fn() -> Result<ModRm, Refusal>,
    ) -> Result<Form, Refusal> {
        let mut entry = self;
        for _ in 0..=STEPS {
            let row = usize::from(entry.0 & ROW_MASK);
            entry = match entry.0 >> KIND_SHIFT {
                0 => return Form::of(entry),
                1 => lead(&BY_PREFIX, row, selector as usize),
                2 => lead(&BY_REG, row, modrm()?.group()),
                _ => lead(&BY_RM, row, usize::from(modrm()?.rm())),
            };
        }
        Err(Refusal::InvalidInsn)
    }
}

fn lead<const N: usize>(table: &[[u16; N]], row: usize, column: usize) -> Entry {
    table
        .get(row)
        .map_or(Entry::INVALID, |row| pick(row, column))
}

fn pick(row: &[u16], column: usize) -> Entry {
    row.get(column)
        .map_or(Entry::INVALID, |&entry| Entry(entry))
}

/// What follows an opcode that exists.
#[derive(Clone, Copy)]
pub(super) struct Form(u16);

impl Form {
    fn of(entry: Entry) -> Result<Self, Refusal> {
        if entry.0 & VALID == 0 {
            return Err(Refusal::InvalidInsn);
        }
        Ok(Self(entry.0))
    }

    /// Is there a ModRM byte?
    pub(super) fn has_modrm(self) -> bool {
        self.0 & MODRM != 0
    }

    /// Does ModRM name registers whatever its mod field says?
    pub(super) fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }

    /// May REX2 stand before the opcode?
    pub(super) fn takes_rex2(self) -> bool {
        self.0 & NO_REX2 == 0
    }

    /// Which immediate comes last?
    pub(super) fn immediate(self) -> Immediate {
        match (self.0 >> IMMEDIATE_SHIFT) & IMMEDIATE_MASK {
            1 => Immediate::Byte,
            2 => Immediate::Word,
            3 => Immediate::Dword,
            4 => Immediate::Operand,
            5 => Immediate::WideOperand,
            6 => Immediate::WordAndByte,
            7 => Immediate::TwoBytes,
            8 => Immediate::Address,
            _ => Immediate::None,
        }
    }
}

/// The immediate of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Immediate {
    None,
    Byte,
    Word,
    Dword,
    /// As large as an operand, at most 4 bytes.
    Operand,
    /// As large as an operand.
    WideOperand,
    /// ENTER: two immediates.
    WordAndByte,
    /// EXTRQ, INSERTQ: two immediates.
    TwoBytes,
    /// An address in memory, as large as addresses are.
    Address,
}

impl Immediate {
    /// How many bytes it has, with operands of 16 bits, of 64 bits, or addresses of 32 bits.
    pub(super) fn size(self, sixteen: bool, wide: bool, short_address: bool) -> u8 {
        match self {
            Self::None => 0,
            Self::Byte => 1,
            Self::Word | Self::TwoBytes => 2,
            Self::WordAndByte => 3,
            Self::Dword => 4,
            Self::WideOperand if wide => 8,
            // Where both sizes are asked for, 64 bits win.
            Self::Operand | Self::WideOperand if sixteen && !wide => 2,
            Self::Operand | Self::WideOperand => 4,
            Self::Address if short_address => 4,
            Self::Address => 8,
        }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_form))]
mod tests {
    use super::*;

    fn leads_somewhere(entry: &u16) -> bool {
        let row = usize::from(entry & ROW_MASK);
        match entry >> KIND_SHIFT {
            0 => true,
            1 => BY_PREFIX.get(row).is_some(),
            2 => BY_REG.get(row).is_some(),
            _ => BY_RM.get(row).is_some(),
        }
    }

    #[test]
    fn rows_lead_to_rows_that_exist() {
        let maps = [&opcodes::PRIMARY, &opcodes::TWO_BYTE, &opcodes::EVEX_2];
        assert!(maps.iter().copied().flatten().all(leads_somewhere));
        assert!(BY_PREFIX.iter().flatten().all(leads_somewhere));
        assert!(BY_REG.iter().flatten().all(leads_somewhere));
        assert!(BY_RM.iter().flatten().all(leads_somewhere));
    }

    #[test]
    fn rows_lead_to_later_tables_only() {
        let kind = |entry: &u16| entry >> KIND_SHIFT;
        assert!(BY_PREFIX.iter().flatten().all(|entry| kind(entry) != 1));
        assert!(BY_REG
            .iter()
            .flatten()
            .all(|entry| [0, 3].contains(&kind(entry))));
        assert!(BY_RM.iter().flatten().all(|entry| kind(entry) == 0));
    }

    #[test]
    fn operand_size_64_wins_over_16() {
        assert_eq!(Immediate::Operand.size(true, false, false), 2);
        assert_eq!(Immediate::Operand.size(true, true, false), 4);
        assert_eq!(Immediate::WideOperand.size(true, true, false), 8);
        assert_eq!(Immediate::WideOperand.size(true, false, false), 2);
        assert_eq!(Immediate::Address.size(true, true, true), 4);
    }
}
