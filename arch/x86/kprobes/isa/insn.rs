// SPDX-License-Identifier: GPL-2.0

//! One decoded instruction.
//!
//! ```text
//! +----------+----------------+--------+-------+-----+--------------+-----------+
//! | prefixes |     escape     | opcode | ModRM | SIB | displacement | immediate |
//! +----------+----------------+--------+-------+-----+--------------+-----------+
//!   legacy     REX, REX2,       1        1       1     1, 4 or 8      1, 2, 3,
//!              VEX, EVEX, XOP,                         bytes          4 or 8
//!              0F, 0F38, 0F3A                                         bytes
//! ```
//!
//! All but the opcode may be missing. 3DNow! has its opcode at the end instead. The byte of an
//! opcode means nothing without its map, so [`Opcode`] has both and gives out neither alone: EB is
//! a jump in one map and VPOR in another.

#![cfg_attr(
    not(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST)),
    expect(dead_code, reason = "the first user is what prepares a probe")
)]

use super::flow::{
    self,
    Flow, //
};
use crate::prelude::*;

/// The longest instruction.
pub(crate) const MAX_INSN: usize = 15;

/// An opcode, in the map that its encoding chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// One byte.
    Primary(u8),
    /// After 0F.
    TwoByte(u8),
    /// After 0F 38.
    ThreeByte38(u8),
    /// After 0F 3A.
    ThreeByte3A(u8),
    /// After 0F 0F, ModRM and displacement.
    ThreeDNow(u8),
    /// A one-byte opcode after REX2. A1 is JMPABS here, and none of the relative branches exist.
    Rex2Primary(u8),
    /// A two-byte opcode after REX2, which stands for the 0F as well.
    Rex2TwoByte(u8),
    /// In the numbered map of VEX.
    Vex(u8, u8),
    /// In the numbered map of EVEX; map 4 has the legacy instructions of APX.
    Evex(u8, u8),
    /// In the numbered map of XOP.
    Xop(u8, u8),
}

/// A legacy prefix, as a bit in a set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Prefix {
    /// 66
    OperandSize = 1 << 0,
    /// 67
    AddressSize = 1 << 1,
    /// F0
    Lock = 1 << 2,
    /// F2
    RepeatNotEqual = 1 << 3,
    /// F3
    Repeat = 1 << 4,
    /// 26
    Es = 1 << 5,
    /// 2E
    Cs = 1 << 6,
    /// 36
    Ss = 1 << 7,
    /// 3E, which also means NOTRACK
    Ds = 1 << 8,
    /// 64
    Fs = 1 << 9,
    /// 65
    Gs = 1 << 10,
}

/// Which mandatory prefix chooses among the instructions of an opcode.
///
/// VEX and EVEX have it as a field with these numbers. Of legacy prefixes the last of F2 and F3
/// counts, 66 only without those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Selector {
    None = 0,
    OperandSize = 1,
    Repeat = 2,
    RepeatNotEqual = 3,
}

/// ```text
///   7   6   5   4   3   2   1   0
/// +-------+-----------+-----------+
/// |  mod  |    reg    |    rm     |
/// +-------+-----------+-----------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModRm(pub(super) u8);

impl ModRm {
    /// Which register, or which instruction of a group.
    pub(crate) fn reg(self) -> u8 {
        (self.0 >> 3) & 7
    }

    /// Which register, or how memory is addressed.
    pub(crate) fn rm(self) -> u8 {
        self.0 & 7
    }

    /// How large the displacement is; 3 is no memory but a register.
    pub(super) fn mode(self) -> u8 {
        self.0 >> 6
    }

    /// Does rm name a register?
    ///
    /// It does also in MOV of control and debug registers, whatever this says.
    pub(crate) fn is_register(self) -> bool {
        self.mode() == 3
    }

    /// Place in a row of a group: the instructions for memory, then those for registers.
    pub(super) fn group(self) -> usize {
        usize::from(self.reg()) | usize::from(self.is_register()) << 3
    }
}

/// Where a part of an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bytes before it.
    pub(crate) offset: u8,
    /// Bytes in it, not zero where it is given out.
    pub(crate) size: u8,
}

impl Field {
    pub(super) const NONE: Self = Self { offset: 0, size: 0 };

