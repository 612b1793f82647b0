// SPDX-License-Identifier: GPL-2.0

//! Instructions for another place than their own.
//!
//! Most instructions do the same anywhere. One with an operand relative to the next instruction
//! gets another displacement, so that it means the same memory from its new place:
//!
//! ```text
//! +- - - - - - - - - -+-----------------------+- - - - - -+
//! | up to ModRM       | displacement, 4 bytes | immediate | <- what is added to it
//! +- - - - - - - - - -+-----------------------+- - - - - -+
//! ```
//!
//! Branches are refused: they are emulated, and [`detour`](super::detour) has other code for them.
//! Slots have to be within 2 GiB of what instructions
//! refer to, or these are refused as well; only with an address-size prefix, which makes sums of 32
//! bits, every place is near enough.
//!
//! C counterpart: `__copy_instruction()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    flow::{
        Flow,
        Place, //
    },
    insn::{
        Insn,
        Prefix, //
    },
    operand::{
        segment,
        Extension,
        Segment, //
    },
};
use crate::prelude::*;

/// The instruction that `bytes` start with and that stands at `from`, to run at `to`.
pub(crate) fn copy(
    insn: &Insn,
    bytes: &[u8],
    from: TextAddr,
    to: TextAddr,
) -> Result<Code, Refusal> {
    if insn.flow() != Flow::Next {
        return Err(Refusal::BoundToPlace);
    }
    whole(insn, bytes, from, to)
}

/// The same of RET, IRET, and of JMP to where an operand says: nothing comes back to behind these.
pub(super) fn leaving(
    insn: &Insn,
    bytes: &[u8],
    from: TextAddr,
    to: TextAddr,
) -> Result<Code, Refusal> {
    match insn.flow() {
        Flow::Return
        | Flow::ReturnAndRelease
        | Flow::InterruptReturn
        | Flow::IndirectJump(_)
        | Flow::AbsoluteJump => whole(insn, bytes, from, to),
        _ => Err(Refusal::BoundToPlace),
    }
}

fn whole(insn: &Insn, bytes: &[u8], from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    let original = bytes.get(..insn.len()).ok_or(Refusal::TruncatedInsn)?;
    let Some(field) = insn.rip_relative_field() else {
        return Code::EMPTY.then(original);
    };
    let start = usize::from(field.offset);
    let end = start.wrapping_add(usize::from(field.size));
    let before = original.get(..start).ok_or(Refusal::TruncatedInsn)?;
    let after = original.get(end..).ok_or(Refusal::TruncatedInsn)?;
    let moved = displacement(insn, original, from, to.after(insn.len() as u64)?)?;
    Code::EMPTY.then(before)?.then(&moved)?.then(after)
}

/// For CALL or JMP through memory at `from`, an instruction that only reads that memory, at `to`.
///
/// It is for a target that could not be read: where the kernel runs this, the CPU reports the fault
/// that the CALL or JMP would have had. Should there be none after all, flags have changed, which
/// is all it writes; so the flags have to be put back, and the instruction can be tried again.
///
/// ```text
/// +-----------+------+------------+----+------------+- - -+- - - - - - -+
/// | 64 or 65, | REX? | FF         |    | mod reg rm | SIB | displacement|   CALL, JMP
/// | 67        | REX.W| 85         |    | mod  0  rm | SIB | displacement|   TEST %rax, mem
/// +-----------+------+------------+----+------------+- - -+- - - - - - -+
/// ```
/// Prefixes without a say in the address are left out, so it is short enough in any case.
pub(crate) fn probing_load(
    insn: &Insn,
    bytes: &[u8],
    from: TextAddr,
    to: TextAddr,
) -> Result<Code, Refusal> {
    const REX_W: u8 = 0x48;
    const TEST: u8 = 0x85;
    let (Flow::IndirectCall(Place::Memory) | Flow::IndirectJump(Place::Memory)) = insn.flow()
    else {
        return Err(Refusal::BoundToPlace);
    };
    let original = bytes.get(..insn.len()).ok_or(Refusal::TruncatedInsn)?;
    let mut code = match segment(insn, original) {
        Some(Segment::Fs) => Code::EMPTY.then(&[0x64])?,
        Some(Segment::Gs) => Code::EMPTY.then(&[0x65])?,
        None => Code::EMPTY,
    };
    if insn.has(Prefix::AddressSize) {
        code = code.then(&[0x67])?;
    }
    let rex = REX_W | Extension::of(insn, original)?.x_and_b()?;
    let modrm = insn.modrm_field().ok_or(Refusal::InvalidInsn)?;
    let operand = original.get(usize::from(modrm.offset)..);
    let (modrm, rest) = operand
        .and_then(<[u8]>::split_first)
        .ok_or(Refusal::InvalidInsn)?;
    code = code.then(&[rex, TEST, modrm & 0b11_000_111])?;
    if insn.rip_relative_field().is_none() {
        return code.then(rest);
    }
    let end = to
        .after(code.bytes().len() as u64)?
        .after(rest.len() as u64)?;
    code.then(&displacement(insn, original, from, end)?)
}

