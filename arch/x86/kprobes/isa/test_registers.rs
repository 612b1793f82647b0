// SPDX-License-Identifier: GPL-2.0

//! A [`Regs`] for tests, in place of `pt_regs` and the kernel's stack.
//!
//! Each register has a different value. Memory contains the few words that a test has stored;
//! reading another word faults.

use super::{
    insn::Segment,
    regs::Regs, //
};

/// The most words of memory.
const WORDS: usize = 8;
/// The number of RSP in encodings.
const SP: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fake {
    pub(crate) registers: [u64; 16],
    pub(crate) flags: u64,
    pub(crate) ip: u64,
    /// Addresses and their words.
    memory: [(u64, u64); WORDS],
    used: usize,
    /// Whether paging has five levels.
    pub(crate) five_levels: bool,
}

impl Fake {
    pub(crate) const FS: u64 = 0x7f00_0000_1000;
    pub(crate) const GS: u64 = 0xffff_8880_1000_0000;

    /// Makes registers that have their number in each 16-bit part.
    pub(crate) fn numbered() -> Self {
        let mut registers = [0; 16];
        for (register, number) in registers.iter_mut().zip(0..) {
            *register = 0x0001_0001_0001_0001 * number;
        }
        Self::with(registers)
    }

    /// Makes these registers, with no flag set and no memory.
    pub(crate) fn with(registers: [u64; 16]) -> Self {
        Self {
            registers,
            flags: 2,
            ip: 0,
            memory: [(0, 0); WORDS],
            used: 0,
            five_levels: false,
        }
    }

    /// Stores `value` at `at`, if there is room.
    pub(crate) fn store(&mut self, at: u64, value: u64) {
        let (old, free) = self.memory.split_at_mut(self.used);
        if let Some(word) = old.iter_mut().find(|word| word.0 == at) {
            word.1 = value;
        } else if let Some(word) = free.first_mut() {
            *word = (at, value);
            self.used += 1;
        }
    }

    /// Returns RSP.
    pub(crate) fn sp(&self) -> u64 {
        self.registers[SP]
    }
}

impl Regs for Fake {
    fn register(&self, number: u8) -> u64 {
        self.registers[usize::from(number)]
    }

    fn set_register(&mut self, number: u8, value: u64) {
        self.registers[usize::from(number)] = value;
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn set_flags(&mut self, flags: u64) {
        self.flags = flags;
    }

    fn set_ip(&mut self, ip: u64) {
        self.ip = ip;
    }

    fn load(&self, at: u64) -> Option<u64> {
        let used = self.memory.get(..self.used)?;
        used.iter().find(|word| word.0 == at).map(|word| word.1)
    }

    fn push(&mut self, value: u64) {
        self.registers[SP] = self.registers[SP].wrapping_sub(8);
        self.store(self.registers[SP], value);
    }

    fn pop(&mut self) -> u64 {
        let value = self.load(self.registers[SP]).unwrap_or_default();
        self.registers[SP] = self.registers[SP].wrapping_add(8);
        value
    }

    fn has_five_levels(&self) -> bool {
        self.five_levels
    }

    fn segment_base(&self, segment: Segment) -> u64 {
        match segment {
            Segment::Fs => Self::FS,
            Segment::Gs => Self::GS,
        }
    }
}
