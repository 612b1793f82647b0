// SPDX-License-Identifier: GPL-2.0

//! Emulates instructions that use PC, or that depend on the mask of interrupts.
//!
//! Their copies would do something else at their other addresses, or in a step. Most instructions
//! of Thumb are emulated as the instructions of A32 that do the same: see [`Emulation::of`].
//!
//! Emulation runs in the trap of a hit: it calls only methods of [`Regs`], does not allocate and
//! cannot panic. The condition has been checked, before the handlers.
//!
//! C counterpart: [`arch/arm/probes/kprobes/actions-arm.c`](
//! srctree/arch/arm/probes/kprobes/actions-arm.c), `actions-thumb.c`, `actions-common.c`.

use super::{
    pattern::Kind,
    psr,
    State, //
};
use crate::prelude::*;

const PC: u8 = 15;

/// The state that a trap saved, and the memory that the interrupted code sees.
pub(crate) trait Regs {
    /// Returns a register, 0 to 14.
    fn register(&self, number: u8) -> u32;
    /// Changes a register, 0 to 14.
    fn set_register(&mut self, number: u8, value: u32);
    /// Returns CPSR.
    fn psr(&self) -> u32;
    /// Changes CPSR.
    fn set_psr(&mut self, psr: u32);
    /// Reads one, two or four bytes of kernel memory. Returns `None` if a read would fault.
    fn load(&self, at: u32, size: u8) -> Option<u32>;
    /// Writes four bytes of kernel memory. Returns `None` if a write would fault. The memory may
    /// be up to 64 bytes below the stack pointer.
    fn store(&mut self, at: u32, value: u32) -> Option<()>;
}

/// An instruction to emulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Emulation {
    kind: Kind,
    /// The instruction, or one of A32 or T32 that does the same.
    word: u32,
    len: u8,
    state: State,
}

/// The CPU while it executes an instruction.
struct Cpu<'a, F> {
    insn: Emulation,
    regs: &'a mut F,
    at: u32,
    /// The address at which the CPU continues.
    next: u32,
}

impl Emulation {
    /// Makes the emulation of an instruction. Instructions of Thumb become others where these have
    /// all their fields.
    pub(super) fn of(kind: Kind, word: u32, len: u8, state: State) -> Self {
        // The registers of an instruction of 16 bits. The first one has its highest bit in bit 7.
        let (to, register) = (word >> 4 & 8 | word & 7, word >> 3 & 15);
        let word = match kind {
            _ if state == State::A32 => word,
            // MOV, ADD
            Kind::Compute if word & 0x200 != 0 => 0xe1a0_0000 | to << 12 | register,
            Kind::Compute => 0xe080_0000 | to << 16 | to << 12 | register,
            Kind::BranchTo => 0xe12f_ff10 | word >> 2 & 0x20 | register,
            // LDR.W, ADR.W, POP
            Kind::Literal if len == 2 => 0xf8df_0000 | (word & 0x700) << 4 | (word & 0xff) << 2,
            Kind::Address if len == 2 => {
                0xf20f_0000 | word & 0x700 | (word & 0xc0) << 6 | (word & 0x3f) << 2
            }
            Kind::Multiple if len == 2 => 0xe8bd_0000 | word & 0xff | (word & 0x100) << 7,
            Kind::ChangePsr if len == 2 => 0xf108_0000 | (word & 0x10) << 14 | (word & 7) << 6,
            Kind::ChangePsr => 0xf108_0000 | (word & 0x200) << 9 | (word & 0xe0) << 1,
            Kind::ReadPsr => 0xe10f_0000 | (word & 0xf00) << 4,
            Kind::WritePsr => 0xe120_f000 | (word & 0xf00) << 8 | word >> 16 & 15,
            // LDR: offset of 12 bits; of 8 bits with P, U and W; register
            Kind::Transfer if word & 0x80_0000 != 0 => 0xe590_0000 | word & 0xf_ffff,
            Kind::Transfer if word & 0x800 != 0 => {
                0xe410_0000 | (word & 0x600) << 14 | (word & 0x100) << 13 | word & 0xf_f0ff
            }
            Kind::Transfer => 0xe790_0000 | (word & 0x30) << 3 | word & 0xf_f00f,
            _ => word,
        };
        Self {
            kind,
            word,
            len,
            state,
        }
    }

    /// `count` bits from bit `low` on.
    #[inline]
    fn bits(&self, low: u32, count: u32) -> u32 {
        self.word.wrapping_shr(low) & !u32::MAX.wrapping_shl(count)
    }

    #[inline]
    fn bit(&self, number: u32) -> bool {
        self.bits(number, 1) == 1
    }

    /// The register in four bits from bit `low` on.
    #[inline]
    fn register(&self, low: u32) -> u8 {
        self.bits(low, 4) as u8
    }

    /// The lowest `count` bits of a number, as a signed number.
    #[inline]
    fn signed(number: u32, count: u32) -> u32 {
        let unused = 32_u32.wrapping_sub(count);
        (number.wrapping_shl(unused) as i32).wrapping_shr(unused) as u32
    }

    /// Where a branch at `at` leads.
    #[inline]
    fn target(&self, at: u32) -> u32 {
        let high = self.bits(26, 1);
        let distance = match (self.state, self.kind) {
            (_, Kind::BranchIfZero) => self.bits(9, 1) << 6 | self.bits(3, 5) << 1,
            (State::A32, _) if self.word >> 28 != 15 => Self::signed(self.word << 2, 26),
            // BLX has a bit more of the distance where BL has the bit that links.
            (State::A32, _) => Self::signed(self.word << 2, 26) | self.bits(24, 1) << 1,
            _ if self.len == 2 && self.word < 0xe000 => Self::signed(self.word << 1, 9),
            _ if self.len == 2 => Self::signed(self.word << 1, 12),
            // With a condition
            _ if self.word & 0x5000 == 0 => {
                let middle = self.bits(11, 1) << 7 | self.bits(13, 1) << 6 | self.bits(16, 6);
                Self::signed(high << 20 | middle << 12 | self.bits(0, 11) << 1, 21)
            }
            // The two bits below the sign are stored as whether they equal the sign.
            _ => {
                let (first, second) = (self.bits(13, 1) ^ high ^ 1, self.bits(11, 1) ^ high ^ 1);
                let middle = first << 11 | second << 10 | self.bits(16, 10);
                Self::signed(high << 24 | middle << 12 | self.bits(0, 11) << 1, 25)
            }
        };
        at.wrapping_add(self.state.pc_distance())
            .wrapping_add(distance)
    }

