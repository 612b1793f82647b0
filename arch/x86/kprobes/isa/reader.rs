// SPDX-License-Identifier: GPL-2.0

//! Reading the bytes of one instruction, in order.
//!
//! A [`Reader`] never gives more than 15 bytes, since no instruction is longer. Where bytes are
//! missing it tells whether more of them could help: they could if the text was cut short, not if
//! the instruction is too long.

use super::insn::{
    Field,
    MAX_INSN, //
};
use crate::prelude::*;

/// The bytes, and how many of them are read.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.get(..MAX_INSN).unwrap_or(bytes),
            at: 0,
        }
    }

    /// The next byte, which stays the next one.
    #[inline]
    pub(super) fn peek(&self) -> Result<u8, Refusal> {
        self.bytes.get(self.at).copied().ok_or_else(|| self.short())
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<u8, Refusal> {
        let byte = self.peek()?;
        self.at = self.at.wrapping_add(1);
        Ok(byte)
    }

    /// The next `size` bytes as a field.
    #[inline]
    pub(super) fn field(&mut self, size: u8) -> Result<Field, Refusal> {
        let offset = self.position();
        let end = self.at.wrapping_add(usize::from(size));
        if end > self.bytes.len() {
            return Err(if end > MAX_INSN {
                Refusal::InvalidInsn
            } else {
                self.short()
            });
        }
        self.at = end;
        Ok(Field { offset, size })
    }

    /// Why there is no further byte.
    #[cold]
    fn short(&self) -> Refusal {
        if self.bytes.len() < MAX_INSN {
            Refusal::TruncatedInsn
        } else {
            Refusal::InvalidInsn
        }
    }

    /// How many bytes are read, at most [`MAX_INSN`].
    pub(super) fn position(&self) -> u8 {
        self.at as u8
    }

    /// What a field that was read says, as a signed number.
    #[inline]
    pub(super) fn value(&self, field: Field) -> i64 {
        let from = usize::from(field.offset);
        let rest = self.bytes.get(from..).unwrap_or_default();
        match field.size {
            1 => rest.first().map_or(0, |&byte| i64::from(byte as i8)),
            2 => rest
                .first_chunk()
                .map_or(0, |&word| i64::from(i16::from_le_bytes(word))),
            // ENTER: a word, then a byte.
            3 => rest.first_chunk().map_or(0, |&[low, high, level]| {
                i64::from(u32::from_le_bytes([low, high, level, 0]))
            }),
            4 => rest
                .first_chunk()
                .map_or(0, |&dword| i64::from(i32::from_le_bytes(dword))),
            8 => rest
                .first_chunk()
                .map_or(0, |&quad| i64::from_le_bytes(quad)),
            _ => 0,
        }
    }
}