/// The displacement of `insn` if the next instruction, now after `from`, is at `end`.
fn displacement(
    insn: &Insn,
    bytes: &[u8],
    from: TextAddr,
    end: TextAddr,
) -> Result<[u8; 4], Refusal> {
    let field = insn.rip_relative_field().ok_or(Refusal::InvalidInsn)?;
    let old = bytes
        .get(usize::from(field.offset)..)
        .and_then(<[u8]>::first_chunk)
        .ok_or(Refusal::TruncatedInsn)?;
    let old = i64::from(i32::from_le_bytes(*old)) as u64;
    // As in the CPU, addresses wrap.
    let next = from.get().wrapping_add(insn.len() as u64);
    let operand = next.wrapping_add(old);
    if insn.has(Prefix::AddressSize) {
        return Ok((operand as u32)
            .wrapping_sub(end.get() as u32)
            .to_le_bytes());
    }
    Ok(end.reach(TextAddr::new(operand))?.to_le_bytes())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_relocate))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    const FROM: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);
    const TO: TextAddr = TextAddr::new(0xffff_ffff_8100_1000);

    fn copied(bytes: &[u8], to: TextAddr) -> Result<Code, Refusal> {
        copy(&decode(bytes)?, bytes, FROM, to)
    }

    fn probing(bytes: &[u8], to: TextAddr) -> Result<Code, Refusal> {
        probing_load(&decode(bytes)?, bytes, FROM, to)
    }

    fn is(code: Result<Code, Refusal>, bytes: &[u8]) -> bool {
        code.is_ok_and(|code| code.bytes() == bytes)
    }

    #[test]
    fn most_copies_are_the_same() {
        let cases: [&[u8]; 5] = [
            &[0x55],
            &[0x48, 0x89, 0xe5],
            &[0x8b, 0x04, 0x25, 0x00, 0x10, 0x00, 0x00],
            &[0xc5, 0xf8, 0x77],
            &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
        ];
        for bytes in cases {
            assert!(is(copied(bytes, TO), bytes));
        }
        // Only what belongs to the instruction.
        assert!(is(copied(&[0x55, 0x90, 0x90], TO), &[0x55]));
    }

    #[test]
    fn displacements_move_against_the_copy() {
        // mov 0x1234(%rip), %eax; the same with an immediate behind it; vmovdqa; lea with REX2
        assert!(is(
            copied(&[0x8b, 0x05, 0x34, 0x12, 0, 0], TO),
            &[0x8b, 0x05, 0x34, 0x02, 0, 0]
        ));
        assert!(is(
            copied(&[0xc7, 0x05, 0x34, 0x12, 0, 0, 1, 2, 3, 4], TO),
            &[0xc7, 0x05, 0x34, 0x02, 0, 0, 1, 2, 3, 4]
        ));
        assert!(is(
            copied(&[0xc5, 0xf9, 0x6f, 0x05, 0, 0, 0, 0], TO),
            &[0xc5, 0xf9, 0x6f, 0x05, 0x00, 0xf0, 0xff, 0xff]
        ));
        assert!(is(
            copied(
                &[0xd5, 0x48, 0x8d, 0x05, 0, 0, 0, 0x80],
                TO.before(0x2000).unwrap_or(TO)
            ),
            &[0xd5, 0x48, 0x8d, 0x05, 0x00, 0x10, 0, 0x80]
        ));
    }

    #[test]
    fn too_far_is_refused() {
        let lowest: &[u8] = &[0x8b, 0x05, 0, 0, 0, 0x80];
        let highest: &[u8] = &[0x8b, 0x05, 0xff, 0xff, 0xff, 0x7f];
        let behind = FROM.before(1).unwrap_or(FROM);
        let after = FROM.after(1).unwrap_or(FROM);
        assert_eq!(copied(lowest, after), Err(Refusal::TooFar));
        assert!(copied(lowest, behind).is_ok());
        assert_eq!(copied(highest, behind), Err(Refusal::TooFar));
        assert!(copied(highest, after).is_ok());
    }

    #[test]
    fn sums_of_32_bits_are_never_too_far() {
        assert!(is(
            copied(
                &[0x67, 0x8b, 0x05, 0xff, 0xff, 0xff, 0x7f],
                TextAddr::new(0x1000)
            ),
            &[0x67, 0x8b, 0x05, 0xff, 0xef, 0xff, 0x00]
        ));
        assert!(is(
            copied(&[0x67, 0x8b, 0x05, 0, 0, 0, 0], TextAddr::new(0x9000_0000)),
            &[0x67, 0x8b, 0x05, 0, 0, 0, 0xf1]
        ));
    }

    #[test]
    fn branches_are_no_copies() {
        let cases: [&[u8]; 6] = [
            &[0xeb, 0x00],
            &[0x0f, 0x84, 0, 0, 0, 0],
            &[0xe2, 0x00],
            &[0xff, 0xd0],
            &[0xc3],
            &[0xc7, 0xf8, 0, 0, 0, 0],
        ];
        for bytes in cases {
            assert_eq!(copied(bytes, TO), Err(Refusal::BoundToPlace));
        }
    }

    #[test]
    fn what_leaves_is_copied_where_that_is_asked_for() {
        let left = |bytes: &[u8]| leaving(&decode(bytes)?, bytes, FROM, TO);
        // ret, ret $8, iretq, jmp *%rax, jmp *0x1234(%rip)
        assert!(is(left(&[0xc3]), &[0xc3]));
        assert!(is(left(&[0x48, 0xcf]), &[0x48, 0xcf]));
        assert!(is(left(&[0xc2, 8, 0]), &[0xc2, 8, 0]));
        assert!(is(left(&[0xff, 0xe0]), &[0xff, 0xe0]));
        assert!(is(
            left(&[0xff, 0x25, 0x34, 0x12, 0, 0]),
            &[0xff, 0x25, 0x34, 0x02, 0, 0]
        ));
        let others: [&[u8]; 5] = [
            &[0x90],
            &[0xeb, 0x00],
            &[0xff, 0xd0],
            &[0xe8, 0, 0, 0, 0],
            &[0xff, 0x28],
        ];
        for bytes in others {
            assert_eq!(left(bytes), Err(Refusal::BoundToPlace));
        }
    }

    #[test]
    fn probing_load_reads_what_the_branch_reads() {
        let cases: [(&[u8], &[u8]); 8] = [
            // CALL *(%rax), JMP *(%rax)
            (&[0xff, 0x10], &[0x48, 0x85, 0x00]),
            (&[0xff, 0x20], &[0x48, 0x85, 0x00]),
            // CALL *0x10(%r8), CALL *8(%rsp), CALL *(%r13,%r14,8)
            (&[0x41, 0xff, 0x50, 0x10], &[0x49, 0x85, 0x40, 0x10]),
            (&[0xff, 0x54, 0x24, 8], &[0x48, 0x85, 0x44, 0x24, 8]),
            (&[0x43, 0xff, 0x54, 0xf5, 0], &[0x4b, 0x85, 0x44, 0xf5, 0]),
            // NOTRACK and segments
            (&[0x3e, 0x65, 0xff, 0x20], &[0x65, 0x48, 0x85, 0x00]),
            (
                &[0x64, 0x64, 0x67, 0x65, 0xff, 0x20],
                &[0x65, 0x67, 0x48, 0x85, 0x00],
            ),
            // The same with REX2.
            (&[0xd5, 0x03, 0xff, 0x24, 0x08], &[0x4b, 0x85, 0x04, 0x08]),
        ];
        for (bytes, expected) in cases {
            assert!(is(probing(bytes, TO), expected));
        }
    }

    #[test]
    fn probing_load_is_one_byte_longer() {
        assert!(is(
            probing(&[0xff, 0x15, 0x34, 0x12, 0, 0], TO),
            &[0x48, 0x85, 0x05, 0x33, 0x02, 0, 0]
        ));
        assert!(is(
            probing(&[0x67, 0xff, 0x15, 0, 0, 0, 0], TextAddr::new(0x1000)),
            &[0x67, 0x48, 0x85, 0x05, 0xff, 0xef, 0xff, 0x80]
        ));
    }

    #[test]
    fn probing_load_is_for_branches_through_memory() {
        let cases: [&[u8]; 4] = [&[0xff, 0xd0], &[0xff, 0x30], &[0xc3], &[0x8b, 0x00]];
        for bytes in cases {
            assert_eq!(probing(bytes, TO), Err(Refusal::BoundToPlace));
        }
        assert_eq!(
            probing(&[0xd5, 0x10, 0xff, 0x10], TO),
            Err(Refusal::UnsavedRegister)
        );
    }
}
