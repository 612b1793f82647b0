// SPDX-License-Identifier: GPL-2.0

//! Checks that an instruction starts at an address.
//!
//! Bytes do not show where instructions start, so the check decodes one instruction after another
//! from a known start, such as the start of the function. In the kernel, UD2 followed by the
//! letters `xen` or `kvm` asks a hypervisor to emulate the next instruction, and these letters are
//! no instruction:
//!
//! ```text
//! +----+----+----+----+----+- - - - - - - -+
//! | 0F | 0B | 78 | 65 | 6E | instruction   |     6B 76 6D instead of 78 65 6E for KVM
//! +----+----+----+----+----+- - - - - - - -+
//! ```
//!
//! `read` must recover the instruction at an address, and all bytes of a jump that covers the
//! address. Behind these there may be breakpoints and jumps. `read` must fail where a debugger's
//! breakpoint hides the instruction.
//!
//! C counterpart: `can_probe()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    decode::decode,
    encode::{
        INT3,
        JMP32, //
    },
    insn::MAX_INSN, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// The prefixes that have a hypervisor emulate the next instruction:
/// [`asm/emulate_prefix.h`](srctree/arch/x86/include/asm/emulate_prefix.h).
const EMULATE_PREFIXES: [[u8; EMULATE_PREFIX_LEN]; 2] = [
    [0x0f, 0x0b, b'x', b'e', b'n'],
    [0x0f, 0x0b, b'k', b'v', b'm'],
];
const EMULATE_PREFIX_LEN: usize = 5;

/// Returns the length of such a prefix at the start of `bytes`, or zero: C's `emulate_prefix_size`.
pub(super) fn emulate_prefix_len(bytes: &[u8]) -> usize {
    let has_prefix = EMULATE_PREFIXES
        .iter()
        .any(|prefix| bytes.starts_with(prefix));
    usize::from(has_prefix) * EMULATE_PREFIX_LEN
}

/// The most bytes of such a prefix and its instruction.
pub(super) const WINDOW: usize = EMULATE_PREFIX_LEN + MAX_INSN;

/// The number of bytes that are read at once.
const AHEAD: usize = 64;

/// Reads as many bytes at `at` as can be read, at most as many as `buffer` has.
pub(crate) fn read_most<'a>(
    at: TextAddr,
    buffer: &'a mut [u8],
    read: ReadText<'_>,
) -> Option<&'a [u8]> {
    // Near the end of the text, fewer bytes can be read.
    let readable = (1..=buffer.len()).rev().find(|&len| {
        let part = buffer.get_mut(..len);
        part.is_some_and(|part| read(at, part).is_some())
    });
    buffer.get(..readable?)
}

/// Checks that an instruction starts at `at`. An instruction starts at `known`.
pub(crate) fn check_boundary(
    known: TextAddr,
    at: TextAddr,
    read: ReadText<'_>,
) -> Result<(), Refusal> {
    let (mut start, mut buffer, mut bytes) = (known, [0; AHEAD], &[][..]);
    while start <= at {
        // Behind what `read` has recovered, breakpoints and jumps may start instructions.
        if bytes.len() < WINDOW || matches!(bytes, [INT3 | JMP32, ..]) {
            bytes = read_most(start, &mut buffer, read).ok_or(Refusal::UnreadableText)?;
        }
        let prefix = emulate_prefix_len(bytes);
        let insn = decode(bytes.get(prefix..).unwrap_or_default())?;
        if start == at {
            return match prefix {
                0 => Ok(()),
                _ => Err(Refusal::ForcedEmulation),
            };
        }
        let len = prefix.wrapping_add(insn.len());
        bytes = bytes.get(len..).unwrap_or_default();
        start = start.after(len as u64)?;
    }
    Err(Refusal::NotABoundary)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_boundary))]
mod tests {
    use super::*;

    const START: u64 = 0xffff_ffff_8100_0000;

