// SPDX-License-Identifier: GPL-2.0

//! The operands that follow an opcode, and the search of the generated tables for them.
//!
//! An entry of a table has 16 bits. For most opcodes the entry is final and describes the operands:
//!
//! ```text
//!  15  14                  8   7   4    3     2     1     0
//! +-------+------------------+-------+-----+-----+-----+-----+
//! |  0 0  |        0         | imm.  | no  |fixed|ModRM|valid|
//! |       |                  | kind  |REX2 |     |     |     |
//! +-------+------------------+-------+-----+-----+-----+-----+
//! ```
//!
//! If the mandatory prefix or ModRM selects the instruction, the entry names a row of another
//! table, and the prefix or ModRM selects an entry of that row:
//!
//! ```text
//! +-------+--------------------------------------------------+
//! |  0 1  |  row of BY_PREFIX: none, 66, F3, F2              |
//! |  1 0  |  row of BY_REG: reg, for memory then registers   |
//! |  1 1  |  row of BY_RM: rm                                |
//! +-------+--------------------------------------------------+
//! ```
//!
//! The rows are used in this order, so a search has at most three further steps. `gen-opcodes.awk`
//! writes the tables from the kernel's `x86-opcode-map.txt`.

use super::{
    insn::{
        ModRm,
        Pp, //
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

/// The table of an opcode map.
pub(super) type Table = [u16; 256];

const VALID: u16 = 1 << 0;
const MODRM: u16 = 1 << 1;
const FIXED: u16 = 1 << 2;
const NO_REX2: u16 = 1 << 3;
const IMMEDIATE_SHIFT: u32 = 4;
const IMMEDIATE_MASK: u16 = 0xf;
/// The kinds of immediates. None is zero.
const BYTE: u16 = 1;
const WORD: u16 = 2;
const DWORD: u16 = 3;
/// As large as an operand, at most 4 bytes.
const OPERAND: u16 = 4;
/// As large as an operand.
const WIDE_OPERAND: u16 = 5;
/// The two immediates of ENTER.
const WORD_AND_BYTE: u16 = 6;
/// The two immediates of EXTRQ and INSERTQ.
const TWO_BYTES: u16 = 7;
/// An absolute address.
const ADDRESS: u16 = 8;
const KIND_SHIFT: u32 = 14;
const ROW_MASK: u16 = 0x3fff;

/// The most further rows of one search: by prefix, reg and rm.
const STEPS: usize = 3;

/// A final entry of a table: the operands that follow an opcode that exists.
#[derive(Clone, Copy)]
pub(super) struct Form(u16);

impl Form {
    /// Searches for the form of an opcode. `modrm` reads the byte after the opcode.
    #[inline]
    pub(super) fn find(
        table: &Table,
        opcode: u8,
        pp: Pp,
        modrm: impl Fn() -> Result<ModRm, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut entry = pick(Some(table), opcode);
        for _ in 0..=STEPS {
            let row = usize::from(entry & ROW_MASK);
            entry = match entry >> KIND_SHIFT {
                0 if entry & VALID != 0 => return Ok(Self(entry)),
                0 => break,
                1 => pick(BY_PREFIX.get(row), pp as u8),
                2 => {
                    let modrm = modrm()?;
                    pick(
                        BY_REG.get(row),
                        modrm.reg() | u8::from(modrm.is_register()) << 3,
                    )
                }
                _ => pick(BY_RM.get(row), modrm()?.rm()),
            };
        }
        Err(Refusal::InvalidInsn)
    }

    /// Returns whether ModRM follows the opcode.
    pub(super) fn has_modrm(self) -> bool {
        self.0 & MODRM != 0
    }

    /// Returns whether rm is a register for all values of mod.
    pub(super) fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }

    /// Returns whether REX2 is allowed before the opcode.
    pub(super) fn takes_rex2(self) -> bool {
        self.0 & NO_REX2 == 0
    }

    /// Returns whether an absolute address follows, which counts as displacement.
    pub(super) fn has_address(self) -> bool {
        self.immediate() == ADDRESS
    }

    /// Returns the size in bytes of the immediate or of the address, with operands of 16 bits,
    /// operands of 64 bits, or addresses of 32 bits.
    pub(super) fn immediate_size(self, sixteen: bool, wide: bool, short_address: bool) -> u8 {
        match self.immediate() {
            BYTE => 1,
            WORD | TWO_BYTES => 2,
            WORD_AND_BYTE => 3,
            WIDE_OPERAND if wide => 8,
            // If an instruction has the prefix for 16 bits and the W bit, W has precedence.
            OPERAND | WIDE_OPERAND if sixteen && !wide => 2,
            ADDRESS if !short_address => 8,
            DWORD | OPERAND | WIDE_OPERAND | ADDRESS => 4,
            _ => 0,
        }
    }

    fn immediate(self) -> u16 {
        self.0 >> IMMEDIATE_SHIFT & IMMEDIATE_MASK
    }
}

/// Returns entry number `column` of a row. Returns zero, which is no valid entry, without a row.
fn pick<const N: usize>(row: Option<&[u16; N]>, column: u8) -> u16 {
    let entry = row.and_then(|row| row.get(usize::from(column)));
    entry.copied().unwrap_or_default()
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
        let size = |kind: u16, sixteen, wide, short_address| {
            Form(kind << IMMEDIATE_SHIFT).immediate_size(sixteen, wide, short_address)
        };
        assert_eq!(size(OPERAND, true, false, false), 2);
        assert_eq!(size(OPERAND, true, true, false), 4);
        assert_eq!(size(WIDE_OPERAND, true, true, false), 8);
        assert_eq!(size(WIDE_OPERAND, true, false, false), 2);
        assert_eq!(size(ADDRESS, true, true, true), 4);
    }
}