    /// Returns whether the branch sets the link register, and whether it changes the instruction
    /// set.
    #[inline]
    fn links_and_exchanges(&self) -> (bool, bool) {
        match (self.state, self.word >> 28 == 15) {
            (State::A32, exchanges) => (self.bit(24) || exchanges, exchanges),
            (State::Thumb, _) if self.len == 2 => (false, false),
            (State::Thumb, _) => (self.bit(14), self.bit(14) && !self.bit(12)),
        }
    }

    /// Returns where the instruction may jump, if that is known and it does not come back.
    pub(super) fn jumps(&self, at: TextAddr) -> Option<u32> {
        let is_jump = match self.kind {
            Kind::Branch => !self.falls_through(),
            kind => kind == Kind::BranchIfZero,
        };
        is_jump.then(|| self.target(at.get() as u32))
    }

    /// Returns whether a branch sets the link register, and where it leads. `None` if that is not
    /// known, or is code of the other instruction set.
    pub(crate) fn branch(&self, at: TextAddr) -> Option<(bool, u32)> {
        let (links, exchanges) = self.links_and_exchanges();
        let is_known = self.kind == Kind::Branch && !exchanges;
        is_known.then(|| (links, self.target(at.get() as u32)))
    }

    /// Returns whether execution goes on at the next instruction, if the condition holds.
    pub(super) fn falls_through(&self) -> bool {
        match self.kind {
            Kind::Branch => self.links_and_exchanges().0,
            Kind::BranchTo => self.bit(5),
            Kind::BranchByTable => false,
            Kind::Transfer | Kind::Literal => self.register(12) != PC,
            Kind::Compute => self.register(12) != PC || self.only_compares(),
            Kind::Multiple => !self.bit(15),
            _ => true,
        }
    }

    /// Returns whether this is TST, TEQ, CMP or CMN.
    #[inline]
    fn only_compares(&self) -> bool {
        self.bits(23, 2) == 2
    }

    /// Returns whether registers are stored to an address that does not depend on PC.
    pub(super) fn stores_pc(&self) -> bool {
        let is_store = matches!(self.kind, Kind::Transfer | Kind::Multiple) && !self.bit(20);
        is_store && self.register(16) != PC
    }

    /// Refuses what cannot be emulated: stores to where a trap may save registers, further than 64
    /// bytes below the stack pointer, and changes to another mode.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let stores_by_sp = !self.bit(20) && self.register(16) == 13 && self.bit(24);
        let fits = !self.bit(25) && (self.bit(23) || self.bits(0, 12) <= 64);
        let writes_constant_mode = self.bit(25) && self.bit(16);
        let is_mode_of_kernel = self.rotated() & psr::MODE == psr::SVC;
        match self.kind {
            Kind::Transfer if stores_by_sp && !fits => Err(Refusal::BoundToPlace),
            Kind::WritePsr if writes_constant_mode && !is_mode_of_kernel => {
                Err(Refusal::ChangesVectors)
            }
            _ => Ok(()),
        }
    }

    /// An immediate operand: eight bits that are rotated.
    #[inline]
    fn rotated(&self) -> u32 {
        self.bits(0, 8).rotate_right(self.bits(8, 4) << 1)
    }

    /// A base with an offset added or subtracted.
    #[inline]
    fn moved(adds: bool, base: u32, offset: u32) -> u32 {
        match adds {
            true => base.wrapping_add(offset),
            false => base.wrapping_sub(offset),
        }
    }

    /// Emulates the instruction at `at`, and returns the address where execution continues.
    ///
    /// `None` means that memory could not be read or written. Then no register was changed.
    #[inline]
    pub(crate) fn run(&self, at: TextAddr, regs: &mut impl Regs) -> Option<TextAddr> {
        let at = at.get() as u32;
        let mut cpu = Cpu {
            insn: *self,
            regs,
            at,
            next: at.wrapping_add(self.len.into()),
        };
        cpu.execute()?;
        if self.kind != Kind::IfThen {
            let psr = psr::advanced(cpu.regs.psr());
            cpu.regs.set_psr(psr);
        }
        Some(TextAddr::new(cpu.next.into()))
    }
}

impl State {
    /// The distance from an instruction to the value of PC.
    #[inline]
    pub(super) fn pc_distance(self) -> u32 {
        match self {
            Self::A32 => 8,
            Self::Thumb => 4,
        }
    }
}

