// SPDX-License-Identifier: GPL-2.0

//! A decoded instruction.
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
//! All parts except the opcode are optional. 3DNow! has its opcode at the end. [`Insn`] contains
//! the bytes of the instruction and every value that depends on the encoding (registers, segment,
//! mandatory prefix), so the files that use it parse no bytes.
//!
//! An opcode byte has no meaning without its opcode map: EB is a jump in one map and VPOR in
//! another. [`Opcode`] therefore contains both.
//!
//! C counterpart: `struct insn` in [`arch/x86/include/asm/insn.h`](
//! srctree/arch/x86/include/asm/insn.h).

/// The length of the longest instruction.
pub(crate) const MAX_INSN: usize = 15;

/// An opcode and its opcode map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// The one-byte map.
    Primary(u8),
    /// The two-byte map, after 0F.
    TwoByte(u8),
    /// The three-byte map after 0F 38.
    ThreeByte38(u8),
    /// The three-byte map after 0F 3A.
    ThreeByte3A(u8),
    /// The 3DNow! map: the opcode follows 0F 0F, ModRM and displacement.
    ThreeDNow(u8),
    /// The one-byte map after REX2. A1 is JMPABS here, and no relative branch exists.
    Rex2Primary(u8),
    /// The two-byte map after REX2, which replaces 0F.
    Rex2TwoByte(u8),
    /// The number of a map of VEX, and the opcode in it.
    Vex(u8, u8),
    /// The number of a map of EVEX, and the opcode; map 4 has the legacy instructions of APX.
    Evex(u8, u8),
    /// The number of a map of XOP, and the opcode in it.
    Xop(u8, u8),
}

/// A legacy prefix, as a bit of a set. Segment overrides are in [`Segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Prefix {
    /// 66
    OperandSize = 1 << 0,
    /// 67
    AddressSize = 1 << 1,
    /// F0
    Lock = 1 << 2,
    /// F2
    Repne = 1 << 3,
    /// F3
    Rep = 1 << 4,
}

/// The segments that have a base address in 64-bit mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Fs,
    Gs,
}

/// The mandatory prefix, which selects one of several instructions with the same opcode.
///
/// VEX and EVEX encode the mandatory prefix in their pp field, with these numbers. Of legacy
/// prefixes, the last of F2 and F3 counts, and 66 counts only without F2 and F3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Pp {
    None = 0,
    P66 = 1,
    PF3 = 2,
    PF2 = 3,
}

/// The ModRM byte.
///
/// ```text
///   7   6   5   4   3   2   1   0
/// +-------+-----------+-----------+
/// |  mod  |    reg    |    rm     |
/// +-------+-----------+-----------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModRm(pub(super) u8);

impl ModRm {
    /// Returns the mod field: the size of the displacement. 3 means that rm is a register.
    pub(super) fn mode(self) -> u8 {
        self.0 >> 6
    }

    /// Returns the reg field: a register, or the number of an instruction in a group.
    pub(crate) fn reg(self) -> u8 {
        (self.0 >> 3) & 7
    }

    /// Returns the rm field: a register, or the base register of a memory operand.
    pub(crate) fn rm(self) -> u8 {
        self.0 & 7
    }

    /// Returns whether mod says that rm is a register.
    ///
    /// MOV of control and debug registers ignores mod: rm is always a register.
    pub(crate) fn is_register(self) -> bool {
        self.mode() == 3
    }
}

/// The position of a part of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Number of bytes before the part.
    pub(crate) offset: u8,
    /// Number of bytes of the part, never zero.
    pub(crate) size: u8,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Insn {
    /// The opcode and its opcode map.
    pub(crate) opcode: Opcode,
    /// The mandatory prefix, or the pp field of VEX and EVEX.
    pub(crate) pp: Pp,
    /// The set of legacy prefixes.
    pub(super) prefixes: u8,
    /// The segment override. Of several, the last one counts.
    pub(super) segment: Option<Segment>,
    /// The W bit of REX, REX2, VEX, EVEX or XOP: operands have 64 bits.
    pub(crate) wide: bool,
    /// The bits that REX or REX2 adds to the rm field of ModRM or to the base field of SIB.
    pub(super) base_extension: u8,
    /// The bits that REX or REX2 adds to the index field of SIB.
    pub(super) index_extension: u8,
    pub(crate) modrm: Option<ModRm>,
    pub(crate) sib: Option<u8>,
    /// The displacement, or the address in MOV from and to an absolute address.
    pub(crate) displacement: Option<Field>,
    /// The immediate, or both immediates. A relative branch has its distance here.
    pub(crate) immediate: Option<Field>,
    /// Bytes from `len` on are zero.
    pub(super) bytes: [u8; MAX_INSN],
    pub(super) len: u8,
}

impl Insn {
    /// Returns the length in bytes, from 1 to 15.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns the bytes of the instruction.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or_default()
    }

    /// Returns whether the instruction has this legacy prefix, with or without an effect.
    pub(crate) fn has(&self, prefix: Prefix) -> bool {
        self.prefixes & prefix as u8 != 0
    }

    /// Returns the reg field of ModRM: the number of the instruction in a group.
    pub(super) fn group(&self) -> Option<u8> {
        self.modrm.map(ModRm::reg)
    }

    /// Returns the number of the general register in rm, if rm is a register. For VEX, EVEX and XOP
    /// the high bits of the number are missing.
    pub(super) fn rm_register(&self) -> Option<u8> {
        let modrm = self.modrm.filter(|modrm| modrm.is_register())?;
        Some(modrm.rm() | self.base_extension)
    }

    /// Returns the displacement, if the CPU adds it to the address of the next instruction: mod is
    /// 0 and rm is 5.
    pub(crate) fn rip_relative(&self) -> Option<Field> {
        let modrm = self.modrm?;
        self.displacement
            .filter(|_| modrm.mode() == 0 && modrm.rm() == 5)
    }

    /// Returns the value of the displacement, or zero.
    pub(super) fn displacement_value(&self) -> i64 {
        self.displacement.map_or(0, |field| self.value(field))
    }

    /// Returns the value of the immediate, or zero.
    pub(super) fn immediate_value(&self) -> i64 {
        self.immediate.map_or(0, |field| self.value(field))
    }

    /// Returns the signed number in a field.
    fn value(&self, field: Field) -> i64 {
        let mut value = [0; 8];
        let bytes = self.bytes.iter().skip(field.offset.into());
        for (to, from) in value.iter_mut().zip(bytes) {
            *to = *from;
        }
        let unused = 64_u32.wrapping_sub(8 * u32::from(field.size));
        i64::from_le_bytes(value)
            .wrapping_shl(unused)
            .wrapping_shr(unused)
    }
}
