// SPDX-License-Identifier: GPL-2.0

//! Bytes to one instruction, for all of 64-bit mode.
//!
//! [`Prefixes`] come first, then what chooses the map of opcodes ([`Head`]); the generated tables
//! say what follows the opcode ([`Form`]). Bytes are read in order and each once, so a decision
//! never depends on bytes that may not be there.
//!
//! Where Intel's and AMD's CPUs differ, this is Intel's: an operand-size prefix does not shorten
//! the distance of near branches, and UD0 has a ModRM byte. Combinations that are reserved without
//! changing the length or the class of an instruction (LOCK where it may not stand, vector lengths,
//! mask registers) are not looked at: a CPU refuses some of what is an instruction here.
//!
//! C counterpart: [`arch/x86/lib/insn.c`](srctree/arch/x86/lib/insn.c).

use super::{
    encoding::Head,
    form::{
        Entry,
        Form,
        Immediate, //
    },
    insn::{
        Field,
        Insn,
        ModRm,
        Opcode,
        Prefix,
        Selector, //
    },
    opcodes,
    prefixes::Prefixes,
    reader::Reader, //
};
use crate::prelude::*;

/// The instruction that `bytes` start with.
///
/// Bytes after it are not looked at. [`Refusal::TruncatedInsn`] says that more bytes could make an
/// instruction of these, [`Refusal::InvalidInsn`] that none could.
pub(crate) fn decode(bytes: &[u8]) -> Result<Insn, Refusal> {
    let mut reader = Reader::new(bytes);
    let (prefixes, first) = Prefixes::read(&mut reader)?;
    let head = Head::read(&mut reader, &prefixes, first)?;
    operands(&mut reader, &prefixes, &head)
}

/// All from the opcode on.
fn operands(reader: &mut Reader<'_>, prefixes: &Prefixes, head: &Head) -> Result<Insn, Refusal> {
    let opcode_at = reader.position().wrapping_sub(1);
    let mut insn = Insn {
        opcode: head.opcode,
        selector: head.selector,
        prefixes: prefixes.seen,
        wide: head.wide,
        rm_extension: head.rm_extension,
        modrm: None,
        rip_relative: false,
        escape_at: prefixes.len,
        opcode_at,
        modrm_at: opcode_at.wrapping_add(1),
        sib: false,
        displacement: Field::NONE,
        immediate: Field::NONE,
        value: 0,
        len: 0,
    };
    if let Opcode::Rex2Primary(JMPABS) = head.opcode {
        return jmpabs(reader, prefixes, insn);
    }
    let form = head
        .entry
        .form(head.selector, || Ok(ModRm(reader.peek()?)))?;
    if let Opcode::Rex2Primary(_) | Opcode::Rex2TwoByte(_) = head.opcode {
        if !form.takes_rex2() {
            return Err(Refusal::InvalidInsn);
        }
    }
    if form.has_modrm() {
        addressing(reader, form, &mut insn)?;
    }
    constant(reader, form.immediate(), &mut insn)?;
    if let Opcode::TwoByte(THREE_D_NOW) = head.opcode {
        three_d_now(reader, &mut insn)?;
    }
    insn.len = reader.position();
    Ok(insn)
}

/// ModRM and what it asks for.
///
/// ```text
/// +-----------+-------------------------------------------+
/// | mod       | rm 4 is SIB, else a register and          |
/// | 00        | nothing; rm 5: RIP and 4 bytes;           |
/// |           | SIB with base 5: 4 bytes                  |
/// | 01        | 1 byte                                    |
/// | 10        | 4 bytes                                   |
/// | 11        | no memory                                 |
/// +-----------+-------------------------------------------+
/// ```
#[inline]
fn addressing(reader: &mut Reader<'_>, form: Form, insn: &mut Insn) -> Result<(), Refusal> {
    let modrm = ModRm(reader.next()?);
    insn.modrm = Some(modrm);
    if modrm.is_register() || form.is_fixed() {
        return Ok(());
    }
    let mut base = modrm.rm();
    if base == 4 {
        insn.sib = true;
        base = reader.next()? & 7;
    }
    let size = match modrm.mode() {
        1 => 1,
        2 => 4,
        _ if base == 5 => {
            insn.rip_relative = !insn.sib;
            4
        }
        _ => return Ok(()),
    };
    insn.displacement = reader.field(size)?;
    Ok(())
}

/// The immediate, which for [`Immediate::Address`] counts as displacement.
#[inline]
fn constant(reader: &mut Reader<'_>, immediate: Immediate, insn: &mut Insn) -> Result<(), Refusal> {
    // EVEX has the operand-size prefix in a field, which the maps of APX use in its old meaning.
    let sixteen = match insn.opcode {
        Opcode::Evex(..) => insn.selector == Selector::OperandSize,
        _ => insn.has(Prefix::OperandSize),
    };
    let size = immediate.size(sixteen, insn.wide, insn.has(Prefix::AddressSize));
    if size == 0 {
        return Ok(());
    }
    let field = reader.field(size)?;
    if immediate == Immediate::Address {
        insn.displacement = field;
    } else {
        insn.immediate = field;
        insn.value = reader.value(field);
    }
    Ok(())
}

