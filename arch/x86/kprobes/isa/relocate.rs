// SPDX-License-Identifier: GPL-2.0

//! Writes an instruction for another address.
//!
//! Most instructions do the same at any address. An operand relative to RIP gets another
//! displacement, so that the copy accesses the same memory:
//!
//! ```text
//! +- - - - - - - - - -+-----------------------+- - - - - -+
//! | up to ModRM       | displacement, 4 bytes | immediate | <- the CPU adds this address
//! +- - - - - - - - - -+-----------------------+- - - - - -+
//! ```
//!
//! The new displacement has 32 bits, so a slot has to be within 2 GiB of the operand; otherwise the
//! instruction is refused. With an address-size prefix, the CPU truncates the sum to 32 bits, so
//! any slot is near enough.
//!
//! C counterpart: `__copy_instruction()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    flow::Flow,
    insn::{
        Insn,
        Prefix,
        Segment, //
    },
    operand::saved, //
};
use crate::prelude::*;

/// Copies the instruction at `from`, which continues with the next one, to run at `to`.
pub(crate) fn copy(insn: &Insn, from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    if insn.flow() != Flow::Next {
        return Err(Refusal::BoundToPlace);
    }
    relocated(insn, from, to)
}

/// Copies the instruction at `from`, which is no relative branch and no call, to run at `to`.
pub(super) fn relocated(insn: &Insn, from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    let Some(field) = insn.rip_relative() else {
        return Code::EMPTY.then(insn.bytes());
    };
    let end = to.after(insn.len() as u64)?;
    let moved = displacement(insn, from, end)?.to_le_bytes();
    let mut bytes = insn.bytes;
    let place = bytes.iter_mut().skip(field.offset.into());
    for (to, from) in place.zip(moved) {
        *to = from;
    }
    Code::EMPTY.then(bytes.get(..insn.len()).unwrap_or_default())
}

/// Writes an instruction for `to` that only reads the memory operand of the CALL or JMP at `from`.
///
/// The instruction is executed after a hit could not read the operand. The CPU then reports the
/// page fault that CALL or JMP would have caused. If no fault occurs, only the arithmetic flags
/// have changed: the caller restores the flags and tries the CALL or JMP again.
///
/// ```text
/// +-----------+------+------------+----+------------+- - -+- - - - - - -+
/// | 64 or 65, | REX? | FF         |    | mod reg rm | SIB | displacement|   CALL, JMP
/// | 67        | REX.W| 85         |    | mod  0  rm | SIB | displacement|   TEST %rax, mem
/// +-----------+------+------------+----+------------+- - -+- - - - - - -+
/// ```
/// Prefixes that do not affect the address are left out, so the length is at most 15 bytes.
pub(crate) fn probing_load(insn: &Insn, from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    const REX_W: u8 = 0x48;
    const TEST: u8 = 0x85;
    let (Flow::IndirectCall | Flow::IndirectJump, None) = (insn.flow(), insn.rm_register()) else {
        return Err(Refusal::BoundToPlace);
    };
    let mut code = Code::EMPTY.then(match insn.segment {
        Some(Segment::Fs) => &[0x64],
        Some(Segment::Gs) => &[0x65],
        None => &[],
    })?;
    if insn.has(Prefix::AddressSize) {
        code = code.then(&[0x67])?;
    }
    // REX has only the third bits of register numbers.
    let extension = saved(insn.index_extension)? >> 2 | saved(insn.base_extension)? >> 3;
    let modrm = insn.modrm.ok_or(Refusal::InvalidInsn)?;
    code = code.then(&[REX_W | extension, TEST, modrm.0 & 0b11_000_111])?;
    if let Some(sib) = insn.sib {
        code = code.then(&[sib])?;
    }
    let Some(field) = insn.displacement else {
        return Ok(code);
    };
    let mut value = insn.displacement_value() as i32;
    if insn.rip_relative().is_some() {
        let len = code.bytes().len() as u64;
        value = displacement(insn, from, to.after(len)?.after(field.size.into())?)?;
    }
    let bytes = value.to_le_bytes();
    code.then(bytes.get(..field.size.into()).unwrap_or_default())
}

/// Returns the displacement from `end`, the end of a copy, to the operand of `insn` at `from`.
fn displacement(insn: &Insn, from: TextAddr, end: TextAddr) -> Result<i32, Refusal> {
    // Addresses wrap, as in the CPU.
    let next = from.get().wrapping_add(insn.len() as u64);
    let operand = next.wrapping_add_signed(insn.displacement_value());
    if insn.has(Prefix::AddressSize) {
        return Ok((operand as i32).wrapping_sub(end.get() as i32));
    }
    end.reach(TextAddr::new(operand))
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
        copy(&decode(bytes)?, FROM, to)
    }

    fn probing(bytes: &[u8], to: TextAddr) -> Result<Code, Refusal> {
        probing_load(&decode(bytes)?, FROM, to)
    }

    fn is(code: Result<Code, Refusal>, bytes: &[u8]) -> bool {
        code.is_ok_and(|code| code.bytes() == bytes)
    }

    #[test]
    fn plain_instructions_are_copied_unchanged() {
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
    fn branches_cannot_be_copied() {
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
    fn returns_and_indirect_jumps_can_be_relocated() {
        let moved = |bytes: &[u8]| relocated(&decode(bytes)?, FROM, TO);
        // ret, ret $8, iretq, jmp *%rax, jmp *0x1234(%rip)
        assert!(is(moved(&[0xc3]), &[0xc3]));
        assert!(is(moved(&[0x48, 0xcf]), &[0x48, 0xcf]));
        assert!(is(moved(&[0xc2, 8, 0]), &[0xc2, 8, 0]));
        assert!(is(moved(&[0xff, 0xe0]), &[0xff, 0xe0]));
        assert!(is(
            moved(&[0xff, 0x25, 0x34, 0x12, 0, 0]),
            &[0xff, 0x25, 0x34, 0x02, 0, 0]
        ));
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
