// SPDX-License-Identifier: GPL-2.0

//! Whether an instruction starts at an address.
//!
//! Bytes do not tell where instructions start, so they are decoded one after the other from where
//! one is known to: the start of a function, or nearer. In the kernel that is not enough: UD2 with
//! `xen` or `kvm` behind it asks a hypervisor to emulate the instruction that follows, and these
//! letters are no instruction.
//!
//! ```text
//! +----+----+----+----+----+- - - - - - - -+
//! | 0F | 0B | 78 | 65 | 6E | instruction   |     6B 76 6D instead of 78 65 6E for KVM
//! +----+----+----+----+----+- - - - - - - -+
//! ```
//!
//! It assumes that the text is read as it was compiled: without what probes, and whoever else puts
//! breakpoints into it, have written there.
//!
//! C counterpart: `can_probe()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::{
    decode::decode,
    insn::MAX_INSN, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// What asks a hypervisor to emulate the next instruction.
const FORCED: [[u8; FORCED_LEN]; 2] = [
    [0x0f, 0x0b, b'x', b'e', b'n'],
    [0x0f, 0x0b, b'k', b'v', b'm'],
];
const FORCED_LEN: usize = 5;

/// How many of the bytes are such a request, before an instruction.
pub(super) fn request(bytes: &[u8]) -> usize {
    let forced = FORCED.iter().any(|prefix| bytes.starts_with(prefix));
    if forced {
        FORCED_LEN
    } else {
        0
    }
}

/// The most that an instruction can be made of.
pub(super) const WINDOW: usize = FORCED_LEN + MAX_INSN;

/// Does an instruction start at `at`, if one does at `known`?
pub(crate) fn check(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal> {
    let mut reached = known;
    while reached < at {
        let unit = Unit::read(reached, read)?;
        reached = reached.after(unit.len as u64)?;
    }
    if reached != at {
        return Err(Refusal::NotABoundary);
    }
    if Unit::read(at, read)?.forced {
        return Err(Refusal::ForcedEmulation);
    }
    Ok(())
}

/// Bytes that belong together.
struct Unit {
    len: usize,
    /// Is there a request to emulate before the instruction?
    forced: bool,
}

impl Unit {
    fn read(at: TextAddr, read: ReadText<'_>) -> Result<Self, Refusal> {
        let mut buffer = [0; WINDOW];
        let bytes = fill(&mut buffer, at, read)?;
        let before = request(bytes);
        let insn = decode(bytes.get(before..).unwrap_or_default())?;
        Ok(Self {
            len: before.saturating_add(insn.len()),
            forced: before > 0,
        })
    }
}

/// As many bytes at `at` as can be read: where text ends, fewer than there is room for.
fn fill<'b>(
    buffer: &'b mut [u8; WINDOW],
    at: TextAddr,
    read: ReadText<'_>,
) -> Result<&'b [u8], Refusal> {
    let readable = (1..=WINDOW).rev().find(|&len| {
        buffer
            .get_mut(..len)
            .and_then(|part| read(at, part))
            .is_some()
    });
    let len = readable.ok_or(Refusal::UnreadableText)?;
    buffer.get(..len).ok_or(Refusal::UnreadableText)
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
        check(
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
    fn nothing_is_where_text_ends() {
        assert_eq!(checked(&PLAIN, 8), Err(Refusal::UnreadableText));
        assert_eq!(checked(&PLAIN, 9), Err(Refusal::UnreadableText));
        assert_eq!(checked(&[0x55, 0x48], 1), Err(Refusal::TruncatedInsn));
        assert_eq!(checked(&PLAIN, u64::MAX), Err(Refusal::NotABoundary));
    }

    #[test]
    fn bytes_that_are_no_instruction_are_refused() {
        // 06 was PUSH ES.
        assert_eq!(checked(&[0x90, 0x06, 0x90], 0), Ok(()));
        assert_eq!(checked(&[0x90, 0x06, 0x90], 1), Err(Refusal::InvalidInsn));
        assert_eq!(checked(&[0x90, 0x06, 0x90], 2), Err(Refusal::InvalidInsn));
    }

    #[test]
    fn requests_to_emulate_belong_to_what_follows() {
        for letters in [*b"xen", *b"kvm"] {
            let [a, b, c] = letters;
            // nop; request; cpuid; nop
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
