// SPDX-License-Identifier: GPL-2.0

//! The s390x instruction set, as far as kprobes needs it: pure code without access to the kernel.
//!
//! ```text
//! insn                 bytes to one instruction
//! boundary             where instructions start
//! classify             how a probed instruction is executed
//! branch               emulation in the trap of a hit
//! relocate             copies for another address; the targets of EXRL
//! section              per-CPU sections, in which there are no jumps
//! ```
//!
//! The kernel runs in the 64-bit addressing mode, which branches neither read nor change. Code in
//! the 31-bit mode, `.amode31.text`, cannot be probed.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

mod boundary;
pub(crate) mod branch;
pub(crate) mod classify;
pub(crate) mod insn;
mod opcodes {
    use super::insn::{
        Extension,
        Opcode, //
    };

    include!(concat!(
        env!("OBJTREE"),
        "/rust/kprobes/s390_opcodes_generated.rs"
    ));
}
pub(crate) mod relocate;
pub(crate) mod section;

use crate::{
    contract::{
        Isa,
        ReadText, //
    },
    prelude::*, //
};

/// The instruction that breakpoints are made of.
pub(crate) const BREAKPOINT: [u8; 2] = [0x00, 0x02];

/// The s390x back end.
pub(crate) struct S390;

impl Isa for S390 {
    fn is_breakpoint(code: &[u8]) -> bool {
        code.starts_with(&BREAKPOINT)
    }

    fn check_boundary(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal> {
        boundary::check_boundary(known, at, read)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_s390_isa))]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_have_two_bytes() {
        assert!(S390::is_breakpoint(&[0x00, 0x02, 0x18, 0x12]));
        assert!(!S390::is_breakpoint(&[0x00, 0x01]));
        assert!(!S390::is_breakpoint(&[0x18, 0x02]));
        assert!(!S390::is_breakpoint(&[0x00]));
    }
}
