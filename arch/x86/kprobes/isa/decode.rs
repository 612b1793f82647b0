// SPDX-License-Identifier: GPL-2.0

//! Decodes the bytes of one instruction, for all of 64-bit mode.
//!
//! [`Decoder`] reads the bytes in order and each byte once: the prefixes, the escape bytes or the
//! fields of VEX, EVEX, XOP or REX2, the opcode, and the operands that follow the opcode by the
//! generated tables ([`Form`]). A decision never depends on bytes that may be missing.
//!
//! Where Intel's and AMD's CPUs differ, the decoder is Intel's: an operand-size prefix does not
//! shorten the distance of near branches, and UD0 has a ModRM byte. The decoder accepts
//! combinations that are reserved but change neither length nor class of an instruction (LOCK where
//! LOCK is not allowed, vector lengths, mask registers).
//!
//! C counterpart: [`arch/x86/lib/insn.c`](srctree/arch/x86/lib/insn.c), which does not tell what an
//! instruction does, and measures only what a CPU accepts; see `decoder.rst`.

use super::{
    form::{
        Form,
        Table, //
    },
    insn::{
        Field,
        Insn,
        ModRm,
        Opcode,
        Pp,
        Prefix,
        Segment,
        MAX_INSN, //
    },
    opcodes, //
};
use crate::prelude::*;

/// Decodes the instruction at the start of `bytes`, and ignores the bytes after it.
///
/// [`Refusal::TruncatedInsn`] means that more bytes could complete an instruction,
/// [`Refusal::InvalidInsn`] that no instruction starts with these bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<Insn, Refusal> {
    let mut decoder = Decoder {
        bytes: bytes.get(..MAX_INSN).unwrap_or(bytes),
        at: 0,
        rex: 0,
        insn: Insn {
            opcode: Opcode::Primary(0),
            pp: Pp::None,
            prefixes: 0,
            segment: None,
            wide: false,
            base_extension: 0,
            index_extension: 0,
            modrm: None,
            sib: None,
            displacement: None,
            immediate: None,
            bytes: [0; MAX_INSN],
            len: 0,
        },
    };
    let first = decoder.prefixes()?;
    let (opcode, table, byte) = decoder.opcode(first)?;
    decoder.insn.opcode = opcode;
    decoder.operands(table, byte)?;
    decoder.insn.len = decoder.at;
    let mut insn = decoder.insn;
    let len = insn.len();
    for (to, from) in insn.bytes.iter_mut().zip(bytes).take(len) {
        *to = *from;
    }
    Ok(insn)
}

const JMPABS: u8 = 0xa1;
const THREE_D_NOW: u8 = 0x0f;

/// First bytes of the encodings with fields in the place of prefixes and escape bytes.
const VEX2: u8 = 0xc5;
const VEX3: u8 = 0xc4;
const EVEX: u8 = 0x62;
const REX2: u8 = 0xd5;
/// XOP, if the map field is at least 8. POP with reg 0 in ModRM has smaller values there.
const XOP: u8 = 0x8f;
const XOP_FIRST_MAP: u8 = 8;
const MAP: u8 = 0x1f;

/// The state of decoding an instruction.
struct Decoder<'a> {
    /// At most [`MAX_INSN`] bytes.
    bytes: &'a [u8],
    /// Number of bytes that were read, at most [`MAX_INSN`].
    at: u8,
    /// REX, if the last byte that was read as a prefix is REX; else zero.
    rex: u8,
    insn: Insn,
}