    fn some(self) -> Option<Self> {
        (self.size != 0).then_some(self)
    }
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Insn {
    pub(super) opcode: Opcode,
    pub(super) selector: Selector,
    /// The set of legacy prefixes.
    pub(super) prefixes: u16,
    /// Operands of 64 bits, by REX, REX2, VEX, EVEX or XOP.
    pub(super) wide: bool,
    /// What REX or REX2 adds to rm.
    pub(super) rm_extension: u8,
    pub(super) modrm: Option<ModRm>,
    pub(super) rip_relative: bool,
    pub(super) escape_at: u8,
    pub(super) opcode_at: u8,
    pub(super) modrm_at: u8,
    pub(super) sib: bool,
    pub(super) displacement: Field,
    pub(super) immediate: Field,
    pub(super) value: i64,
    pub(super) len: u8,
}

impl Insn {
    /// Bytes in all, from 1 to 15.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The opcode in its map.
    pub(crate) fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The mandatory prefix.
    pub(crate) fn selector(&self) -> Selector {
        self.selector
    }

    /// Is this legacy prefix there, whether or not it has an effect?
    pub(crate) fn has(&self, prefix: Prefix) -> bool {
        self.prefixes & prefix as u16 != 0
    }

    /// Does W of REX, REX2, VEX, EVEX or XOP ask for operands of 64 bits?
    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }

    /// The ModRM byte.
    pub(crate) fn modrm(&self) -> Option<ModRm> {
        self.modrm
    }

    /// The number of the general register in ModRM's rm, if a legacy encoding names one.
    pub(crate) fn rm_register(&self) -> Option<u8> {
        let modrm = self.modrm.filter(|modrm| modrm.is_register())?;
        match self.opcode {
            Opcode::Primary(_)
            | Opcode::TwoByte(_)
            | Opcode::ThreeByte38(_)
            | Opcode::ThreeByte3A(_)
            | Opcode::Rex2Primary(_)
            | Opcode::Rex2TwoByte(_) => Some(modrm.rm() | self.rm_extension),
            Opcode::ThreeDNow(_) | Opcode::Vex(..) | Opcode::Evex(..) | Opcode::Xop(..) => None,
        }
    }

    /// The legacy prefixes, and REX that has no effect because some follow it.
    pub(crate) fn prefix_field(&self) -> Option<Field> {
        Field {
            offset: 0,
            size: self.escape_at,
        }
        .some()
    }

    /// What leads to the opcode's map: REX, REX2, VEX, EVEX, XOP, 0F, 0F38, 0F3A.
    pub(crate) fn escape_field(&self) -> Option<Field> {
        let end = match self.opcode {
            Opcode::ThreeDNow(_) => self.modrm_at,
            _ => self.opcode_at,
        };
        Field {
            offset: self.escape_at,
            size: end.wrapping_sub(self.escape_at),
        }
        .some()
    }

    /// The opcode's byte.
    pub(crate) fn opcode_field(&self) -> Field {
        Field {
            offset: self.opcode_at,
            size: 1,
        }
    }

    /// ModRM.
    pub(crate) fn modrm_field(&self) -> Option<Field> {
        self.modrm.map(|_| Field {
            offset: self.modrm_at,
            size: 1,
        })
    }

    /// SIB.
    pub(crate) fn sib_field(&self) -> Option<Field> {
        self.sib.then_some(Field {
            offset: self.modrm_at.wrapping_add(1),
            size: 1,
        })
    }

    /// The displacement, also the whole address in MOV from and to a fixed address.
    pub(crate) fn displacement_field(&self) -> Option<Field> {
        self.displacement.some()
    }

    /// The displacement, if the instruction's end has to be added to it.
    pub(crate) fn rip_relative_field(&self) -> Option<Field> {
        self.rip_relative.then_some(self.displacement)
    }

    /// The immediate, all of them where there are two; relative branches have their distance here.
    pub(crate) fn immediate_field(&self) -> Option<Field> {
        self.immediate.some()
    }

    /// The immediate as a signed number, zero if there is none.
    pub(crate) fn immediate(&self) -> i64 {
        self.value
    }

    /// Where execution goes from here.
    pub(crate) fn flow(&self) -> Flow {
        flow::of(self)
    }

    /// Where a branch leads that has its target in itself, if this is one and stands at `at`.
    pub(crate) fn target(&self, at: TextAddr) -> Option<TextAddr> {
        let value = self.value as u64;
        match self.flow() {
            Flow::Jump
            | Flow::ConditionalJump
            | Flow::CountedJump
            | Flow::Call
            | Flow::Transaction => {
                // As in the CPU, addresses wrap.
                let end = at.get().wrapping_add(u64::from(self.len));
                Some(TextAddr::new(end.wrapping_add(value)))
            }
            Flow::AbsoluteJump => Some(TextAddr::new(value)),
            _ => None,
        }
    }
}
