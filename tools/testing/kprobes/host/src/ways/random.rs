// SPDX-License-Identifier: GPL-2.0

//! Random numbers and instructions, the same in each run with the same seed.

use super::*;
use crate::differential::corpus;

/// How often to try what is tried `short` times when nothing is said.
pub(super) fn runs(short: usize) -> usize {
    short * if corpus::is_long() { 30 } else { 1 }
}

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self::with(0x9e37_79b9_7f4a_7c15 ^ corpus::seed())
    }

    pub(crate) fn with(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 32) as usize % limit
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// `head` behind up to two legacy prefixes, with random bytes behind it.
    fn with_head(&mut self, head: &[u8]) -> [u8; MAX_INSN] {
        const PREFIXES: [u8; 10] = [0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0x65, 0x26, 0x36];
        let mut bytes = [0; MAX_INSN];
        let mut at = 0;
        let mut put = |byte: u8| {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
                at += 1;
            }
        };
        for _ in 0..self.below(4).saturating_sub(1) {
            put(self.one_of(&PREFIXES));
        }
        head.iter().copied().for_each(&mut put);
        (0..MAX_INSN).for_each(|_| put(self.next() as u8));
        bytes
    }

    /// CALL or JMP with an operand that ModRM names.
    pub(super) fn indirect(&mut self) -> [u8; MAX_INSN] {
        let modrm = self.next() as u8 & 0b11_000_111 | self.one_of(&[0x10, 0x20]);
        let rex = 0x40 | self.next() as u8 & 0xf;
        if self.next() >> 63 == 0 {
            self.with_head(&[0xff, modrm])
        } else {
            self.with_head(&[rex, 0xff, modrm])
        }
    }

    /// Any instruction, or none: each map about as often.
    pub(super) fn any(&mut self) -> [u8; MAX_INSN] {
        let rex = 0x40 | self.next() as u8 & 0xf;
        let byte = self.next() as u8;
        let escape = self.one_of(&[0x38, 0x3a]);
        let vex = byte & 0xe0 | self.one_of(&[1, 2, 3]);
        let evex = byte & 0xf0 | self.one_of(&[1, 2, 3, 5, 6]);
        let xop = byte & 0xe0 | self.one_of(&[8, 9, 10]);
        match self.below(12) {
            0 | 1 => self.with_head(&[byte]),
            2 | 3 => self.with_head(&[rex, byte]),
            4 | 5 => self.with_head(&[0x0f, byte]),
            6 => self.with_head(&[rex, 0x0f, byte]),
            7 => self.with_head(&[0x0f, escape, byte]),
            8 => self.with_head(&[0xc5]),
            9 => self.with_head(&[0xc4, vex]),
            10 => self.with_head(&[0x62, evex]),
            _ => self.with_head(&[0x8f, xop]),
        }
    }

    /// The same with an operand relative to the next instruction, if it has a ModRM.
    pub(super) fn rip_relative(&mut self) -> [u8; MAX_INSN] {
        let mut bytes = self.any();
        if let Some(at) = decode(&bytes).ok().and_then(|insn| modrm_at(&insn)) {
            bytes[at] = bytes[at] & 0b00_111_000 | 5;
        }
        bytes
    }
}

/// The offset of ModRM, if there is one.
fn modrm_at(insn: &Insn) -> Option<usize> {
    insn.modrm?;
    let fields = [insn.displacement, insn.immediate].into_iter().flatten();
    let behind: usize = fields.map(|field| usize::from(field.size)).sum();
    let opcode = usize::from(matches!(insn.opcode, Opcode::ThreeDNow(_)));
    Some(insn.len() - 1 - usize::from(insn.sib.is_some()) - behind - opcode)
}

/// Instructions of a function.
const COUNT: usize = 12;

/// A function at [`AT`], and where its instructions start.
pub(super) struct RandomCode {
    pub(super) bytes: Vec<u8>,
    pub(super) starts: Vec<usize>,
}

impl RandomCode {
    /// A function of instructions whose length is not in question.
    pub(super) fn of(mut insn: impl FnMut() -> Vec<u8>) -> Self {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        while starts.len() < COUNT {
            let next = insn();
            let Ok(insn) = decode(&next) else { continue };
            if iced(&next, AT).is_some_and(|theirs| theirs.len() == insn.len()) {
                starts.push(bytes.len());
                bytes.extend_from_slice(&next[..insn.len()]);
            }
        }
        Self { bytes, starts }
    }

    pub(super) fn read(&self, from: TextAddr, into: &mut [u8]) -> Option<()> {
        let start = (from.get() - AT) as usize;
        into.copy_from_slice(self.bytes.get(start..start + into.len())?);
        Some(())
    }
}