impl<F: Regs> Cpu<'_, F> {
    #[inline]
    fn execute(&mut self) -> Option<()> {
        let insn = self.insn;
        let psr = self.regs.psr();
        match insn.kind {
            Kind::Compute => self.compute(),
            Kind::Transfer => self.transfer()?,
            Kind::ExtraTransfer => {
                let offset = match insn.bit(22) {
                    true => insn.bits(8, 4) << 4 | insn.bits(0, 4),
                    false => self.get(insn.register(0)),
                };
                // LDRD has the bit of stores.
                let size = match (insn.bit(20), insn.bit(5)) {
                    (false, _) => 8,
                    (true, halfword) => 1 << u8::from(halfword),
                };
                let (at, _) = self.address(offset);
                self.load(at, size, insn.bit(6), insn.register(12) | 1)?;
            }
            Kind::Literal => {
                let (size, offset) = match insn.bits(25, 7) {
                    0x74 => (8, insn.bits(0, 8) << 2),
                    _ => (1_u8.wrapping_shl(insn.bits(21, 2)), insn.bits(0, 12)),
                };
                let at = Emulation::moved(insn.bit(23), self.get(PC) & !3, offset);
                self.load(at, size, insn.bit(24), insn.register(8))?;
            }
            Kind::Address => {
                let offset = insn.bits(26, 1) << 11 | insn.bits(12, 3) << 8 | insn.bits(0, 8);
                let address = Emulation::moved(!insn.bit(23), self.get(PC) & !3, offset);
                self.set(insn.register(8), address);
            }
            Kind::Multiple => self.multiple()?,
            Kind::Branch => {
                let (links, exchanges) = insn.links_and_exchanges();
                // Code of A32 is at multiples of four: `branch` clears bit 1 for BLX.
                let to_thumb = u32::from((insn.state == State::Thumb) != exchanges);
                self.branch(insn.target(self.at) | to_thumb, links);
            }
            Kind::BranchTo => self.branch(self.get(insn.register(0)), insn.bit(5)),
            Kind::BranchIfZero => {
                if (self.get(insn.bits(0, 3) as u8) == 0) != insn.bit(11) {
                    self.next = insn.target(self.at);
                }
            }
            Kind::BranchByTable => {
                let shift = insn.bits(4, 1);
                let index = self.get(insn.register(0)).wrapping_shl(shift);
                let entry = self.get(insn.register(16)).wrapping_add(index);
                let distance = self.regs.load(entry, 1 + shift as u8)? << 1;
                self.next = self.get(PC).wrapping_add(distance);
            }
            Kind::IfThen => self.regs.set_psr(psr::with_it(psr, insn.word as u8)),
            Kind::ReadPsr => self.set(insn.register(12), psr & psr::READABLE),
            Kind::WritePsr => {
                let value = match insn.bit(25) {
                    true => insn.rotated(),
                    false => self.get(insn.register(0)),
                };
                let mask = psr::mask(insn.bits(16, 4));
                self.regs.set_psr(psr & !mask | value & mask);
            }
            Kind::ChangePsr => {
                let (bits, disables) = (insn.bits(6, 3) << 6, insn.bit(18));
                self.regs
                    .set_psr(psr & !bits | if disables { bits } else { 0 });
            }
            // WFE may end at any time.
            _ => {}
        }
        Some(())
    }

    #[inline]
    fn get(&self, register: u8) -> u32 {
        match register {
            PC => self.at.wrapping_add(self.insn.state.pc_distance()),
            _ => self.regs.register(register),
        }
    }

    /// Changes a register. Of PC, bit 0 tells the instruction set; not of one that Thumb computes.
    #[inline]
    fn set(&mut self, register: u8, value: u32) {
        match register {
            PC => self.branch(value, false),
            _ => self.regs.set_register(register, value),
        }
    }

    /// Continues at the target, whose bit 0 tells the instruction set.
    #[inline]
    fn branch(&mut self, target: u32, links: bool) {
        if links {
            let link = self.next | self.insn.state.pointer_bit();
            self.regs.set_register(14, link);
        }
        let psr = self.regs.psr();
        let (aligned, psr) = match target & 1 {
            0 => (target & !3, psr & !psr::T),
            _ => (target & !1, psr | psr::T),
        };
        self.next = aligned;
        self.regs.set_psr(psr);
    }

    /// Returns a register that is shifted by an immediate amount, and the carry that is left.
    #[inline]
    fn shifted(&self) -> (u32, bool) {
        let (value, amount) = (self.get(self.insn.register(0)), self.insn.bits(7, 5));
        let carry = self.regs.psr() & psr::C != 0;
        // The last bit that is shifted out, to the left and to the right
        let left_out = value.rotate_left(amount) & 1 == 1;
        let right_out = value.wrapping_shr(amount.wrapping_sub(1)) & 1 == 1;
        let is_negative = value >> 31 == 1;
        match (self.insn.bits(5, 2), amount) {
            (0, 0) => (value, carry),
            (0, _) => (value.wrapping_shl(amount), left_out),
            // An amount of 0 means 32.
            (1, 0) => (0, is_negative),
            (1, _) => (value.wrapping_shr(amount), right_out),
            (2, 0) => (if is_negative { u32::MAX } else { 0 }, is_negative),
            (2, _) => ((value as i32).wrapping_shr(amount) as u32, right_out),
            // RRX
            (_, 0) => (u32::from(carry) << 31 | value >> 1, value & 1 == 1),
            _ => (value.rotate_right(amount), right_out),
        }
    }

    #[inline]
    fn compute(&mut self) {
        let (insn, psr) = (self.insn, self.regs.psr());
        let (opcode, carry) = (insn.bits(21, 4), psr & psr::C != 0);
        let a = self.get(insn.register(16));
        let (b, shifted_out) = match insn.bit(25) {
            true if insn.bits(8, 4) == 0 => (insn.rotated(), carry),
            // The highest bit of a number that is rotated is the carry.
            true => (insn.rotated(), insn.rotated() >> 31 == 1),
            false => self.shifted(),
        };
        // The sum of two numbers and a carry
        let sum = |a: u32, b: u32, carry: bool| {
            let (half, first_out) = a.overflowing_add(b);
            let (sum, second_out) = half.overflowing_add(carry.into());
            let overflow = (a ^ sum) & (b ^ sum) & psr::N != 0;
            (sum, first_out || second_out, overflow)
        };
        let logic = |result| (result, shifted_out, psr & psr::V != 0);
        let (result, carry, overflow) = match opcode {
            0 | 8 => logic(a & b),
            1 | 9 => logic(a ^ b),
            2 | 10 => sum(a, !b, true),
            3 => sum(!a, b, true),
            4 | 11 => sum(a, b, false),
            5 => sum(a, b, carry),
            6 => sum(a, !b, carry),
            7 => sum(!a, b, carry),
            12 => logic(a | b),
            13 => logic(b),
            14 => logic(a & !b),
            _ => logic(!b),
        };
        if insn.bit(20) {
            let flag = |is_set, flag| if is_set { flag } else { 0 };
            let flags = result & psr::N
                | flag(result == 0, psr::Z)
                | flag(carry, psr::C)
                | flag(overflow, psr::V);
            self.regs
                .set_psr(psr & !(psr::N | psr::Z | psr::C | psr::V) | flags);
        }
        match insn.register(12) {
            _ if insn.only_compares() => {}
            // Bit 0 does not tell the instruction set: Thumb stays Thumb.
            PC if insn.state == State::Thumb => self.next = result & !1,
            register => self.set(register, result),
        }
    }

    /// Returns the address of an access of A32, and the base register after it.
    #[inline]
    fn address(&self, offset: u32) -> (u32, u32) {
        let insn = self.insn;
        let base = self.get(insn.register(16));
        let moved = Emulation::moved(insn.bit(23), base, offset);
        (if insn.bit(24) { moved } else { base }, moved)
    }

    #[inline]
    fn transfer(&mut self) -> Option<()> {
        let insn = self.insn;
        let (at, base) = self.address(match insn.bit(25) {
            true => self.shifted().0,
            false => insn.bits(0, 12),
        });
        match insn.bit(20) {
            true => self.load(at, if insn.bit(22) { 1 } else { 4 }, false, PC)?,
            false => self.regs.store(at, self.get(insn.register(12)))?,
        }
        if insn.bit(21) || !insn.bit(24) {
            self.set(insn.register(16), base);
        }
        Some(())
    }

    /// Loads a register; with eight bytes, another one as well.
    #[inline]
    fn load(&mut self, at: u32, size: u8, is_signed: bool, second: u8) -> Option<()> {
        let value = self.regs.load(at, size.min(4))?;
        let high = match size {
            8 => self.regs.load(at.wrapping_add(4), 4)?,
            _ => 0,
        };
        let value = match (is_signed, size) {
            (true, 1) => i32::from(value as i8) as u32,
            (true, 2) => i32::from(value as i16) as u32,
            _ => value,
        };
        self.set(self.insn.register(12), value);
        if size == 8 {
            self.set(second, high);
        }
        Some(())
    }

    /// Loads or stores registers in a row in memory.
    #[inline]
    fn multiple(&mut self) -> Option<()> {
        let insn = self.insn;
        let (list, base) = (insn.bits(0, 16), self.get(insn.register(16)));
        let moved = Emulation::moved(insn.bit(23), base, list.count_ones() << 2);
        let low = if insn.bit(23) { base } else { moved };
        // Upwards the first register is at the base, or after it; downwards the last one is.
        let skipped = if insn.bit(23) == insn.bit(24) { 4 } else { 0 };
        let at = low.wrapping_add(skipped);
        // Registers change only when all memory is known to be there.
        self.each(list, at, |cpu, register, at| match insn.bit(20) {
            true => cpu.regs.load(at, 4).map(drop),
            false => cpu.regs.store(at, cpu.get(register)),
        })?;
        if insn.bit(21) {
            self.set(insn.register(16), moved);
        }
        let loaded = if insn.bit(20) { list } else { 0 };
        self.each(loaded, at, |cpu, register, at| {
            cpu.set(register, cpu.regs.load(at, 4)?);
            Some(())
        })
    }

    /// Calls `act` with each register of a list and its address.
    #[inline]
    fn each(
        &mut self,
        mut list: u32,
        mut at: u32,
        act: impl Fn(&mut Self, u8, u32) -> Option<()>,
    ) -> Option<()> {
        while list != 0 {
            act(self, list.trailing_zeros() as u8, at)?;
            at = at.wrapping_add(4);
            list &= list.wrapping_sub(1);
        }
        Some(())
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_emulate))]
mod tests {
    use super::{
        super::insn::{
            Exec,
            Insn, //
        },
        *,
    };

