// SPDX-License-Identifier: GPL-2.0

//! Legacy prefixes and REX.
//!
//! They come in any order and may be repeated. REX counts only right before what follows the
//! prefixes; anywhere else it is there without effect.

use super::{
    insn::{
        Prefix,
        Selector, //
    },
    reader::Reader, //
};
use crate::prelude::*;

/// The prefixes of one instruction.
pub(super) struct Prefixes {
    /// The set of [`Prefix`]es.
    pub(super) seen: u16,
    /// The last of F2 and F3.
    repeat: Selector,
    /// REX, zero without.
    ///
    /// ```text
    ///   7   6   5   4   3   2   1   0
    /// +---------------+---+---+---+---+
    /// | 0   1   0   0 | W | R | X | B |
    /// +---------------+---+---+---+---+
    /// ```
    /// It counts only right before the opcode.
    pub(super) rex: u8,
    /// Bytes before what counts: REX or the first byte that is no prefix.
    pub(super) len: u8,
}

impl Prefixes {
    /// The prefixes, and the byte after them.
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Self, u8), Refusal> {
        let mut prefixes = Self {
            seen: 0,
            repeat: Selector::None,
            rex: 0,
            len: 0,
        };
        loop {
            let at = reader.position();
            let byte = reader.next()?;
            let prefix = match byte {
                0x26 => Prefix::Es,
                0x2e => Prefix::Cs,
                0x36 => Prefix::Ss,
                0x3e => Prefix::Ds,
                0x64 => Prefix::Fs,
                0x65 => Prefix::Gs,
                0x66 => Prefix::OperandSize,
                0x67 => Prefix::AddressSize,
                0xf0 => Prefix::Lock,
                0xf2 => {
                    prefixes.repeat = Selector::RepeatNotEqual;
                    Prefix::RepeatNotEqual
                }
                0xf3 => {
                    prefixes.repeat = Selector::Repeat;
                    Prefix::Repeat
                }
                0x40..=0x4f => {
                    prefixes.rex = byte;
                    prefixes.len = at;
                    continue;
                }
                _ => {
                    if prefixes.rex == 0 {
                        prefixes.len = at;
                    }
                    return Ok((prefixes, byte));
                }
            };
            prefixes.seen |= prefix as u16;
            prefixes.rex = 0;
        }
    }

    fn has(&self, prefix: Prefix) -> bool {
        self.seen & prefix as u16 != 0
    }

    /// The mandatory prefix.
    pub(super) fn selector(&self) -> Selector {
        match self.repeat {
            Selector::None if self.has(Prefix::OperandSize) => Selector::OperandSize,
            repeat => repeat,
        }
    }

    /// VEX, EVEX and XOP have fields for what these prefixes say, and allow none of them.
    pub(super) fn none_replaced(&self) -> Result<(), Refusal> {
        const REPLACED: u16 = Prefix::OperandSize as u16
            | Prefix::Lock as u16
            | Prefix::RepeatNotEqual as u16
            | Prefix::Repeat as u16;
        if self.rex != 0 || self.seen & REPLACED != 0 {
            return Err(Refusal::InvalidInsn);
        }
        Ok(())
    }
}
