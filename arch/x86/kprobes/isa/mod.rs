// SPDX-License-Identifier: GPL-2.0

//! The x86-64 instruction set, as far as kprobes needs it: pure code without access to the kernel.
//!
//! ```text
//! decode -> form, insn                 bytes to one instruction
//! classify -> restrict, flow           how a probed instruction is executed
//! emulate -> operand, regs             emulation in the trap of a hit
//! relocate, encode                     copies for another address, and new instructions
//! boundary                             where instructions start
//! region -> branch_targets             where a jump can replace a breakpoint
//! layout                               the bytes of a detour
//! ```
//!
//! With indirect branch tracking, a function that is called through a pointer starts with ENDBR64.
//! A breakpoint there would replace the instruction that the CPU requires, so the entry of such a
//! function is the next instruction, and both offsets name that entry.

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod boundary;
pub(crate) mod branch_targets;
pub(crate) mod classify;
pub(crate) mod decode;
pub(crate) mod emulate;
pub(crate) mod encode;
pub(crate) mod flow;
mod form;
pub(crate) mod insn;
pub(crate) mod layout;
pub(crate) mod regs;
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod test_registers;
mod opcodes {
    include!(concat!(
        env!("OBJTREE"),
        "/rust/kprobes/x86_opcodes_generated.rs"
    ));
}
mod operand;
pub(crate) mod region;
pub(crate) mod relocate;
pub(crate) mod restrict;
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod test_function;

use crate::{
    contract::{
        Isa,
        ReadText, //
    },
    model::target::ProbeAddr,
    prelude::*, //
};

/// The length of ENDBR64.
const ENDBR_LEN: u64 = 4;

/// The x86-64 back end.
pub(crate) struct X86;

/// Returns the probe point for `offset` bytes into `function`. `marked` means that the function
/// starts with ENDBR64.
pub(super) fn adjust_addr(function: TextAddr, offset: u64, marked: bool) -> Option<ProbeAddr> {
    let entry = if marked { ENDBR_LEN } else { 0 };
    let on_entry = offset == 0 || offset == entry;
    let offset = if on_entry { entry } else { offset };
    let at = function.after(offset).ok()?;
    Some(ProbeAddr { at, on_entry })
}

impl Isa for X86 {
    fn is_breakpoint(code: &[u8]) -> bool {
        code.first() == Some(&encode::INT3)
    }

    fn check_boundary(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal> {
        boundary::check_boundary(known, at, read)
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_isa))]
mod tests {
    use super::*;

    const FUNCTION: u64 = 0xffff_ffff_8100_0000;

    /// The offset of the probe point, and whether that is the entry.
    fn adjusted(offset: u64, marked: bool) -> Option<(u64, bool)> {
        let probed = super::adjust_addr(TextAddr::new(FUNCTION), offset, marked)?;
        Some((probed.at.get().wrapping_sub(FUNCTION), probed.on_entry))
    }

    #[test]
    fn entry_of_a_plain_function_is_its_first_byte() {
        assert_eq!(adjusted(0, false), Some((0, true)));
        assert_eq!(adjusted(1, false), Some((1, false)));
        assert_eq!(adjusted(4, false), Some((4, false)));
    }

    #[test]
    fn entry_of_a_marked_function_is_after_the_mark() {
        assert_eq!(adjusted(0, true), Some((4, true)));
        assert_eq!(adjusted(1, true), Some((1, false)));
        assert_eq!(adjusted(4, true), Some((4, true)));
        assert_eq!(adjusted(5, true), Some((5, false)));
    }

    #[test]
    fn breakpoint_is_recognized_by_its_first_byte() {
        assert!(X86::is_breakpoint(&[0xcc, 0x90]));
        assert!(!X86::is_breakpoint(&[0x90, 0xcc]));
        assert!(!X86::is_breakpoint(&[]));
    }

    #[test]
    fn offset_that_wraps_is_no_place() {
        assert_eq!(adjusted(u64::MAX, false), None);
    }
}