impl Decoder<'_> {
    /// Returns the next byte, without reading it.
    #[inline]
    fn peek(&self) -> Result<u8, Refusal> {
        let byte = self.bytes.get(usize::from(self.at)).copied();
        byte.ok_or_else(|| self.ends(self.at))
    }

    #[inline]
    fn next(&mut self) -> Result<u8, Refusal> {
        let byte = self.peek()?;
        self.at = self.at.wrapping_add(1);
        Ok(byte)
    }

    /// Reads a field of `size` bytes.
    #[inline]
    fn field(&mut self, size: u8) -> Result<Option<Field>, Refusal> {
        let offset = self.at;
        let end = offset.wrapping_add(size);
        if usize::from(end) > self.bytes.len() {
            return Err(self.ends(end));
        }
        self.at = end;
        Ok(Some(Field { offset, size }))
    }

    /// Returns why the bytes before `end` are missing: the text ends, or the instruction would be
    /// too long.
    #[cold]
    fn ends(&self, end: u8) -> Refusal {
        if self.bytes.len() < MAX_INSN && usize::from(end) <= MAX_INSN {
            Refusal::TruncatedInsn
        } else {
            Refusal::InvalidInsn
        }
    }

    /// Reads legacy prefixes and REX, and returns the byte after them.
    ///
    /// Prefixes may be in any order and may be repeated. REX has an effect only as the last one.
    ///
    /// ```text
    ///   7   6   5   4   3   2   1   0
    /// +---------------+---+---+---+---+
    /// | 0   1   0   0 | W | R | X | B |     REX
    /// +---------------+---+---+---+---+
    /// ```
    #[inline]
    fn prefixes(&mut self) -> Result<u8, Refusal> {
        loop {
            let byte = self.next()?;
            let insn = &mut self.insn;
            match byte {
                0x40..=0x4f => {
                    self.rex = byte;
                    continue;
                }
                // ES, CS, SS and DS have no base address in 64-bit mode.
                0x26 | 0x2e | 0x36 | 0x3e => {}
                0x64 => insn.segment = Some(Segment::Fs),
                0x65 => insn.segment = Some(Segment::Gs),
                0x66 => {
                    insn.prefixes |= Prefix::OperandSize as u8;
                    if insn.pp == Pp::None {
                        insn.pp = Pp::P66;
                    }
                }
                0x67 => insn.prefixes |= Prefix::AddressSize as u8,
                0xf0 => insn.prefixes |= Prefix::Lock as u8,
                0xf2 => {
                    insn.prefixes |= Prefix::Repne as u8;
                    insn.pp = Pp::PF2;
                }
                0xf3 => {
                    insn.prefixes |= Prefix::Rep as u8;
                    insn.pp = Pp::PF3;
                }
                _ => return Ok(byte),
            }
            self.rex = 0;
        }
    }

    /// Reads from `first`, which follows the prefixes, to the opcode. Returns the opcode, the table
    /// of its map and the opcode byte.
    ///
    /// ```text
    ///              +----+
    ///              | op |                                   one-byte map
    ///         +----+----+
    ///         | 0F | op |                                   two-byte map
    ///    +----+----+----+
    ///    | 0F | 38 | op |                                   three-byte maps, 38 or 3A
    ///    +----+----+----+-------+- - - -+----+
    ///    | 0F | 0F | ModRM      | disp. | op |              3DNow!
    ///    +----+----+------------+- - - -+----+
    /// ```
    #[inline]
    fn opcode(&mut self, first: u8) -> Result<(Opcode, &'static Table, u8), Refusal> {
        match first {
            EVEX | VEX2 | VEX3 => return self.vector(first),
            XOP if self.peek()? & MAP >= XOP_FIRST_MAP => return self.vector(first),
            REX2 => return self.rex2(),
            _ => self.extend(self.rex),
        }
        if first != 0x0f {
            return Ok((Opcode::Primary(first), &opcodes::PRIMARY, first));
        }
        match self.next()? {
            0x38 => {
                let byte = self.next()?;
                Ok((Opcode::ThreeByte38(byte), &opcodes::THREE_BYTE_38, byte))
            }
            0x3a => {
                let byte = self.next()?;
                Ok((Opcode::ThreeByte3A(byte), &opcodes::THREE_BYTE_3A, byte))
            }
            byte => Ok((Opcode::TwoByte(byte), &opcodes::TWO_BYTE, byte)),
        }
    }

    /// Reads VEX, EVEX or XOP, and the opcode.
    ///
    /// ```text
    /// | C5 | R vvvv L pp     | op |                            VEX of 2 bytes: map 1, W 0
    /// | C4 | R X B map       | W vvvv L pp | op |              VEX of 3 bytes
    /// | 8F | R X B map       | W vvvv L pp | op |              XOP: pp has to be 0
    /// | 62 | R X B R4 B4 map | W vvvv U pp | z L b V a | op |  EVEX
    /// ```
    fn vector(&mut self, first: u8) -> Result<(Opcode, &'static Table, u8), Refusal> {
        // Fields replace all prefixes but the address size.
        if self.rex != 0 || self.insn.prefixes & !(Prefix::AddressSize as u8) != 0 {
            return Err(Refusal::InvalidInsn);
        }
        let map = match first {
            VEX2 => 1,
            EVEX => self.next()? & 0x07,
            _ => self.next()? & MAP,
        };
        let (tables, opcode): (_, fn(u8, u8) -> Opcode) = match first {
            EVEX => (&opcodes::EVEX, Opcode::Evex),
            XOP => (&opcodes::XOP, Opcode::Xop),
            _ => (&opcodes::VEX, Opcode::Vex),
        };
        let table = tables.get(usize::from(map)).copied().flatten();
        let table = table.ok_or(Refusal::InvalidInsn)?;
        let fields = self.next()?;
        if first == EVEX {
            self.next()?;
        }
        let byte = self.next()?;
        self.insn.wide = first != VEX2 && fields & 0x80 != 0;
        self.insn.pp = match fields & 0b11 {
            0 => Pp::None,
            _ if first == XOP => return Err(Refusal::InvalidInsn),
            1 => Pp::P66,
            2 => Pp::PF3,
            _ => Pp::PF2,
        };
        Ok((opcode(map, byte), table, byte))
    }

    /// Reads the second byte of REX2, and the opcode.
    ///
    /// ```text
    /// +----+---+----+----+----+---+---+---+---+----+
    /// | D5 | M | R4 | X4 | B4 | W | R | X | B | op |
    /// +----+---+----+----+----+---+---+---+---+----+
    /// ```
    /// M selects the one-byte or the two-byte map. Escape bytes and prefixes are no opcodes here.
    fn rex2(&mut self) -> Result<(Opcode, &'static Table, u8), Refusal> {
        if self.rex != 0 {
            return Err(Refusal::InvalidInsn);
        }
        let fields = self.next()?;
        let byte = self.next()?;
        self.extend(fields);
        Ok(if fields & 0x80 != 0 {
            (Opcode::Rex2TwoByte(byte), &opcodes::TWO_BYTE, byte)
        } else {
            (Opcode::Rex2Primary(byte), &opcodes::PRIMARY, byte)
        })
    }

    /// Notes W, X and B of REX or REX2, and X4 and B4 of REX2, which are 0 in REX.
    fn extend(&mut self, rex: u8) {
        self.insn.wide = rex & 0b1000 != 0;
        self.insn.base_extension = (rex & 0b0001) << 3 | rex & 0b01_0000;
        self.insn.index_extension = (rex & 0b0010) << 2 | (rex & 0b10_0000) >> 1;
    }

    /// Reads everything that follows the opcode `byte`.
    fn operands(&mut self, table: &'static Table, byte: u8) -> Result<(), Refusal> {
        if self.insn.opcode == Opcode::Rex2Primary(JMPABS) {
            return self.jmpabs();
        }
        let form = self.form(table, byte)?;
        if let Opcode::Rex2Primary(_) | Opcode::Rex2TwoByte(_) = self.insn.opcode {
            if !form.takes_rex2() {
                return Err(Refusal::InvalidInsn);
            }
        }
        if form.has_modrm() {
            self.modrm(form)?;
        }
        self.immediate(form)?;
        if self.insn.opcode == Opcode::TwoByte(THREE_D_NOW) {
            // The immediate, which is the last byte, is the opcode.
            let last = usize::from(self.at).wrapping_sub(1);
            let byte = self.bytes.get(last).copied().unwrap_or_default();
            self.form(&opcodes::THREE_D_NOW, byte)?;
            self.insn.opcode = Opcode::ThreeDNow(byte);
            self.insn.immediate = None;
        }
        Ok(())
    }

    #[inline]
    fn form(&self, table: &'static Table, opcode: u8) -> Result<Form, Refusal> {
        Form::find(table, opcode, self.insn.pp, || Ok(ModRm(self.peek()?)))
    }

    /// Reads ModRM, and the SIB and displacement that ModRM asks for.
    ///
    /// ```text
    /// +-----------+-------------------------------------------+
    /// | mod       | rm 4: SIB follows, else rm is a register  |
    /// | 00        | no displacement; rm 5: RIP and 4 bytes;   |
    /// |           | SIB with base 5: 4 bytes                  |
    /// | 01        | 1 byte                                    |
    /// | 10        | 4 bytes                                   |
    /// | 11        | no memory                                 |
    /// +-----------+-------------------------------------------+
    /// ```
    #[inline]
    fn modrm(&mut self, form: Form) -> Result<(), Refusal> {
        let modrm = ModRm(self.next()?);
        self.insn.modrm = Some(modrm);
        if modrm.is_register() || form.is_fixed() {
            return Ok(());
        }
        let mut base = modrm.rm();
        if base == 4 {
            let sib = self.next()?;
            self.insn.sib = Some(sib);
            base = sib & 7;
        }
        self.insn.displacement = match modrm.mode() {
            1 => self.field(1)?,
            0 if base != 5 => None,
            _ => self.field(4)?,
        };
        Ok(())
    }

    /// Reads the immediate, or an absolute address.
    #[inline]
    fn immediate(&mut self, form: Form) -> Result<(), Refusal> {
        let insn = &self.insn;
        // EVEX encodes the operand-size prefix in pp. The instructions of APX use pp as the prefix.
        let sixteen = match insn.opcode {
            Opcode::Evex(..) => insn.pp == Pp::P66,
            _ => insn.has(Prefix::OperandSize),
        };
        let size = form.immediate_size(sixteen, insn.wide, insn.has(Prefix::AddressSize));
        if size == 0 {
            return Ok(());
        }
        let field = self.field(size)?;
        if form.has_address() {
            self.insn.displacement = field;
        } else {
            self.insn.immediate = field;
        }
        Ok(())
    }

    /// Reads the operand of JMPABS.
    ///
    /// ```text
    /// +----+---------------+----+---------------------------+
    /// | D5 | 0 ... 0 ...   | A1 |          address          |
    /// +----+---------------+----+---------------------------+
    /// ```
    /// W has to be 0. Prefixes other than segment overrides are not allowed.
    fn jmpabs(&mut self) -> Result<(), Refusal> {
        if self.insn.wide || self.insn.prefixes != 0 {
            return Err(Refusal::InvalidInsn);
        }
        self.insn.immediate = self.field(8)?;
        Ok(())
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_decode))]
mod tests {
    use super::*;