    const AT: u32 = 0xc010_0000;
    const STACK: u32 = 0xc200_0000;
    const SVC: u32 = 0x13;

    /// Register `n` is `n << 8` at first. 24 words of memory are around [`STACK`], eight behind
    /// [`AT`]; the word at an address is that address with its halves exchanged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Fake {
        registers: [u32; 15],
        psr: u32,
        stack: [u32; 24],
    }

    impl Fake {
        fn new(state: State) -> Self {
            let mut fake = Self {
                registers: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map(|n| n << 8),
                psr: if state == State::A32 {
                    SVC
                } else {
                    SVC | psr::T
                },
                stack: [0; 24],
            };
            for (number, word) in (0..).zip(&mut fake.stack) {
                *word = (STACK - 64 + 4 * number).rotate_left(16);
            }
            fake
        }

        fn a32() -> Self {
            Self::new(State::A32)
        }

        fn thumb() -> Self {
            Self::new(State::Thumb)
        }

        fn with(mut self, number: u8, value: u32) -> Self {
            self.set_register(number, value);
            self
        }

        fn flags(mut self, psr: u32) -> Self {
            self.psr |= psr;
            self
        }

        /// Runs the instruction at [`AT`], and returns the distance to where it leads.
        fn run(&mut self, state: State, code: &[u16]) -> Option<u32> {
            let at = TextAddr::new(AT.into());
            let mut read = |from: TextAddr, into: &mut [u8]| {
                let first = (from.get() - at.get()) as usize / 2;
                for (number, half) in into.chunks_mut(2).enumerate() {
                    half.copy_from_slice(&code.get(first + number)?.to_le_bytes());
                }
                Some(())
            };
            let insn = Insn::read(state, at, &mut read).ok()?;
            let (Exec::CopyOrEmulate(emulation)
            | Exec::Emulate(emulation)
            | Exec::EmulateStore(emulation)) = insn.classify().ok()?
            else {
                return None;
            };
            let to = emulation.run(at, self)?;
            Some((to.get() as u32).wrapping_sub(AT))
        }

        fn run_a32(&mut self, word: u32) -> Option<u32> {
            self.run(State::A32, &[word as u16, (word >> 16) as u16])
        }

        fn run_t16(&mut self, word: u16) -> Option<u32> {
            self.run(State::Thumb, &[word])
        }

        fn run_t32(&mut self, word: u32) -> Option<u32> {
            self.run(State::Thumb, &[(word >> 16) as u16, word as u16])
        }
    }

    impl Regs for Fake {
        fn register(&self, number: u8) -> u32 {
            self.registers[usize::from(number)]
        }
        fn set_register(&mut self, number: u8, value: u32) {
            self.registers[usize::from(number)] = value;
        }
        fn psr(&self) -> u32 {
            self.psr
        }
        fn set_psr(&mut self, psr: u32) {
            self.psr = psr;
        }
        fn load(&self, at: u32, size: u8) -> Option<u32> {
            let word = match at {
                AT.. if at < AT + 32 => (at & !3).rotate_left(16),
                _ => *self.stack.get((at.checked_sub(STACK - 64)? / 4) as usize)?,
            };
            let shifted = word >> (8 * (at % 4));
            Some(shifted & u32::MAX >> (32 - 8 * size))
        }
        fn store(&mut self, at: u32, value: u32) -> Option<()> {
            let number = at.checked_sub(STACK - 64)? / 4;
            *self.stack.get_mut(number as usize)? = value;
            Some(())
        }
    }

    /// A distance backwards.
    fn back(distance: u32) -> Option<u32> {
        Some(distance.wrapping_neg())
    }

    #[test]
    fn a32_branches_count_from_eight_bytes_on() {
        // b .; beq .+16; b .-33554424; bl .+8; blx .+8; blx .+10; blx .+6
        let mut regs = Fake::a32();
        assert_eq!(regs.run_a32(0xeaff_fffe), Some(0));
        assert_eq!(regs.run_a32(0x0a00_0002), Some(16));
        assert_eq!(regs.run_a32(0xea80_0000), back(0x1ff_fff8));
        assert_eq!(regs, Fake::a32());
        assert_eq!(regs.run_a32(0xeb00_0000), Some(8));
        assert_eq!(regs, Fake::a32().with(14, AT + 4));
        assert_eq!(regs.run_a32(0xfa00_0000), Some(8));
        assert_eq!(regs.run_a32(0xfb00_0000), Some(10));
        assert_eq!(regs, Fake::a32().with(14, AT + 4).flags(psr::T));
        let mut regs = Fake::a32();
        assert_eq!(regs.run_a32(0xfbff_ffff), Some(6));
        assert_eq!(regs, Fake::a32().with(14, AT + 4).flags(psr::T));
    }

    #[test]
    fn only_branches_within_the_instruction_set_have_a_known_target() {
        let branch = |word: u32| {
            let mut read = |_: TextAddr, into: &mut [u8]| {
                into.copy_from_slice(&word.to_le_bytes());
                Some(())
            };
            let at = TextAddr::new(AT.into());
            match Insn::read(State::A32, at, &mut read).ok()?.classify() {
                Ok(Exec::Emulate(emulation)) => emulation.branch(at),
                _ => None,
            }
        };
        // b .; beq .+16; bl .+8; bl .-33554424
        assert_eq!(branch(0xeaff_fffe), Some((false, AT)));
        assert_eq!(branch(0x0a00_0002), Some((false, AT + 16)));
        assert_eq!(branch(0xeb00_0000), Some((true, AT + 8)));
        let far = AT.wrapping_sub(0x1ff_fff8);
        assert_eq!(branch(0xeb80_0000), Some((true, far)));
        // blx .+8; blx r3; ldr r0, [pc]
        assert_eq!(branch(0xfa00_0000), None);
        assert_eq!(branch(0xe12f_ff33), None);
        assert_eq!(branch(0xe59f_0000), None);
    }

    #[test]
    fn thumb_branches_count_from_four_bytes_on() {
        // b .; beq .+2; b .+4; beq.w .-1048572; bne.w .+4104; beq.w .+262148; b.w .+16777218;
        // b.w .-16777212
        let mut regs = Fake::thumb();
        assert_eq!(regs.run_t16(0xe7fe), Some(0));
        assert_eq!(regs.run_t16(0xd0ff), Some(2));
        assert_eq!(regs.run_t16(0xe000), Some(4));
        assert_eq!(regs.run_t32(0xf400_8000), back(0x10_0000 - 4));
        assert_eq!(regs.run_t32(0xf041_8002), Some(0x1008));
        assert_eq!(regs.run_t32(0xf000_a000), Some(0x4_0004));
        assert_eq!(regs.run_t32(0xf3ff_97ff), Some(0x100_0000 + 2));
        assert_eq!(regs.run_t32(0xf400_9000), back(0x100_0000 - 4));
        assert_eq!(regs, Fake::thumb());
        // bl .+4; blx .+4, to A32
        assert_eq!(regs.run_t32(0xf000_f800), Some(4));
        assert_eq!(regs, Fake::thumb().with(14, AT + 5));
        assert_eq!(regs.run_t32(0xf000_e800), Some(4));
        assert_eq!(regs, Fake::a32().with(14, AT + 5));
    }

    #[test]
    fn bit_0_of_a_target_tells_the_instruction_set() {
        // bx r3; blx r3; bx pc
        let mut regs = Fake::a32().with(3, AT + 0x21);
        assert_eq!(regs.run_a32(0xe12f_ff13), Some(0x20));
        assert_eq!(regs, Fake::a32().with(3, AT + 0x21).flags(psr::T));
        let mut regs = Fake::a32().with(3, AT + 0x20);
        assert_eq!(regs.run_a32(0xe12f_ff33), Some(0x20));
        assert_eq!(regs, Fake::a32().with(3, AT + 0x20).with(14, AT + 4));
        assert_eq!(regs.run_a32(0xe12f_ff1f), Some(8));
        // bx r3; blx r3; bx pc
        let mut regs = Fake::thumb().with(3, AT + 0x20);
        assert_eq!(regs.run_t16(0x4718), Some(0x20));
        assert_eq!(regs, Fake::a32().with(3, AT + 0x20));
        let mut regs = Fake::thumb().with(3, AT + 0x21);
        assert_eq!(regs.run_t16(0x4798), Some(0x20));
        assert_eq!(regs, Fake::thumb().with(3, AT + 0x21).with(14, AT + 3));
        assert_eq!(regs.run_t16(0x4778), Some(4));
        assert_eq!(regs.psr, SVC);
    }

    #[test]
    fn registers_are_compared_with_zero() {
        // cbz r1, .+4+6; cbnz r1, .+4+126
        for (value, to_six, to_last) in [(0, 10, 2), (7, 2, 130)] {
            let before = Fake::thumb().with(1, value);
            let mut regs = before.clone();
            assert_eq!(regs.run_t16(0xb119), Some(to_six));
            assert_eq!(regs.run_t16(0xbbf9), Some(to_last));
            assert_eq!(regs, before);
        }
    }

    #[test]
    fn tables_have_distances_of_bytes_or_halfwords() {
        // tbb [pc, r1], tbh [pc, r1, lsl #1]: at AT + 4 are 10 c0 04 00
        for (index, byte, halfword) in [(0, 0x10, 0xc010), (1, 0xc0, 4)] {
            let before = Fake::thumb().with(1, index);
            let mut regs = before.clone();
            assert_eq!(regs.run_t32(0xe8df_f001), Some(4 + 2 * byte));
            assert_eq!(regs.run_t32(0xe8df_f011), Some(4 + 2 * halfword));
            assert_eq!(regs, before);
        }
    }

    #[test]
    fn addresses_are_relative_to_pc() {
        // add r1, pc, #16; sub r1, pc, #16; add r1, pc, r2; mov r1, pc
        let cases = [
            (0xe28f_1010, AT + 24),
            (0xe24f_1010, AT - 8),
            (0xe08f_1002, AT + 0x208),
            (0xe1a0_100f, AT + 8),
        ];
        for (word, value) in cases {
            let mut regs = Fake::a32();
            assert_eq!(regs.run_a32(word), Some(4));
            assert_eq!(regs, Fake::a32().with(1, value));
        }
        // adr r1, .+4+16; adr r1, .+4+1020; add r1, pc; mov r1, pc; mov r9, pc
        for (word, value) in [
            (0xa104, AT + 20),
            (0xa1ff, AT + 1024),
            (0x4479, AT + 0x104),
            (0x4679, AT + 4),
        ] {
            let mut regs = Fake::thumb();
            assert_eq!(regs.run_t16(word), Some(2));
            assert_eq!(regs, Fake::thumb().with(1, value));
        }
        let mut regs = Fake::thumb();
        assert_eq!(regs.run_t16(0x46f9), Some(2));
        assert_eq!(regs, Fake::thumb().with(9, AT + 4));
        // adr.w r1, .+4+16; adr.w r1, .+4-16; adr.w r1, .+4+4095
        for (word, value) in [
            (0xf60f_71ff, AT + 4 + 4095),
            (0xf20f_0110, AT + 20),
            (0xf2af_0110, AT - 12),
        ] {
            let mut regs = Fake::thumb();
            assert_eq!(regs.run_t32(word), Some(4));
            assert_eq!(regs, Fake::thumb().with(1, value));
        }
    }

    #[test]
    fn literals_are_loaded() {
        // ldr r1, [pc, #4]; ldrb r1, [pc, #5]; ldrh r1, [pc, #6]; ldrsb r1, [pc, #5];
        // ldrsh r1, [pc, #4]; ldr r1, [pc, -r2]; ldrh r1, [pc, #16]
        let cases = [
            (0xe59f_1004, 0x000c_c010),
            (0xe5df_1005, 0xc0),
            (0xe1df_10b6, 0x000c),
            (0xe1df_10d5, 0xffff_ffc0),
            (0xe1df_10f4, 0xffff_c010),
            (0xe71f_1002, 0x0004_c010),
            (0xe1df_11b0, 0xc010),
        ];
        for (word, value) in cases {
            let mut regs = Fake::a32().with(2, 4);
            assert_eq!(regs.run_a32(word), Some(4));
            assert_eq!(regs, Fake::a32().with(2, 4).with(1, value));
        }
        // ldrd r4, [pc, #4]
        let both = |regs: Fake| regs.with(4, 0x000c_c010).with(5, 0x0010_c010);
        let mut regs = Fake::a32();
        assert_eq!(regs.run_a32(0xe1cf_40d4), Some(4));
        assert_eq!(regs, both(Fake::a32()));
        // ldrd r4, r5, [pc, #8]; ldr r1, [pc, #8]; ldrsh.w r1, [pc, #8]
        let mut regs = Fake::thumb();
        assert_eq!(regs.run_t32(0xe9df_4502), Some(4));
        assert_eq!(regs, both(Fake::thumb()));
        assert_eq!(regs.run_t16(0x4902), Some(2));
        assert_eq!(regs.register(1), 0x000c_c010);
        assert_eq!(regs.run_t32(0xf9bf_1008), Some(4));
        assert_eq!(regs.register(1), 0xffff_c010);
    }

    #[test]
    fn pc_is_loaded() {
        // ldr pc, [pc, r1, lsl #2]; ldr pc, [sp], #4; pop {r4, pc}; ldmdb r1, {r1, sp, pc}
        let mut regs = Fake::a32().with(1, 1);
        let leads_to = |value: u32| Some(value.wrapping_sub(AT) & !3);
        assert_eq!(regs.run_a32(0xe79f_f101), leads_to(0x000c_c010));
        let mut regs = Fake::a32().with(13, STACK);
        assert_eq!(regs.run_a32(0xe49d_f004), leads_to(0xc200));
        assert_eq!(regs, Fake::a32().with(13, STACK + 4));
        let mut regs = Fake::a32().with(13, STACK);
        assert_eq!(regs.run_a32(0xe8bd_8010), leads_to(0x4_c200));
        let after = Fake::a32().with(13, STACK + 8).with(4, 0xc200);
        assert_eq!(regs, after);
        let mut regs = Fake::a32().with(1, STACK + 12);
        assert_eq!(regs.run_a32(0xe911_a002), leads_to(0x8_c200));
        assert_eq!(regs, Fake::a32().with(1, 0xc200).with(13, 0x4_c200));
        // pop {r4, pc}: Thumb code is at odd addresses.
        let mut regs = Fake::thumb().with(13, STACK);
        regs.stack[17] = AT + 0x31;
        let stack = regs.stack;
        assert_eq!(regs.run_t16(0xbd10), Some(0x30));
        assert_eq!(regs.run_t32(0xf85d_fc04), Some(0x30));
        let after = Fake::thumb().with(13, STACK + 8).with(4, 0xc200);
        assert_eq!(regs, Fake { stack, ..after });
        // ldr.w pc, [sp, #-4]!; ldr.w pc, [r1, r2, lsl #2]; ldmdb sp!, {r4, pc}
        assert_eq!(regs.run_t32(0xf85d_fd04), Some(0x30));
        let mut regs = regs.with(1, STACK - 4).with(2, 2);
        assert_eq!(regs.register(13), STACK + 4);
        assert_eq!(regs.run_t32(0xf851_f022), Some(0x30));
        let mut regs = regs.with(13, STACK + 8);
        assert_eq!(regs.run_t32(0xe93d_8010), Some(0x30));
        assert_eq!(regs.register(13), STACK);
    }

    #[test]
    fn pc_is_stored_as_eight_bytes_on() {
        // str r1, [pc, r2]
        let mut regs = Fake::a32().with(2, STACK.wrapping_sub(AT + 8));
        let mut expected = regs.clone();
        expected.stack[16] = 0x100;
        assert_eq!(regs.run_a32(0xe78f_1002), Some(4));
        assert_eq!(regs, expected);
        // push {fp, ip, lr, pc}; stmib r1, {r1, pc}; stmda r1!, {r0, pc}; str pc, [sp, #-4]!
        let cases: [(u32, u8, u32, u32, [u32; 4]); 4] = [
            (
                0xe92d_d800,
                13,
                STACK - 16,
                12,
                [0xb00, 0xc00, 0xe00, AT + 8],
            ),
            (0xe981_8002, 1, STACK, 17, [STACK, AT + 8, 0x200c, 0x2010]),
            (0xe821_8001, 1, STACK - 8, 15, [0, AT + 8, 0x2004, 0x2008]),
            (0xe52d_f004, 13, STACK - 4, 15, [AT + 8, 0, 0, 0]),
        ];
        for (word, base, after, from, stored) in cases {
            let mut regs = Fake::a32().with(base, STACK);
            let mut expected = regs.clone().with(base, after);
            assert_eq!(regs.run_a32(word), Some(4));
            let count = if word == 0xe92d_d800 {
                4
            } else {
                stored.len() / 2
            };
            let count = if word == 0xe52d_f004 { 1 } else { count };
            let from = from as usize;
            expected.stack[from..from + count].copy_from_slice(&stored[..count]);
            assert_eq!(regs, expected);
        }
    }

    #[test]
    fn faulting_accesses_leave_the_registers_unchanged() {
        // pop {r4, pc} at the end of the memory; push {r4, pc} before it; ldr pc, [r1], #4;
        // tbb [r1, r2]
        let mut regs = Fake::a32().with(13, STACK + 28);
        let before = regs.clone();
        assert_eq!(regs.run_a32(0xe8bd_8010), None);
        assert_eq!(regs, before);
        let mut regs = Fake::a32().with(13, STACK - 64);
        let before = regs.clone();
        assert_eq!(regs.run_a32(0xe92d_8010), None);
        assert_eq!(regs, before);
        assert_eq!(regs.run_a32(0xe491_f004), None);
        assert_eq!(regs, before);
        let mut regs = Fake::thumb();
        assert_eq!(regs.run_t32(0xe8d1_f002), None);
        assert_eq!(regs, Fake::thumb());
    }

    #[test]
    fn flags_are_those_of_the_result() {
        use psr::{C, N, V, Z};
        // With r1 and PC, or with PC alone: the operation, r1, the flags before and behind.
        let cases = [
            // cmp r1, pc: borrow, equal, overflow
            (0xe151_000f, 0, 0, 0),
            (0xe151_000f, AT + 8, 0, Z | C),
            (0xe151_000f, 0x4010_0008, C, N | V),
            // cmn r1, pc: zero and carry
            (0xe171_000f, (AT + 8).wrapping_neg(), V, Z | C),
            // adcs r0, r1, pc with the carry; sbcs r0, r1, pc without
            (0xe0b1_000f, (AT + 9).wrapping_neg(), C, Z | C),
            (0xe0d1_000f, AT + 9, 0, Z | C),
            // rsbs r0, r1, pc
            (0xe071_000f, AT + 9, C, N),
            // tst r1, pc: only the flags of logic; tst pc, #0xf0000000: the carry of the constant
            (0xe111_000f, 1, V | C, V | C | Z),
            (0xe31f_020f, 0, V, V | C | N),
            (0xe31f_0008, 0, V | C, V | C),
            // teq r1, pc, lsr #4, lsr #3, asr #4: the last bit that is shifted out
            (0xe131_022f, 0, 0, C),
            (0xe131_01af, 0, C, 0),
            (0xe131_024f, 0, 0, N | C),
            // movs r0, pc, rrx; mvns r0, pc; bics r0, pc, pc; rscs r0, pc, pc with the carry
            (0xe1b0_006f, 0, C, N),
            (0xe1f0_000f, 0, C, C),
            (0xe1df_000f, 0, N, Z),
            (0xe0ff_000f, 0, C, Z | C),
            // asrs r0, pc, #32; lsrs r0, pc, #32; rors r0, pc, #5; lsls r0, pc, #1
            (0xe1b0_004f, 0, 0, N | C),
            (0xe1b0_002f, 0, 0, Z | C),
            (0xe1b0_02ef, 0, C, 0),
            (0xe1b0_008f, 0, 0, N | C),
        ];
        for (word, value, before, after) in cases {
            let mut regs = Fake::a32().with(1, value).flags(before);
            assert_eq!(regs.run_a32(word), Some(4));
            let flags = regs.psr & (N | Z | C | V);
            assert_eq!((word, flags), (word, after));
        }
    }

    #[test]
    fn results_are_written_except_by_compares() {
        // With r1 = 0x0f and PC = AT + 8
        let pc = AT + 8;
        let cases = [
            (0xe001_000f, pc & 15),
            (0xe021_000f, pc ^ 15),
            (0xe041_000f, 15_u32.wrapping_sub(pc)),
            (0xe061_000f, pc.wrapping_sub(15)),
            (0xe081_000f, pc + 15),
            (0xe181_000f, pc | 15),
            (0xe1c1_000f, 15 & !pc),
            (0xe1e0_000f, !pc),
            // cmp r1, pc; mov r0, pc, rrx; mov r0, pc, ror #4; mov r0, pc, asr #4
            (0xe151_000f, 0),
            (0xe1a0_006f, pc >> 1),
            (0xe1a0_026f, pc.rotate_right(4)),
            (0xe1a0_024f, pc >> 4 | 0xf000_0000),
        ];
        for (word, value) in cases {
            let mut regs = Fake::a32().with(1, 15);
            assert_eq!(regs.run_a32(word), Some(4));
            assert_eq!((word, regs.register(0)), (word, value));
        }
        // mov pc, r3; add pc, pc, r1, lsl #2 in A32; add pc, r3 in Thumb, which stays Thumb
        let mut regs = Fake::a32().with(3, AT + 0x41).with(1, 3);
        assert_eq!(regs.run_a32(0xe1a0_f003), Some(0x40));
        assert_eq!(regs.psr, SVC | psr::T);
        assert_eq!(regs.run_a32(0xe08f_f101), Some(20));
        let mut regs = Fake::thumb().with(3, 0x40);
        assert_eq!(regs.run_t16(0x449f), Some(0x44));
        assert_eq!(regs, Fake::thumb().with(3, 0x40));
    }

    #[test]
    fn cpsr_accesses_use_the_mask_of_the_probed_code() {
        // mrs r1, cpsr; msr cpsr_c, r1; cpsid i; cpsie if; in A32, T32 and T16
        let before = Fake::a32().flags(psr::I | psr::C);
        let mut regs = before.clone();
        assert_eq!(regs.run_a32(0xe10f_1000), Some(4));
        assert_eq!(regs, before.with(1, SVC | psr::I | psr::C));
        let mut regs = regs.with(1, SVC | psr::Z);
        assert_eq!(regs.run_a32(0xe121_f001), Some(4));
        assert_eq!(regs.psr, SVC | psr::C);
        assert_eq!(regs.run_a32(0xf10c_0080), Some(4));
        assert_eq!(regs.psr, SVC | psr::C | psr::I);
        assert_eq!(regs.run_a32(0xf108_00c0), Some(4));
        assert_eq!(regs.psr, SVC | psr::C);
        // msr cpsr_c, #0xd3
        assert_eq!(regs.run_a32(0xe321_f0d3), Some(4));
        assert_eq!(regs.psr, SVC | psr::C | psr::I | 1 << 6);
        // msr cpsr_fsxc, r1 changes all but IT, J, T and reserved bits.
        let mut regs = Fake::a32().with(1, 0xffff_fff3);
        for (fields, mask) in [(1, 0xdf), (2, 0x300), (4, 0xf_0000), (8, 0xf800_0000)] {
            regs.psr = 0;
            assert_eq!(regs.run_a32(0xe120_f001 | fields << 16 | 1 << 16), Some(4));
            assert_eq!(regs.psr, 0xffff_fff3 & (mask | 0xdf));
        }
        let mut regs = Fake::thumb().flags(psr::Z);
        assert_eq!(regs.run_t16(0xb672), Some(2));
        assert_eq!(regs.run_t32(0xf3ef_8100), Some(4));
        assert_eq!(regs.register(1), SVC | psr::I | psr::Z);
        assert_eq!(regs.run_t16(0xb662), Some(2));
        assert_eq!(regs.run_t32(0xf3af_8640), Some(4));
        assert_eq!(regs.psr, SVC | psr::T | psr::I | psr::Z);
        let mut regs = regs.with(1, SVC);
        assert_eq!(regs.run_t32(0xf381_8900), Some(4));
        assert_eq!(regs.psr, SVC | psr::T);
    }

    #[test]
    fn thumb_it_blocks_begin_and_advance() {
        // itte ne; then bx r3, mov r1, pc in the block
        let mut regs = Fake::thumb();
        assert_eq!(regs.run_t16(0xbf1a), Some(2));
        assert_eq!(regs.psr, psr::with_it(SVC | psr::T, 0x1a));
        assert_eq!(regs.run_t16(0x4679), Some(2));
        assert_eq!(regs.psr, psr::with_it(SVC | psr::T, 0x14));
        let mut regs = regs.with(3, AT + 0x21);
        regs.psr = psr::with_it(SVC | psr::T, 0x18);
        assert_eq!(regs.run_t16(0x4718), Some(0x20));
        assert_eq!(regs.psr, SVC | psr::T);
        // wfe, which does nothing
        assert_eq!(regs.run_t16(0xbf20), Some(2));
        assert_eq!(regs.psr, SVC | psr::T);
    }

    #[test]
    fn stores_far_below_the_stack_pointer_are_refused() {
        let checked = |word: u32| {
            let mut read = |_: TextAddr, into: &mut [u8]| {
                into.copy_from_slice(&word.to_le_bytes());
                Some(())
            };
            let insn = Insn::read(State::A32, TextAddr::new(AT.into()), &mut read);
            match insn.and_then(|insn| insn.classify()) {
                Ok(Exec::EmulateStore(_)) => Ok(()),
                Ok(_) => Err(Refusal::InvalidInsn),
                Err(reason) => Err(reason),
            }
        };
        // str pc, [sp, #-64]!; str pc, [sp, #-68]; str pc, [sp], -r1; str pc, [sp, r1];
        // str pc, [r1, -r2]; push {r0-r12, sp, lr, pc}
        assert_eq!(checked(0xe52d_f040), Ok(()));
        assert_eq!(checked(0xe50d_f044), Err(Refusal::BoundToPlace));
        assert_eq!(checked(0xe60d_f001), Ok(()));
        assert_eq!(checked(0xe78d_f001), Err(Refusal::BoundToPlace));
        assert_eq!(checked(0xe701_f002), Ok(()));
        assert_eq!(checked(0xe92d_ffff), Ok(()));
    }
}
