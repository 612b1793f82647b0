// SPDX-License-Identifier: GPL-2.0

//! Checks that an instruction starts at an address.
//!
//! The first byte of an instruction tells its length, so those before the address are not decoded.
//!
//! C counterpart: none. C takes any even address.

use super::insn::{
    insn_len,
    Insn, //
};
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// Fails unless an instruction starts at `at`. An instruction starts at `known`.
///
/// The text must be read as it was compiled: without the breakpoints of probes. A first byte of
/// zero is then a breakpoint of others, such as QEMU's debugger, which hides an instruction.
pub(super) fn check_boundary(
    known: TextAddr,
    at: TextAddr,
    read: ReadText<'_>,
) -> Result<(), Refusal> {
    let mut start = known;
    while start < at {
        let mut halfword = [0; 2];
        read(start, &mut halfword).ok_or(Refusal::UnreadableText)?;
        match halfword {
            [0, _] => return Err(Refusal::InvalidInsn),
            [first, _] => start = start.after(insn_len(first) as u64)?,
        }
    }
    if start != at {
        return Err(Refusal::NotABoundary);
    }
    match Insn::read(at, read)?.bits(0, 8) {
        0 => Err(Refusal::InvalidInsn),
        _ => Ok(()),
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_boundary))]
mod tests {
    use super::{
        super::BREAKPOINT,
        *, //
    };

    const START: u64 = 0x3ff_8000_0000;

    /// Reads `text`, with nothing mapped around it.
    fn reader(text: &[u8]) -> impl FnMut(TextAddr, &mut [u8]) -> Option<()> + '_ {
        |at, into| {
            let from = at.get().checked_sub(START)? as usize;
            into.copy_from_slice(text.get(from..from.checked_add(into.len())?)?);
            Some(())
        }
    }

    fn checked(text: &[u8], offset: u64) -> Result<(), Refusal> {
        let at = TextAddr::new(START.wrapping_add(offset));
        check_boundary(TextAddr::new(START), at, &mut reader(text))
    }

    // lr %r1,%r2; la %r1,2(%r3); larl %r1,.; br %r14
    const TEXT: [u8; 14] = [
        0x18, 0x12, 0x41, 0x10, 0x30, 0x02, 0xc0, 0x10, 0x00, 0x00, 0x00, 0x00, 0x07, 0xfe,
    ];

    #[test]
    fn instructions_start_where_others_end() {
        for offset in 0..14 {
            let expected = match offset {
                0 | 2 | 6 | 12 => Ok(()),
                _ => Err(Refusal::NotABoundary),
            };
            assert_eq!(checked(&TEXT, offset), expected);
        }
        assert_eq!(checked(&TEXT, u64::MAX), Err(Refusal::NotABoundary));
    }

    #[test]
    fn text_that_ends_is_refused() {
        assert_eq!(checked(&TEXT, 14), Err(Refusal::UnreadableText));
        assert_eq!(checked(&TEXT[..11], 6), Err(Refusal::UnreadableText));
        assert_eq!(checked(&TEXT[..11], 2), Ok(()));
    }

    #[test]
    fn insns_from_a_foreign_breakpoint_on_are_refused() {
        for breakpoint in [[0x00, 0x00], [0x00, 0x01], BREAKPOINT] {
            let [a, b] = breakpoint;
            let text = [0x18, 0x12, a, b, 0x18, 0x12];
            assert_eq!(checked(&text, 0), Ok(()));
            assert_eq!(checked(&text, 2), Err(Refusal::InvalidInsn));
            assert_eq!(checked(&text, 4), Err(Refusal::InvalidInsn));
        }
    }
}
