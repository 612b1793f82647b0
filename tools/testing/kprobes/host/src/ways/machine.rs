// SPDX-License-Identifier: GPL-2.0

//! Saved registers of random values, whose memory has a known word everywhere.

use super::*;
use crate::x86::insn::Segment;
use std::cell::Cell;

#[derive(Clone)]
pub(super) struct Machine {
    pub(super) registers: [u64; 16],
    pub(super) flags: u64,
    pub(super) ip: u64,
    pub(super) fs: u64,
    pub(super) gs: u64,
    /// Where memory was read last.
    pub(super) loaded: Cell<Option<u64>>,
    pub(super) pushed: Option<u64>,
}

/// What memory has at `at`.
pub(super) fn word(at: u64) -> u64 {
    at.rotate_left(17) ^ 0x5bd1_e995_9e37_79b9
}

impl Machine {
    pub(super) fn random(random: &mut Random) -> Self {
        Self {
            registers: [(); 16].map(|()| random.next()),
            flags: random.next() & 0xcd7 | 2,
            ip: random.next(),
            fs: random.next(),
            gs: random.next(),
            loaded: Cell::new(None),
            pushed: None,
        }
    }

    pub(super) fn sp(&self) -> u64 {
        self.registers[4]
    }

    /// Where the operand in memory of `insn` is, if it has one.
    pub(super) fn operand(&self, insn: &Instruction) -> Option<u64> {
        let memory = insn.op_kinds().position(|kind| kind == OpKind::Memory)?;
        insn.virtual_address(memory as u32, 0, |register, _, _| match register {
            Register::FS => Some(self.fs),
            Register::GS => Some(self.gs),
            Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
            _ => {
                let whole = self.registers[register.full_register().number()];
                let (is_narrow, low) = (register.size() == 4, u64::from(whole as u32));
                Some(if is_narrow { low } else { whole })
            }
        })
    }
}

impl Regs for Machine {
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
        self.loaded.set(Some(at));
        Some(word(at))
    }

    fn push(&mut self, value: u64) {
        self.registers[4] = self.registers[4].wrapping_sub(8);
        self.pushed = Some(value);
    }

    fn pop(&mut self) -> u64 {
        let at = self.registers[4];
        self.registers[4] = at.wrapping_add(8);
        word(at)
    }

    fn has_five_levels(&self) -> bool {
        false
    }

    fn segment_base(&self, segment: Segment) -> u64 {
        match segment {
            Segment::Fs => self.fs,
            Segment::Gs => self.gs,
        }
    }
}