    /// Checks an offset into `text`, with nothing mapped around it.
    fn checked(text: &[u8], offset: u64) -> Result<(), Refusal> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let from = at.get().checked_sub(START)? as usize;
            let end = from.checked_add(into.len())?;
            into.copy_from_slice(text.get(from..end)?);
            Some(())
        };
        check_boundary(
            TextAddr::new(START),
            TextAddr::new(START.wrapping_add(offset)),
            &mut read,
        )
    }

    // push %rbp; mov %rsp, %rbp; vzeroupper; ret
    const PLAIN: [u8; 8] = [0x55, 0x48, 0x89, 0xe5, 0xc5, 0xf8, 0x77, 0xc3];

    #[test]
    fn instructions_start_where_others_end() {
        let starts = [0, 1, 4, 7];
        for offset in 0..8 {
            let expected = if starts.contains(&offset) {
                Ok(())
            } else {
                Err(Refusal::NotABoundary)
            };
            assert_eq!(checked(&PLAIN, offset), expected);
        }
    }

    #[test]
    fn text_that_ends_is_refused() {
        assert_eq!(checked(&PLAIN, 8), Err(Refusal::UnreadableText));
        assert_eq!(checked(&PLAIN, 9), Err(Refusal::UnreadableText));
        assert_eq!(checked(&[0x55, 0x48], 1), Err(Refusal::TruncatedInsn));
        assert_eq!(checked(&PLAIN, u64::MAX), Err(Refusal::NotABoundary));
    }

    #[test]
    fn breakpoints_and_jumps_are_read_again() {
        // push %rbp; mov %rsp, %rbp; sub $8, %rsp; sub $8, %rsp; nop
        let mut text = [0x90; 44];
        let insns = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xec, 0x08,
        ];
        text[..insns.len()].copy_from_slice(&insns);
        let jump = [JMP32, 0x90, 0x90, 0x90, 0x90];
        for (first, len) in [(&jump[..], 5), (&[INT3][..], 1)] {
            // The second one is a breakpoint, behind the bytes of a jump.
            let mut changed = text;
            changed[1..1 + len].copy_from_slice(first);
            changed[8] = INT3;
            let mut read = |at: TextAddr, into: &mut [u8]| {
                let from = at.get().checked_sub(START)? as usize;
                let mut read = changed;
                match from {
                    1..6 => read[1..6].copy_from_slice(&text[1..6]),
                    8 => read[8] = text[8],
                    _ => (),
                }
                into.copy_from_slice(read.get(from..from.checked_add(into.len())?)?);
                Some(())
            };
            for known in [0, 1, 4] {
                for offset in known..16 {
                    let [known, at] = [known, offset].map(|offset| START.wrapping_add(offset));
                    let found = check_boundary(TextAddr::new(known), TextAddr::new(at), &mut read);
                    let starts = [0, 1, 4, 8, 12, 13, 14, 15].contains(&offset);
                    assert_eq!(found.is_ok(), starts);
                }
            }
        }
    }

    #[test]
    fn invalid_instructions_are_refused() {
        // 06 was PUSH ES.
        assert_eq!(checked(&[0x90, 0x06, 0x90], 0), Ok(()));
        assert_eq!(checked(&[0x90, 0x06, 0x90], 1), Err(Refusal::InvalidInsn));
        assert_eq!(checked(&[0x90, 0x06, 0x90], 2), Err(Refusal::InvalidInsn));
    }

    #[test]
    fn forced_emulation_prefix_belongs_to_the_next_insn() {
        for letters in [*b"xen", *b"kvm"] {
            let [a, b, c] = letters;
            // nop; prefix; cpuid; nop
            let text = [0x90, 0x0f, 0x0b, a, b, c, 0x0f, 0xa2, 0x90];
            assert_eq!(checked(&text, 0), Ok(()));
            assert_eq!(checked(&text, 1), Err(Refusal::ForcedEmulation));
            for inside in 2..8 {
                assert_eq!(checked(&text, inside), Err(Refusal::NotABoundary));
            }
            assert_eq!(checked(&text, 8), Ok(()));
        }
        // UD2 alone is an instruction.
        assert_eq!(checked(&[0x0f, 0x0b, 0x90], 2), Ok(()));
    }
}