/// ```text
/// +----+---------------+----+---------------------------+
/// | D5 | 0 ... 0 ...   | A1 |          address          |
/// +----+---------------+----+---------------------------+
/// ```
/// W has to be 0, and prefixes that would have a meaning must not be there.
fn jmpabs(reader: &mut Reader<'_>, prefixes: &Prefixes, mut insn: Insn) -> Result<Insn, Refusal> {
    const FORBIDDEN: u16 = Prefix::OperandSize as u16
        | Prefix::AddressSize as u16
        | Prefix::Lock as u16
        | Prefix::RepeatNotEqual as u16
        | Prefix::Repeat as u16;
    if insn.wide || prefixes.seen & FORBIDDEN != 0 {
        return Err(Refusal::InvalidInsn);
    }
    insn.immediate = reader.field(8)?;
    insn.value = reader.value(insn.immediate);
    insn.len = reader.position();
    Ok(insn)
}

const JMPABS: u8 = 0xa1;

/// The byte that was read as an immediate is the opcode.
fn three_d_now(reader: &Reader<'_>, insn: &mut Insn) -> Result<(), Refusal> {
    let opcode = insn.value as u8;
    let entry = Entry::of(&opcodes::THREE_D_NOW, opcode);
    entry.form(insn.selector, || Ok(ModRm(reader.peek()?)))?;
    insn.opcode = Opcode::ThreeDNow(opcode);
    insn.opcode_at = insn.immediate.offset;
    insn.immediate = Field::NONE;
    insn.value = 0;
    Ok(())
}

const THREE_D_NOW: u8 = 0x0f;

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
        decode(bytes).ok().map(|insn| insn.opcode())
    }

    /// Offset and size.
    fn place(field: Option<Field>) -> Option<(u8, u8)> {
        field.map(|field| (field.offset, field.size))
    }

    #[test]
    fn length_is_all_of_it_and_no_more() {
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
    fn cut_short_is_truncated() {
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
    fn fields_are_where_they_stand() {
        // lock addl $imm32,%gs:disp32(%rsp), with a REX that has no effect
        let bytes = [
            0x48, 0x65, 0x81, 0x84, 0x24, 0x11, 0x22, 0x33, 0x44, 0xfe, 0xff, 0xff, 0xff,
        ];
        let insn = decode(&bytes);
        assert!(insn.is_ok_and(|insn| {
            place(insn.prefix_field()) == Some((0, 2))
                && insn.escape_field().is_none()
                && place(Some(insn.opcode_field())) == Some((2, 1))
                && place(insn.modrm_field()) == Some((3, 1))
                && place(insn.sib_field()) == Some((4, 1))
                && place(insn.displacement_field()) == Some((5, 4))
                && place(insn.immediate_field()) == Some((9, 4))
                && insn.rip_relative_field().is_none()
                && insn.immediate() == -2
                && insn.has(Prefix::Gs)
                && !insn.has(Prefix::Fs)
                && !insn.is_wide()
        }));
        // A REX that has one leads to the opcode.
        let insn = decode(&[0x66, 0x48, 0x8b, 0x00]);
        assert!(insn.is_ok_and(|insn| {
            place(insn.prefix_field()) == Some((0, 1))
                && place(insn.escape_field()) == Some((1, 1))
                && insn.is_wide()
        }));
    }

    #[test]
    fn three_d_now_has_its_opcode_last() {
        let insn = decode(&[0x0f, 0x0f, 0x05, 1, 2, 3, 4, 0xbb]);
        assert!(insn.is_ok_and(|insn| {
            insn.opcode() == Opcode::ThreeDNow(0xbb)
                && place(insn.escape_field()) == Some((0, 2))
                && place(Some(insn.opcode_field())) == Some((7, 1))
                && place(insn.modrm_field()) == Some((2, 1))
                && place(insn.rip_relative_field()) == Some((3, 4))
                && insn.immediate_field().is_none()
        }));
    }

    #[test]
    fn maps_are_told_apart() {
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
        let rip = |bytes: &[u8]| decode(bytes).map(|insn| place(insn.rip_relative_field()));
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
        let selector = |bytes: &[u8]| decode(bytes).map(|insn| insn.selector());
        assert_eq!(
            selector(&[0xf3, 0xf2, 0x66, 0x0f, 0x10, 0xc0]),
            Ok(Selector::RepeatNotEqual)
        );
        assert_eq!(
            selector(&[0xf2, 0xf3, 0x0f, 0x10, 0xc0]),
            Ok(Selector::Repeat)
        );
        assert_eq!(
            selector(&[0x66, 0x0f, 0x10, 0xc0]),
            Ok(Selector::OperandSize)
        );
        assert_eq!(selector(&[0xc5, 0xfa, 0x10, 0xc0]), Ok(Selector::Repeat));
        assert_eq!(selector(&[0x0f, 0x10, 0xc0]), Ok(Selector::None));
    }

    #[test]
    fn rex_counts_right_before_the_opcode() {
        let wide = |bytes: &[u8]| decode(bytes).map(|insn| insn.is_wide());
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
        assert_eq!(register(&[0xc5, 0xf5, 0xeb, 0xc0]), Ok(None));
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
