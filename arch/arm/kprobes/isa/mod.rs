// SPDX-License-Identifier: GPL-2.0

//! The A32 and Thumb instruction sets of ARMv7 and of ARMv8's AArch32, as far as kprobes needs
//! them: pure code without access to the kernel.
//!
//! ```text
//! pattern, *_table     classes of encodings
//! insn                 bytes to one instruction; how a probed instruction is executed
//! emulate              emulation in the trap of a hit
//! psr                  conditions, IT blocks, the PSR of a step
//! copy                 the code of copies
//! boundary             where instructions start, and where data is in the text
//! exclusive            code between an exclusive load and its store
//! ```
//!
//! A kernel is compiled to A32 or to Thumb. Text is little-endian.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

mod a32_table;
pub(crate) mod boundary;
mod copro_table;
pub(crate) mod copy;
pub(crate) mod emulate;
pub(crate) mod exclusive;
pub(crate) mod insn;
mod pattern;
pub(crate) mod psr;
mod t16_table;
mod t32_table;

/// The instruction set that a CPU executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    A32,
    Thumb,
}

/// UDF #0x18 of A32, without its condition. A breakpoint has the condition of the instruction
/// that it replaces.
pub(crate) const A32_BREAKPOINT: u32 = 0x07f0_01f8;
/// UDF #0x18 of T16: replaces 16-bit instructions, and ends stepped copies.
pub(crate) const T16_BREAKPOINT: u16 = 0xde18;
/// UDF #0x18 of T32: replaces 32-bit instructions. The first halfword is the high one.
pub(crate) const T32_BREAKPOINT: u32 = 0xf7f0_a018;

impl State {
    /// Returns bit 0 of the addresses that lead to code of this kind, as function pointers do.
    pub(crate) const fn pointer_bit(self) -> u32 {
        matches!(self, Self::Thumb) as u32
    }

    /// Returns whether this code is one of our breakpoints.
    pub(crate) fn is_breakpoint(self, code: &[u8]) -> bool {
        let word = code.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        match self {
            Self::A32 => {
                word.is_some_and(|word| word < 0xf000_0000 && word & 0x0fff_ffff == A32_BREAKPOINT)
            }
            Self::Thumb => {
                word == Some(T32_BREAKPOINT.rotate_right(16))
                    || code.starts_with(&T16_BREAKPOINT.to_le_bytes())
            }
        }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_arm_isa))]
mod tests {
    use super::*;

    #[test]
    fn a32_breakpoints_have_any_condition() {
        // udfeq #0x18, udf #0x18; udf #0x19; 0xf7f001f8
        assert!(State::A32.is_breakpoint(&[0xf8, 0x01, 0xf0, 0x07]));
        assert!(State::A32.is_breakpoint(&[0xf8, 0x01, 0xf0, 0xe7, 0]));
        assert!(!State::A32.is_breakpoint(&[0xf9, 0x01, 0xf0, 0xe7]));
        assert!(!State::A32.is_breakpoint(&[0xf8, 0x01, 0xf0, 0xf7]));
        assert!(!State::A32.is_breakpoint(&[0xf8, 0x01, 0xf0]));
    }

    #[test]
    fn thumb_breakpoints_have_two_or_four_bytes() {
        // udf #0x18; udf.w #0x18; udf.w #0x19; nop
        assert!(State::Thumb.is_breakpoint(&[0x18, 0xde]));
        assert!(State::Thumb.is_breakpoint(&[0xf0, 0xf7, 0x18, 0xa0]));
        assert!(!State::Thumb.is_breakpoint(&[0xf0, 0xf7, 0x19, 0xa0]));
        assert!(!State::Thumb.is_breakpoint(&[0xf0, 0xf7]));
        assert!(!State::Thumb.is_breakpoint(&[0x00, 0xbf]));
    }
}