    /// Instructions, whole.
    const WHOLE: &[&[u8]] = &[
        // nop; push %rax; lock incl (%rax)
        &[0x90],
        &[0x50],
        &[0xf0, 0xff, 0x00],
        // mov $imm64,%rax; mov $imm16,%ax; mov $imm32,%eax
        &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x66, 0xb8, 1, 2],
        &[0xb8, 1, 2, 3, 4],
        // movabs from an address of 8 and of 4 bytes
        &[0xa1, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x67, 0xa1, 1, 2, 3, 4],
        // enter; ret imm16; int; testb, notb in one group
        &[0xc8, 1, 2, 3],
        &[0xc2, 1, 2],
        &[0xcd, 0x80],
        &[0xf6, 0x00, 1],
        &[0xf6, 0x10],
        // Each kind of addressing.
        &[0x8b, 0x00],
        &[0x8b, 0x04, 0x24],
        &[0x8b, 0x04, 0x25, 1, 2, 3, 4],
        &[0x8b, 0x05, 1, 2, 3, 4],
        &[0x8b, 0x40, 1],
        &[0x8b, 0x44, 0x24, 1],
        &[0x8b, 0x80, 1, 2, 3, 4],
        &[0x8b, 0xc0],
        // mov %cr0,%rax, with a mod that means nothing
        &[0x0f, 0x20, 0x04],
        // endbr64; ud2; ud1; ud0; udb
        &[0xf3, 0x0f, 0x1e, 0xfa],
        &[0x0f, 0x0b],
        &[0x0f, 0xb9, 0x00],
        &[0x0f, 0xff, 0x00],
        &[0xd6],
        // vmread and what SSE4a made of its opcode
        &[0x0f, 0x78, 0xc0],
        &[0x66, 0x0f, 0x78, 0xc0, 1, 2],
        // pshufb; palignr; pfadd
        &[0x0f, 0x38, 0x00, 0x00],
        &[0x66, 0x0f, 0x3a, 0x0f, 0xc0, 1],
        &[0x0f, 0x0f, 0x40, 1, 0x9e],
        // vzeroupper; vpor; vpalignr; urdmsr
        &[0xc5, 0xf8, 0x77],
        &[0xc5, 0xf5, 0xeb, 0x05, 1, 2, 3, 4],
        &[0xc4, 0xe3, 0x71, 0x0f, 0x44, 0x24, 1, 2],
        &[0xc4, 0xe7, 0x7b, 0xf8, 0xc0, 1, 2, 3, 4],
        // vmovdqa32; add with operands of 16 bits by APX; vaddph
        &[0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x44, 0x24, 1],
        &[0x62, 0xf4, 0x7d, 0x18, 0x81, 0x05, 1, 2, 3, 4, 5, 6],
        &[0x62, 0xf5, 0x7c, 0x48, 0x58, 0xc1],
        // bextr by XOP; pop, which shares its first byte
        &[0x8f, 0xea, 0x78, 0x10, 0xc1, 1, 2, 3, 4],
        &[0x8f, 0x00],
        // imul by REX2; jmpabs
        &[0xd5, 0x99, 0xaf, 0x44, 0x24, 1],
        &[0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8],
        // As long as can be.
        &[
            0x2e, 0x2e, 0x2e, 0x48, 0xc7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8,
        ],
    ];

    /// No instructions in 64-bit mode, whatever follows.
    const INVALID: &[&[u8]] = &[
        &[0x06],
        &[0x27],
        &[0x60],
        &[0x82],
        &[0x9a],
        &[0xce],
        &[0xd4],
        &[0xea],
        // Groups with holes.
        &[0x8c, 0x30],
        &[0xfe, 0x10],
        &[0xff, 0x38],
        &[0xff, 0xd8],
        &[0x0f, 0xba, 0x00],
        // Operands that must be memory, that must be registers.
        &[0x8d, 0xc0],
        &[0x66, 0x0f, 0x50, 0x00],
        // A mandatory prefix that selects nothing.
        &[0xf3, 0x0f, 0x54],
        &[0x0f, 0x04],
        &[0x0f, 0x38, 0x0c],
        &[0x0f, 0x0f, 0xc0, 0x00],
        // VEX and EVEX after what they replace; their maps without instructions.
        &[0x66, 0xc5],
        &[0x48, 0xc5],
        &[0xf0, 0x62],
        &[0xc4, 0xe0],
        &[0xc4, 0xe4],
        &[0x62, 0xf0],
        &[0x8f, 0xeb],
        // REX2 after REX, before escapes, prefixes, branches; jmpabs with 66.
        &[0x48, 0xd5],
        &[0xd5, 0x00, 0x0f],
        &[0xd5, 0x00, 0x66],
        &[0xd5, 0x00, 0xe8],
        &[0xd5, 0x80, 0x84],
        &[0x66, 0xd5, 0x00, 0xa1],
    ];

    fn opcode(bytes: &[u8]) -> Option<Opcode> {
        decode(bytes).ok().map(|insn| insn.opcode)
    }

    /// Offset and size.
    fn place(field: Option<Field>) -> Option<(u8, u8)> {
        field.map(|field| (field.offset, field.size))
    }

    #[test]
    fn length_ends_with_the_instruction() {
        for bytes in WHOLE {
            assert_eq!(decode(bytes).map(|insn| insn.len()), Ok(bytes.len()));
            let mut longer = [0xcc; 24];
            for (to, from) in longer.iter_mut().zip(*bytes) {
                *to = *from;
            }
            assert_eq!(decode(&longer), decode(bytes));
        }
    }

    #[test]
    fn instructions_cut_short_are_truncated() {
        for bytes in WHOLE {
            let len = decode(bytes).map_or(0, |insn| insn.len());
            assert!(len > 0);
            for short in 0..len {
                assert_eq!(decode(&bytes[..short]), Err(Refusal::TruncatedInsn));
            }
        }
    }

    #[test]
    fn invalid_is_not_truncated() {
        for bytes in INVALID {
            assert_eq!(decode(bytes), Err(Refusal::InvalidInsn));
        }
    }

    #[test]
    fn sixteen_bytes_are_too_many() {
        let prefixes = [0x2e; 16];
        assert_eq!(decode(&prefixes), Err(Refusal::InvalidInsn));
        assert_eq!(decode(&prefixes[..15]), Err(Refusal::InvalidInsn));
        assert_eq!(decode(&prefixes[..14]), Err(Refusal::TruncatedInsn));
        // 12 prefixes leave no room for CALL's distance, even where it is not there.
        let mut call = [0x2e; 12];
        call[11] = 0xe8;
        assert_eq!(decode(&call), Err(Refusal::InvalidInsn));
        assert_eq!(decode(&call[1..]), Err(Refusal::TruncatedInsn));
    }

    #[test]
    fn fields_have_their_positions_and_values() {
        // lock addl $imm32,%gs:disp32(%rsp), with a REX that has no effect
        let bytes = [
            0x48, 0x65, 0x81, 0x84, 0x24, 0x11, 0x22, 0x33, 0x44, 0xfe, 0xff, 0xff, 0xff,
        ];
        let insn = decode(&bytes);
        assert!(insn.is_ok_and(|insn| {
            insn.opcode == Opcode::Primary(0x81)
                && insn.modrm == Some(ModRm(0x84))
                && insn.sib == Some(0x24)
                && place(insn.displacement) == Some((5, 4))
                && insn.displacement_value() == 0x4433_2211
                && place(insn.immediate) == Some((9, 4))
                && insn.immediate_value() == -2
                && insn.rip_relative().is_none()
                && insn.segment == Some(Segment::Gs)
                && !insn.wide
                && insn.bytes() == bytes
        }));
        // REX right before the opcode has an effect.
        let insn = decode(&[0x66, 0x48, 0x8b, 0x00]);
        assert!(insn.is_ok_and(|insn| insn.has(Prefix::OperandSize) && insn.wide));
    }

    #[test]
    fn three_d_now_has_its_opcode_last() {
        let insn = decode(&[0x0f, 0x0f, 0x05, 1, 2, 3, 4, 0xbb]);
        assert!(insn.is_ok_and(|insn| {
            insn.opcode == Opcode::ThreeDNow(0xbb)
                && insn.modrm == Some(ModRm(0x05))
                && place(insn.rip_relative()) == Some((3, 4))
                && insn.immediate.is_none()
        }));
    }

    #[test]
    fn opcodes_have_their_map() {
        assert_eq!(opcode(&[0xeb, 0x00]), Some(Opcode::Primary(0xeb)));
        assert_eq!(opcode(&[0x0f, 0xeb, 0xc0]), Some(Opcode::TwoByte(0xeb)));
        assert_eq!(
            opcode(&[0x0f, 0x38, 0xc9, 0xc0]),
            Some(Opcode::ThreeByte38(0xc9))
        );
        assert_eq!(
            opcode(&[0x0f, 0x3a, 0xcc, 0xc0, 0]),
            Some(Opcode::ThreeByte3A(0xcc))
        );
        assert_eq!(
            opcode(&[0xc5, 0xf5, 0xeb, 0xc0]),
            Some(Opcode::Vex(1, 0xeb))
        );
        assert_eq!(
            opcode(&[0x62, 0xf1, 0x75, 0x48, 0xeb, 0xc0]),
            Some(Opcode::Evex(1, 0xeb))
        );
        assert_eq!(
            opcode(&[0x8f, 0xe9, 0x78, 0xe1, 0xc0]),
            Some(Opcode::Xop(9, 0xe1))
        );
        assert_eq!(opcode(&[0xd5, 0x00, 0x58]), Some(Opcode::Rex2Primary(0x58)));
        assert_eq!(
            opcode(&[0xd5, 0x80, 0xeb, 0xc0]),
            Some(Opcode::Rex2TwoByte(0xeb))
        );
    }

    #[test]
    fn rip_relative_is_mod_0_rm_5_without_sib() {
        let rip = |bytes: &[u8]| decode(bytes).map(|insn| place(insn.rip_relative()));
        assert_eq!(rip(&[0x48, 0x8b, 0x05, 1, 2, 3, 4]), Ok(Some((3, 4))));
        assert_eq!(rip(&[0x8b, 0x04, 0x25, 1, 2, 3, 4]), Ok(None));
        assert_eq!(rip(&[0x8b, 0x45, 1]), Ok(None));
        assert_eq!(rip(&[0x0f, 0x20, 0x05]), Ok(None));
        assert_eq!(
            rip(&[0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x05, 1, 2, 3, 4]),
            Ok(Some((6, 4)))
        );
    }

    #[test]
    fn last_of_the_repeat_prefixes_selects() {
        let pp = |bytes: &[u8]| decode(bytes).map(|insn| insn.pp);
        assert_eq!(pp(&[0xf3, 0xf2, 0x66, 0x0f, 0x10, 0xc0]), Ok(Pp::PF2));
        assert_eq!(pp(&[0xf2, 0xf3, 0x0f, 0x10, 0xc0]), Ok(Pp::PF3));
        assert_eq!(pp(&[0x66, 0x0f, 0x10, 0xc0]), Ok(Pp::P66));
        assert_eq!(pp(&[0xc5, 0xfa, 0x10, 0xc0]), Ok(Pp::PF3));
        assert_eq!(pp(&[0x0f, 0x10, 0xc0]), Ok(Pp::None));
    }

    #[test]
    fn rex_counts_right_before_the_opcode() {
        let wide = |bytes: &[u8]| decode(bytes).map(|insn| insn.wide);
        assert_eq!(wide(&[0x48, 0xff, 0xc0]), Ok(true));
        assert_eq!(wide(&[0x48, 0x66, 0xff, 0xc0]), Ok(false));
        assert_eq!(wide(&[0x48, 0x40, 0xff, 0xc0]), Ok(false));
        assert_eq!(wide(&[0xd5, 0x08, 0xff, 0xc0]), Ok(true));
        assert_eq!(wide(&[0xc4, 0xe1, 0xf9, 0x6e, 0xc0]), Ok(true));
    }

    #[test]
    fn register_in_rm_has_all_its_bits() {
        let register = |bytes: &[u8]| decode(bytes).map(|insn| insn.rm_register());
        assert_eq!(register(&[0xff, 0xd0]), Ok(Some(0)));
        assert_eq!(register(&[0x41, 0xff, 0xd3]), Ok(Some(11)));
        assert_eq!(register(&[0xd5, 0x11, 0xff, 0xd7]), Ok(Some(31)));
        assert_eq!(register(&[0x41, 0xff, 0x13]), Ok(None));
    }

    #[test]
    fn targets_count_from_the_end_and_wrap() {
        const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);
        let target = |bytes: &[u8]| {
            let target = decode(bytes).map(|insn| insn.target(AT));
            target.map(|target| target.map(TextAddr::get))
        };
        let near = |distance: u64| Ok(Some(AT.get().wrapping_add(distance)));
        assert_eq!(target(&[0xeb, 0xfe]), near(0));
        assert_eq!(target(&[0xe8, 0x00, 0x10, 0x00, 0x00]), near(0x1005));
        assert_eq!(
            target(&[0x0f, 0x84, 0x00, 0x00, 0x00, 0x7f]),
            near(0x7f00_0006)
        );
        assert_eq!(target(&[0xe3, 0x10]), near(0x12));
        assert_eq!(target(&[0xc7, 0xf8, 0x01, 0x00, 0x00, 0x00]), near(7));
        assert_eq!(
            target(&[0xd5, 0x00, 0xa1, 0x10, 0, 0, 0, 0, 0, 0, 0x80]),
            Ok(Some(0x8000_0000_0000_0010))
        );
        assert_eq!(target(&[0xff, 0xe0]), Ok(None));
        assert_eq!(target(&[0xc3]), Ok(None));
    }
}
