// SPDX-License-Identifier: GPL-2.0

//! Recognizes the instructions that check the target of an indirect call (CFI).
//!
//! The compiler emits these instructions before the call. When the check fails, the kernel decodes
//! them to report the expected type, so no probe may replace them:
//!
//! ```text
//! 41 BA type         mov  $-type, %r10d    12 bytes before the trap
//! 45 03 modrm FC     add  -4(%reg), %r10d   6 bytes before it
//! 74 02              je   1f
//! 0F 0B              ud2
//! ```
//!
//! The kernel has a table of the addresses of these UD2.

use super::insn::{
    Insn,
    Opcode, //
};

/// The distance from `insn` to UD2, if `insn` belongs to such a check.
pub(crate) fn trap(insn: &Insn) -> Option<u64> {
    match insn.opcode {
        Opcode::Primary(0xba) => Some(12),
        Opcode::Primary(0x03) => Some(6),
        _ => None,
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_call_check))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    #[test]
    fn the_trap_is_behind_both_instructions() {
        // mov $-type, %r10d; add -4(%r11), %r10d; je; ud2
        let check = [
            0x41, 0xba, 0x78, 0x56, 0x34, 0x12, 0x45, 0x03, 0x53, 0xfc, 0x74, 0x02, 0x0f, 0x0b,
        ];
        let trap = |from: usize| decode(check.get(from..)?).ok().and_then(|insn| trap(&insn));
        assert_eq!(trap(0), Some(12));
        assert_eq!(trap(6), Some(6));
        assert_eq!(trap(10), None);
        assert_eq!(trap(12), None);
    }
}
