// SPDX-License-Identifier: GPL-2.0

//! A rough look at bytes, to say which instructions a decoder disagrees about.
//!
//! It is no decoder: it takes what looks like prefixes off, and notes the fields that encodings
//! have at fixed places. It works on any bytes.

use super::*;

/// Prefixes, and the fields that stand where the encoding has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    /// Are there 66, F2 or F3, LOCK?
    pub(super) operand_size: bool,
    pub(super) repeat: bool,
    pub(super) lock: bool,
    pub(super) address_size: bool,
    /// The last of the legacy prefixes, and how many different ones there are.
    pub(super) last: u8,
    pub(super) different: u32,
    /// Is there REX, right before what follows?
    pub(super) rex: u8,
    /// Is there REX before other prefixes, or another REX?
    pub(super) dead_rex: bool,
    /// The first byte after the prefixes: 0F, C4 and so on, or an opcode.
    pub(super) first: u8,
    /// The map in VEX, EVEX and XOP, the second and third byte after 0F.
    pub(super) map: u8,
    pub(super) pp: u8,
    pub(super) opcode: u8,
    pub(super) modrm: u8,
}

impl Shape {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut shape = Self::default();
        let mut rest = bytes.iter().copied();
        let mut next = || rest.next().unwrap_or_default();
        let mut seen = [false; 256];
        shape.first = loop {
            let byte = next();
            match byte {
                0x66 => shape.operand_size = true,
                0xf2 | 0xf3 => shape.repeat = true,
                0xf0 => shape.lock = true,
                0x67 => shape.address_size = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => {}
                0x40..=0x4f => {
                    shape.dead_rex |= shape.rex != 0;
                    shape.rex = byte;
                    continue;
                }
                _ => break byte,
            }
            shape.dead_rex |= shape.rex != 0;
            shape.rex = 0;
            shape.last = byte;
            shape.different += u32::from(!seen[usize::from(byte)]);
            seen[usize::from(byte)] = true;
        };
        match shape.first {
            0x0f => {
                shape.opcode = next();
                if [0x38, 0x3a].contains(&shape.opcode) {
                    shape.map = shape.opcode;
                    shape.opcode = next();
                }
            }
            0xc5 => {
                shape.map = 1;
                shape.pp = next() & 3;
                shape.opcode = next();
            }
            0xc4 | 0x8f => {
                shape.map = next() & 0x1f;
                shape.pp = next() & 3;
                shape.opcode = next();
            }
            0x62 => {
                shape.map = next() & 7;
                shape.pp = next() & 3;
                next();
                shape.opcode = next();
            }
            0xd5 => {
                shape.map = next() >> 7;
                shape.opcode = next();
            }
            opcode => shape.opcode = opcode,
        }
        shape.modrm = next();
        shape
    }

    /// Are there prefixes that may not stand before VEX, EVEX and XOP?
    pub(super) fn prefixed(&self) -> bool {
        self.operand_size || self.repeat || self.lock || self.rex != 0
    }

    /// What chooses an entry of a table: encoding, map, mandatory prefix, opcode, reg, and whether
    /// ModRM names memory.
    pub(super) fn entry(&self) -> Self {
        Self {
            lock: false,
            modrm: self.modrm & 0x38 | if self.modrm >= 0xc0 { 0xc0 } else { 0 },
            rex: 0,
            dead_rex: false,
            // The repeat prefixes win where both are there.
            operand_size: self.operand_size && !self.repeat,
            ..self.kind()
        }
    }

    /// The same without what seldom matters, to count alike with alike.
    pub(super) fn kind(&self) -> Self {
        Self {
            address_size: false,
            rex: u8::from(self.rex != 0),
            modrm: 0,
            last: 0,
            different: 0,
            ..*self
        }
    }
}

/// The same with 0F in place of REX2, or nothing, and how much shorter that is.
pub(super) fn without_rex2(text: &Text) -> Option<(Text, usize)> {
    let legacy = [
        0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
    ];
    let at = text.iter().position(|byte| !legacy.contains(byte))?;
    let mut shorter = *text;
    match (text.get(at)?, text.get(at + 1)?) {
        (0xd5, 0x80..) => {
            shorter[at] = 0x0f;
            shorter.copy_within(at + 2.., at + 1);
            Some((shorter, 1))
        }
        (0xd5, _) => {
            shorter.copy_within(at + 2.., at);
            Some((shorter, 2))
        }
        _ => None,
    }
}
