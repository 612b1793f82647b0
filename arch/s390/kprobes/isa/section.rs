// SPDX-License-Identifier: GPL-2.0

//! Per-CPU sections: a few instructions on a variable of the CPU that run with preemption on.
//!
//! ```text
//! mviy  percpu_register,5      register 5 will have an address of this CPU
//! ag    %r5,percpu_offset
//! asi   0(%r5),1
//! mviy  percpu_register,0
//! ```
//!
//! If the task has moved to another CPU, the exit from an interrupt corrects the register that the
//! lowcore's `percpu_register` names, unless the PSW is at the `ag`.
//!
//! C counterpart:
//! [`arch/s390/include/asm/entry-percpu.h`](srctree/arch/s390/include/asm/entry-percpu.h).

use super::insn::Insn;
use crate::{
    contract::ReadText,
    prelude::*, //
};

/// Returns whether the instruction at `at` is in a per-CPU section, its first and its last
/// instruction included. An instruction starts at `known`, outside of sections. `is_register` tells
/// the addresses of the lowcore's `percpu_register`.
pub(crate) fn covers(
    known: TextAddr,
    at: TextAddr,
    is_register: fn(u64) -> bool,
    read: ReadText<'_>,
) -> Result<bool, Refusal> {
    let (mut here, mut inside) = (known, false);
    while here <= at {
        let insn = Insn::read(here, read)?;
        let stored = insn.stored_byte().filter(|&(at, _)| is_register(at));
        if here == at {
            return Ok(inside || stored.is_some());
        }
        inside = stored.map_or(inside, |(_, byte)| byte != 0);
        here = here.after(insn.len() as u64)?;
    }
    Err(Refusal::NotABoundary)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_section))]
mod tests {
    use super::*;

    const START: u64 = 0x3ff_8000_0000;

    // lgr %r5,%r2; mviy 0x3a0,5; ag %r5,0x3b8; asi 0(%r5),1; mviy 0x3a0,0; mviy 0x3a8,5; br %r14
    const TEXT: [u8; 36] = [
        0xb9, 0x04, 0x00, 0x52, 0xeb, 0x05, 0x03, 0xa0, 0x00, 0x52, 0xe3, 0x50, 0x03, 0xb8, 0x00,
        0x08, 0xeb, 0x01, 0x50, 0x00, 0x00, 0x6a, 0xeb, 0x00, 0x03, 0xa0, 0x00, 0x52, 0xeb, 0x05,
        0x03, 0xa8, 0x00, 0x52, 0x07, 0xfe,
    ];

    fn covered(offset: u64) -> Result<bool, Refusal> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let from = at.get().checked_sub(START)? as usize;
            into.copy_from_slice(TEXT.get(from..from + into.len())?);
            Some(())
        };
        let at = TextAddr::new(START + offset);
        covers(TextAddr::new(START), at, |at| at == 0x3a0, &mut read)
    }

    #[test]
    fn section_is_from_one_mviy_to_the_other() {
        let inside = [4, 10, 16, 22];
        for offset in [0, 4, 10, 16, 22, 28, 34] {
            assert_eq!(covered(offset), Ok(inside.contains(&offset)));
        }
    }

    #[test]
    fn addresses_inside_of_instructions_are_refused() {
        assert_eq!(covered(12), Err(Refusal::NotABoundary));
        assert_eq!(covered(36), Err(Refusal::UnreadableText));
    }
}
