// SPDX-License-Identifier: GPL-2.0

//! What stands between the prefixes and the opcode and chooses the map of opcodes.
//!
//! ```text
//!              +----+
//!              | op |                                   one-byte map
//!         +----+----+
//!         | 0F | op |                                   two-byte map
//!    +----+----+----+
//!    | 0F | 38 | op |                                   three-byte maps, 38 or 3A
//!    +----+----+----+-------+- - - -+----+
//!    | 0F | 0F | ModRM      | disp. | op |              3DNow!
//!    +----+----+------------+- - - -+----+
//! ```
//!
//! or an encoding with a map field of its own, see [`vex2`], [`vex3`], [`evex`], [`xop`] and
//! [`rex2`]. It assumes that the opcode's byte is looked up in no other map than the one that is
//! noted with it, which [`Opcode`] sees to.

use super::{
    form::Entry,
    insn::{
        Opcode,
        Selector, //
    },
    opcodes,
    prefixes::Prefixes,
    reader::Reader, //
};
use crate::prelude::*;

/// A table of opcodes.
type Table = [u16; 256];

/// The table of a map, which an encoding's field names.
fn table(tables: &[Option<&'static Table>], map: u8) -> Result<&'static Table, Refusal> {
    let table = tables.get(usize::from(map)).copied().flatten();
    table.ok_or(Refusal::InvalidInsn)
}

/// All up to the opcode.
pub(super) struct Head {
    pub(super) opcode: Opcode,
    pub(super) entry: Entry,
    pub(super) selector: Selector,
    pub(super) wide: bool,
    pub(super) rm_extension: u8,
}

impl Head {
    #[inline]
    pub(super) fn read(
        reader: &mut Reader<'_>,
        prefixes: &Prefixes,
        first: u8,
    ) -> Result<Self, Refusal> {
        match first {
            0x0f => Self::escaped(reader, prefixes),
            0x62 => evex(reader, prefixes),
            0xc4 => vex3(reader, prefixes),
            0xc5 => vex2(reader, prefixes),
            0xd5 => rex2(reader, prefixes),
            0x8f if reader.peek()? & XOP_MAP >= XOP_FIRST_MAP => xop(reader, prefixes),
            _ => Ok(Self::legacy(
                prefixes,
                Opcode::Primary(first),
                Entry::of(&opcodes::PRIMARY, first),
            )),
        }
    }

    fn escaped(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Self, Refusal> {
        let second = reader.next()?;
        let (opcode, entry) = match second {
            0x38 => {
                let third = reader.next()?;
                let entry = Entry::of(&opcodes::THREE_BYTE_38, third);
                (Opcode::ThreeByte38(third), entry)
            }
            0x3a => {
                let third = reader.next()?;
                let entry = Entry::of(&opcodes::THREE_BYTE_3A, third);
                (Opcode::ThreeByte3A(third), entry)
            }
            _ => {
                let entry = Entry::of(&opcodes::TWO_BYTE, second);
                (Opcode::TwoByte(second), entry)
            }
        };
        Ok(Self::legacy(prefixes, opcode, entry))
    }

    fn legacy(prefixes: &Prefixes, opcode: Opcode, entry: Entry) -> Self {
        Self {
            opcode,
            entry,
            selector: prefixes.selector(),
            wide: prefixes.rex & 0b1000 != 0,
            rm_extension: (prefixes.rex & 0b0001) << 3,
        }
    }

    /// An opcode in a map of an encoding that has a field for all that prefixes say.
    fn vector(opcode: Opcode, table: &Table, byte: u8, fields: u8) -> Self {
        Self {
            opcode,
            entry: Entry::of(table, byte),
            selector: match fields & 0b11 {
                0 => Selector::None,
                1 => Selector::OperandSize,
                2 => Selector::Repeat,
                _ => Selector::RepeatNotEqual,
            },
            wide: fields & 0x80 != 0,
            rm_extension: 0,
        }
    }
}

/// ```text
/// +----+---+-------+---+----+----+
/// | C5 | R |  vvvv | L | pp | op |
/// +----+---+-------+---+----+----+
/// ```
/// The map is 1, W is 0.
fn vex2(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Head, Refusal> {
    prefixes.none_replaced()?;
    let fields = reader.next()? & 0x7f;
    let opcode = reader.next()?;
    let table = &opcodes::VEX_1;
    Ok(Head::vector(Opcode::Vex(1, opcode), table, opcode, fields))
}

/// ```text
/// +----+---+---+---+-------+---+------+---+----+----+
/// | C4 | R | X | B |  map  | W | vvvv | L | pp | op |
/// +----+---+---+---+-------+---+------+---+----+----+
/// ```
fn vex3(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Head, Refusal> {
    prefixes.none_replaced()?;
    let map = reader.next()? & 0x1f;
    let table = table(&opcodes::VEX, map)?;
    let fields = reader.next()?;
    let opcode = reader.next()?;
    Ok(Head::vector(
        Opcode::Vex(map, opcode),
        table,
        opcode,
        fields,
    ))
}

/// ```text
/// +----+---+---+---+----+----+-----+---+------+---+----+-----------+----+
/// | 62 | R | X | B | R4 | B4 | map | W | vvvv | U | pp | z L b V a | op |
/// +----+---+---+---+----+----+-----+---+------+---+----+-----------+----+
/// ```
/// The displacement of one byte is scaled, which does not change its length.
fn evex(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Head, Refusal> {
    prefixes.none_replaced()?;
    let map = reader.next()? & 0x07;
    let table = table(&opcodes::EVEX, map)?;
    let fields = reader.next()?;
    reader.next()?;
    let opcode = reader.next()?;
    Ok(Head::vector(
        Opcode::Evex(map, opcode),
        table,
        opcode,
        fields,
    ))
}

/// ```text
/// +----+---+---+---+-------+---+------+---+----+----+
/// | 8F | R | X | B |  map  | W | vvvv | L | pp | op |
/// +----+---+---+---+-------+---+------+---+----+----+
/// ```
/// 8F is POP as well, with a ModRM byte whose reg field is 0: what would be a map below 8.
fn xop(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Head, Refusal> {
    prefixes.none_replaced()?;
    let map = reader.next()? & XOP_MAP;
    let table = table(&opcodes::XOP, map)?;
    let fields = reader.next()?;
    let opcode = reader.next()?;
    // The field for a mandatory prefix has to be zero.
    if fields & 0b11 != 0 {
        return Err(Refusal::InvalidInsn);
    }
    Ok(Head::vector(
        Opcode::Xop(map, opcode),
        table,
        opcode,
        fields,
    ))
}

const XOP_MAP: u8 = 0x1f;
const XOP_FIRST_MAP: u8 = 8;

/// ```text
/// +----+---+----+----+----+---+---+---+---+----+
/// | D5 | M | R4 | X4 | B4 | W | R | X | B | op |
/// +----+---+----+----+----+---+---+---+---+----+
/// ```
/// M chooses between the one-byte and the two-byte map; escapes and prefixes are no opcodes here.
fn rex2(reader: &mut Reader<'_>, prefixes: &Prefixes) -> Result<Head, Refusal> {
    if prefixes.rex != 0 {
        return Err(Refusal::InvalidInsn);
    }
    let payload = reader.next()?;
    let byte = reader.next()?;
    let (opcode, entry) = if payload & 0x80 != 0 {
        let entry = Entry::of(&opcodes::TWO_BYTE, byte);
        (Opcode::Rex2TwoByte(byte), entry)
    } else {
        let entry = Entry::of(&opcodes::PRIMARY, byte);
        (Opcode::Rex2Primary(byte), entry)
    };
    Ok(Head {
        opcode,
        entry,
        selector: prefixes.selector(),
        wide: payload & 0b1000 != 0,
        rm_extension: (payload & 0b0001) << 3 | payload & 0b0001_0000,
    })
}
