// SPDX-License-Identifier: GPL-2.0

//! Decodes one instruction, and decides how a probed one is executed.
//!
//! A32 instructions have four bytes. Those of Thumb have two, or four if the first five bits are
//! 11101, 11110 or 11111. The first table row that has the instruction says what is done. What the
//! manual calls UNPREDICTABLE is refused only where PC is a wrong register.
//!
//! C counterpart: [`arch/arm/probes`](srctree/arch/arm/probes).

use super::{
    a32_table,
    copro_table::COPROCESSOR,
    emulate::Emulation,
    pattern::{
        Kind,
        Row, //
    },
    psr::ALWAYS,
    t16_table::T16,
    t32_table::T32,
    State, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exec {
    /// The CPU runs a copy.
    Copy,
    /// The CPU runs a copy, but not with a post handler or in an IT block: then the instruction is
    /// emulated. It writes PC, so a step would not come back, or it depends on the mask of
    /// interrupts, which is another one in a step.
    CopyOrEmulate(Emulation),
    /// The instruction is emulated, as it reads PC.
    Emulate(Emulation),
    /// The instruction is emulated, as it stores PC. A copy stores another number at the same
    /// address. Where that address cannot be written, the copy faults as the original does.
    EmulateStore(Emulation),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insn {
    /// The bits of the instruction. Of a 32-bit Thumb instruction, the first halfword is the high
    /// one.
    pub(super) word: u32,
    pub(super) state: State,
    len: u8,
    pub(super) row: &'static Row,
}

impl Insn {
    /// Reads the bits of an instruction and its length in bytes, without decoding it. Reads all
    /// bytes at once: `read` replaces a breakpoint only if all of it is read. Reads two bytes if
    /// the text ends after them.
    pub(super) fn read_bits(
        state: State,
        at: TextAddr,
        read: ReadText<'_>,
    ) -> Result<(u32, u8), Refusal> {
        let mut bytes = [0; 4];
        let whole = read(at, &mut bytes);
        let half = whole.or_else(|| read(at, &mut bytes[..2]));
        let word = u32::from_le_bytes(bytes);
        let (word, len) = match state {
            State::A32 => (word, 4),
            State::Thumb if word & 0xffff < 0xe800 => (word & 0xffff, 2),
            State::Thumb => (word.rotate_right(16), 4),
        };
        let is_read = if len == 2 { half } else { whole };
        is_read.map(|()| (word, len)).ok_or(Refusal::UnreadableText)
    }

    /// Decodes an instruction. [`Refusal::InvalidInsn`] means that the tables do not have it.
    pub(super) fn decode(state: State, word: u32, len: u8) -> Result<Self, Refusal> {
        let table = match (state, word >> 24) {
            _ if len == 2 => T16,
            (_, top) if matches!(top & 0xf, 0xc..=0xe) => COPROCESSOR,
            (State::Thumb, _) => T32,
            (State::A32, 0xf0..) => a32_table::UNCONDITIONAL,
            (State::A32, _) => a32_table::CONDITIONAL,
        };
        // The first class that has the instruction is its class.
        let row = table.iter().find(|row| row.has(word));
        Ok(Self {
            word,
            state,
            len,
            row: row.ok_or(Refusal::InvalidInsn)?,
        })
    }

    /// Reads and decodes the instruction at `at`.
    pub(crate) fn read(state: State, at: TextAddr, read: ReadText<'_>) -> Result<Self, Refusal> {
        let (word, len) = Self::read_bits(state, at, read)?;
        Self::decode(state, word, len)
    }

    /// Returns the number of bytes: 2 or 4.
    pub(crate) fn len(&self) -> u64 {
        self.len.into()
    }

    /// Returns the condition that the instruction itself has. Breakpoints of A32 have this
    /// condition.
    pub(crate) fn condition(&self) -> u8 {
        let condition = match (self.state, self.len) {
            (State::A32, _) => self.word >> 28,
            _ if self.row.kind != Kind::Branch => return ALWAYS,
            (_, 2) if self.word < 0xe000 => self.word >> 8,
            (_, 4) if self.word & 0x5000 == 0 => self.word >> 22,
            _ => return ALWAYS,
        };
        // The instructions of A32 with condition 15 have none.
        (condition as u8 & 15).min(ALWAYS)
    }

    /// Returns whether the instruction writes the PSR, other than the result of a computation.
    pub(crate) fn writes_psr(&self) -> bool {
        matches!(self.row.kind, Kind::WritePsr | Kind::ChangePsr)
    }

    /// Decides how the instruction is executed, or refuses to probe it. Whether it is between an
    /// exclusive load and its store is for [`exclusive::check`](super::exclusive::check) to say.
    pub(crate) fn classify(&self) -> Result<Exec, Refusal> {
        let pc = self.row.pc_use(self.word);
        let (copy_works, pc_matters) = match self.row.kind {
            _ if pc.is_wrong => return Err(Refusal::InvalidInsn),
            Kind::Refuse(reason) => return Err(reason),
            Kind::StoreExclusive => return Err(Refusal::Transaction),
            Kind::CoprocessorTransfer if pc.reads => return Err(Refusal::BoundToPlace),
            Kind::Branch | Kind::BranchIfZero | Kind::BranchByTable => (false, true),
            Kind::Address | Kind::Literal | Kind::IfThen => (false, true),
            Kind::BranchTo => (!pc.reads, true),
            Kind::Wait | Kind::ReadPsr | Kind::WritePsr | Kind::ChangePsr => (true, true),
            _ => (!pc.reads, pc.reads || pc.writes),
        };
        if !pc_matters {
            return Ok(Exec::Copy);
        }
        let emulation = Emulation::of(self.row.kind, self.word, self.len, self.state);
        emulation.check()?;
        // BLX sets the link register to an address after itself.
        let links = self.row.kind == Kind::BranchTo && emulation.falls_through();
        Ok(match copy_works && !links {
            _ if emulation.stores_pc() => Exec::EmulateStore(emulation),
            true => Exec::CopyOrEmulate(emulation),
            false => Exec::Emulate(emulation),
        })
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_insn))]
mod tests {
    use super::*;

    const AT: TextAddr = TextAddr::new(0xc010_0000);

    /// Reads the instruction whose halfwords are these.
    fn insn(state: State, code: &[u16]) -> Result<Insn, Refusal> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let first = (at.get() - AT.get()) as usize / 2;
            for (number, half) in into.chunks_mut(2).enumerate() {
                half.copy_from_slice(&code.get(first + number)?.to_le_bytes());
            }
            Some(())
        };
        Insn::read(state, AT, &mut read)
    }

    fn a32(word: u32) -> Result<Insn, Refusal> {
        insn(State::A32, &[word as u16, (word >> 16) as u16])
    }

    /// A Thumb instruction: of 16 bits if the upper half is zero.
    fn thumb(word: u32) -> Result<Insn, Refusal> {
        match word >> 16 {
            0 => insn(State::Thumb, &[word as u16]),
            high => insn(State::Thumb, &[high as u16, word as u16]),
        }
    }

    #[derive(Debug, PartialEq, Eq)]
    enum Class {
        Copy,
        CopyOrEmulate,
        Emulate,
        EmulateStore,
    }

    fn class(insn: Result<Insn, Refusal>) -> Result<Class, Refusal> {
        Ok(match insn?.classify()? {
            Exec::Copy => Class::Copy,
            Exec::CopyOrEmulate(_) => Class::CopyOrEmulate,
            Exec::Emulate(_) => Class::Emulate,
            Exec::EmulateStore(_) => Class::EmulateStore,
        })
    }

    #[test]
    fn first_five_bits_of_thumb_are_the_length() {
        let len = |code: &[u16]| insn(State::Thumb, code).map(|insn| (insn.len(), insn.word));
        // b .; blx .+4; ldr r0, [r1]; nop.w
        assert_eq!(len(&[0xe7fe]), Ok((2, 0xe7fe)));
        assert_eq!(len(&[0xf000, 0xe800]), Ok((4, 0xf000_e800)));
        assert_eq!(len(&[0x6808, 0xffff]), Ok((2, 0x6808)));
        assert_eq!(len(&[0xf3af, 0x8000]), Ok((4, 0xf3af_8000)));
        assert_eq!(len(&[0xe800]), Err(Refusal::UnreadableText));
        assert_eq!(len(&[]), Err(Refusal::UnreadableText));
        assert_eq!(a32(0xe7fe_e7fe).map(|insn| insn.len()), Ok(4));
    }

    #[test]
    fn conditions_are_those_of_the_instruction() {
        let condition = |insn: Result<Insn, Refusal>| insn.map(|insn| insn.condition());
        // moveq r0, r1; nop; blx .; bne .; b .; bx lr; bgt.w .; b.w .; bl .
        assert_eq!(condition(a32(0x01a0_0001)), Ok(0));
        assert_eq!(condition(a32(0xe320_f000)), Ok(14));
        assert_eq!(condition(a32(0xfaff_fffe)), Ok(14));
        assert_eq!(condition(thumb(0xd1fe)), Ok(1));
        assert_eq!(condition(thumb(0xe7fe)), Ok(14));
        assert_eq!(condition(thumb(0x4770)), Ok(14));
        assert_eq!(condition(thumb(0xf73f_affe)), Ok(12));
        assert_eq!(condition(thumb(0xf7ff_bffe)), Ok(14));
        assert_eq!(condition(thumb(0xf7ff_fffe)), Ok(14));
    }

    #[test]
    fn use_of_pc_decides_how_a32_is_executed() {
        let cases: [(u32, Class); 23] = [
            // add r0, r1, r2; ldr r0, [r1, #4]!; vadd.i8 d0, d1, d2; vldr d0, [r1]
            (0xe081_0002, Class::Copy),
            (0xe5b1_0004, Class::Copy),
            (0xf201_0802, Class::Copy),
            (0xed91_0b00, Class::Copy),
            // sdiv r0, r1, r2; dmb ish; mrc p15, #0, r0, c13, c0, #4; ldrt r0, [r1], #0; pld [pc]
            (0xe710_f211, Class::Copy),
            (0xf57f_f05b, Class::Copy),
            (0xee1d_0f90, Class::Copy),
            (0xe4b1_0000, Class::Copy),
            (0xf5df_f000, Class::Copy),
            // ldrexd r2, r3, [r1]; msr cpsr_f, r0; ldm r0, {sp}^; wfi
            (0xe1b1_2f9f, Class::Copy),
            (0xe128_f000, Class::Copy),
            (0xe8d0_2000, Class::Copy),
            (0xe320_f003, Class::Copy),
            // bx lr; mov pc, lr; ldm sp, {fp, sp, pc}; wfe; mrs r0, cpsr
            (0xe12f_ff1e, Class::CopyOrEmulate),
            (0xe1a0_f00e, Class::CopyOrEmulate),
            (0xe89d_a800, Class::CopyOrEmulate),
            (0xe320_f002, Class::CopyOrEmulate),
            (0xe10f_0000, Class::CopyOrEmulate),
            // bl .; blx r0; add r0, pc, r0; push {fp, ip, lr, pc}; str pc, [r0]
            (0xebff_fffe, Class::Emulate),
            (0xe12f_ff30, Class::Emulate),
            (0xe08f_0000, Class::Emulate),
            (0xe92d_d800, Class::EmulateStore),
            (0xe580_f000, Class::EmulateStore),
        ];
        for (word, expected) in cases {
            assert_eq!((word, class(a32(word))), (word, Ok(expected)));
        }
    }

    #[test]
    fn use_of_pc_decides_how_thumb_is_executed() {
        let cases: [(u32, Class); 18] = [
            // adds r0, r0, r1; add sp, #8; push {r4, lr}; nop; str.w r0, [r1]; udiv r0, r1, r2
            (0x1840, Class::Copy),
            (0xb002, Class::Copy),
            (0xb510, Class::Copy),
            (0xbf00, Class::Copy),
            (0xf8c1_0000, Class::Copy),
            (0xfbb1_f0f2, Class::Copy),
            // bx lr; pop {r4, pc}; ldr.w pc, [r0]; mov pc, r0; cpsid i
            (0x4770, Class::CopyOrEmulate),
            (0xbd10, Class::CopyOrEmulate),
            (0xf8d0_f000, Class::CopyOrEmulate),
            (0x4687, Class::CopyOrEmulate),
            (0xb672, Class::CopyOrEmulate),
            // b .; cbz r0, .+4; ite eq; ldr r0, [pc, #4]; adr r0, .+4; tbb [pc, r0]; add r0, pc
            (0xe7fe, Class::Emulate),
            (0xb100, Class::Emulate),
            (0xbf0c, Class::Emulate),
            (0x4801, Class::Emulate),
            (0xa000, Class::Emulate),
            (0xe8df_f000, Class::Emulate),
            (0x4478, Class::Emulate),
        ];
        for (word, expected) in cases {
            assert_eq!((word, class(thumb(word))), (word, Ok(expected)));
        }
    }

    #[test]
    fn refusals_have_reasons() {
        let cases: [(u32, Refusal); 31] = [
            // svc #0; udf #0; bkpt #0; smc #0; hvc #0; rfeia r0; srsia sp!, #19
            (0xef00_0000, Refusal::SystemCall),
            (0xe7f0_00f0, Refusal::AlwaysTraps),
            (0xe120_0070, Refusal::AlwaysTraps),
            (0xe160_0070, Refusal::WorldSwitch),
            (0xe140_0070, Refusal::WorldSwitch),
            (0xf890_0a00, Refusal::InterruptReturn),
            (0xf8ed_0513, Refusal::UnsavedRegister),
            // subs pc, lr, #4; movs pc, lr; ldm sp, {r0, pc}^; stm r0, {pc}^
            (0xe25e_f004, Refusal::InterruptReturn),
            (0xe1b0_f00e, Refusal::InterruptReturn),
            (0xe8dd_8001, Refusal::InterruptReturn),
            (0xe8c0_8000, Refusal::BoundToPlace),
            // mrs r0, spsr; msr spsr_fc, r0; mrs r0, sp_usr; cps #31; msr cpsr_c, #0xdf; setend be
            (0xe14f_0000, Refusal::UnsavedRegister),
            (0xe169_f000, Refusal::UnsavedRegister),
            (0xe105_0200, Refusal::UnsavedRegister),
            (0xf102_001f, Refusal::ChangesVectors),
            (0xe321_f0df, Refusal::ChangesVectors),
            (0xf101_0200, Refusal::BoundToPlace),
            // strexd r0, r2, r3, [r1]; vldr d0, [pc]; bxj r0; swp pc, r0, [r1]
            (0xe1a1_0f92, Refusal::Transaction),
            (0xed9f_0b00, Refusal::BoundToPlace),
            (0xe12f_ff20, Refusal::BoundToPlace),
            (0xe101_f090, Refusal::InvalidInsn),
            // mcr p15, #0, r0, c1, c0, #0; mcr p15, #0, r0, c13, c0, #4; mul pc, r0, r1
            (0xee01_0f10, Refusal::ChangesVectors),
            (0xee0d_0f90, Refusal::ChangesCpuBase),
            (0xe00f_0190, Refusal::InvalidInsn),
            // Undefined: parallel addition, extension; ldc p0, c0, [r0]; mcr2 p15; cdp p15
            (0xe600_0f10, Refusal::InvalidInsn),
            (0xe610_0fb0, Refusal::InvalidInsn),
            (0xe650_0fd0, Refusal::InvalidInsn),
            (0xe690_0070, Refusal::InvalidInsn),
            (0xed90_0000, Refusal::InvalidInsn),
            (0xfe00_0f10, Refusal::InvalidInsn),
            (0xee00_0f00, Refusal::InvalidInsn),
        ];
        for (word, reason) in cases {
            assert_eq!((word, class(a32(word))), (word, Err(reason)));
        }
        let cases: [(u32, Refusal); 9] = [
            // svc #0; udf #24; bkpt #0; setend be; strex r0, r1, [r2]; lda r0, [pc]
            (0xdf00, Refusal::SystemCall),
            (0xde18, Refusal::AlwaysTraps),
            (0xbe00, Refusal::AlwaysTraps),
            (0xb658, Refusal::BoundToPlace),
            (0xe842_1000, Refusal::Transaction),
            (0xe8df_0faf, Refusal::InvalidInsn),
            // subs pc, lr, #4; mrs r0, spsr; add.w pc, r0, r1
            (0xf3de_8f04, Refusal::InterruptReturn),
            (0xf3ff_8000, Refusal::UnsavedRegister),
            (0xeb00_0f01, Refusal::InvalidInsn),
        ];
        for (word, reason) in cases {
            assert_eq!((word, class(thumb(word))), (word, Err(reason)));
        }
    }
}
