// SPDX-License-Identifier: GPL-2.0

//! Encodes the instructions that kprobes writes: INT3, JMP, Jcc, CALL and PUSH.

use crate::prelude::*;

/// ```text
/// +----+
/// | CC |                    INT3
/// +----+
/// ```
pub(crate) const INT3: u8 = 0xcc;
pub(crate) const INT3_LEN: u64 = 1;

/// ```text
/// +----+----+----+----+----+
/// | E8 |       rel32       |  CALL rel32; E9 is JMP rel32
/// +----+----+----+----+----+
/// ```
/// The distance counts from the end of the instruction.
const CALL32: u8 = 0xe8;
pub(crate) const JMP32: u8 = 0xe9;
pub(crate) const REL32_LEN: u64 = 5;

/// Bytes that a jump overwrites.
pub(crate) const JUMP_LEN: usize = REL32_LEN as usize;

/// ```text
/// +----+----+-------------------+
/// | 0F | 8c |       rel32       |  Jcc rel32; c is the condition
/// +----+----+-------------------+
/// ```
const JCC32: u8 = 0x80;

/// ```text
/// +----+----+----+----+----+
/// | 68 |       imm32       |     PUSH imm32, which the CPU sign-extends to 64 bits
/// +----+----+----+----+----+
/// ```
const PUSH32: u8 = 0x68;

/// Returns JMP at `from` to `to`.
pub(crate) fn jmp32(from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    rel32(&[JMP32], from, to)
}

/// Returns CALL at `from` of `to`.
pub(crate) fn call32(from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    rel32(&[CALL32], from, to)
}

/// Returns Jcc at `from` to `to`, with the condition in the low four bits of `opcode`.
pub(super) fn jcc32(from: TextAddr, to: TextAddr, opcode: u8) -> Result<Code, Refusal> {
    rel32(&[0x0f, JCC32 | opcode & 0xf], from, to)
}

/// Returns PUSH of an address in the upper 2 GiB, which have all text of the kernel and modules.
pub(super) fn push_address(at: TextAddr) -> Result<Code, Refusal> {
    let value = i32::try_from(at.get() as i64).map_err(|_| Refusal::TooFar)?;
    Code::EMPTY.then(&[PUSH32])?.then(&value.to_le_bytes())
}

fn rel32(opcode: &[u8], from: TextAddr, to: TextAddr) -> Result<Code, Refusal> {
    let len = opcode.len().wrapping_add(size_of::<i32>());
    let rel = from.after(len as u64)?.reach(to)?;
    Code::EMPTY.then(opcode)?.then(&rel.to_le_bytes())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_encode))]
mod tests {
    use super::*;

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn is(code: Result<Code, Refusal>, bytes: &[u8]) -> bool {
        code.is_ok_and(|code| code.bytes() == bytes)
    }

    #[test]
    fn displacement_counts_from_the_end() {
        let cases: [(u64, [u8; 4]); 4] = [
            (0xffff_ffff_8100_0005, [0x00, 0x00, 0x00, 0x00]),
            (0xffff_ffff_8100_0000, [0xfb, 0xff, 0xff, 0xff]),
            (0xffff_ffff_8100_1005, [0x00, 0x10, 0x00, 0x00]),
            (0xffff_ffff_8000_0005, [0x00, 0x00, 0x00, 0xff]),
        ];
        for (to, [a, b, c, d]) in cases {
            let to = TextAddr::new(to);
            assert!(is(jmp32(AT, to), &[0xe9, a, b, c, d]));
            assert!(is(call32(AT, to), &[0xe8, a, b, c, d]));
        }
    }

    #[test]
    fn too_far_is_refused() {
        let limit = 0x7fff_ffff + REL32_LEN;
        let low = TextAddr::new(0x1000);
        assert!(low.after(limit).and_then(|to| jmp32(low, to)).is_ok());
        assert_eq!(
            low.after(limit + 1).and_then(|to| jmp32(low, to)),
            Err(Refusal::TooFar)
        );
        assert_eq!(
            jmp32(TextAddr::new(u64::MAX - 4), low),
            Err(Refusal::OutOfText)
        );
    }

    #[test]
    fn conditions_are_those_of_the_opcode() {
        let to = TextAddr::new(0xffff_ffff_8100_1006);
        // From js rel8, and from jg rel32.
        assert!(is(jcc32(AT, to, 0x78), &[0x0f, 0x88, 0x00, 0x10, 0, 0]));
        assert!(is(jcc32(AT, to, 0x8f), &[0x0f, 0x8f, 0x00, 0x10, 0, 0]));
        assert_eq!(
            jcc32(AT, TextAddr::new(1 << 40), 0x78),
            Err(Refusal::TooFar)
        );
    }

    #[test]
    fn addresses_of_the_kernel_can_be_pushed() {
        assert!(is(push_address(AT), &[0x68, 0, 0, 0, 0x81]));
        let lowest = TextAddr::new(0xffff_ffff_8000_0000);
        assert!(is(push_address(lowest), &[0x68, 0, 0, 0, 0x80]));
        for at in [0xffff_ffff_7fff_ffff, 0x8000_0000] {
            assert_eq!(push_address(TextAddr::new(at)), Err(Refusal::TooFar));
        }
    }
}
