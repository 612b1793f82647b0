// SPDX-License-Identifier: GPL-2.0

//! Finds where execution continues after an instruction.
//!
//! Only instructions in the legacy maps branch or trap, so every instruction in another map
//! continues with the next one. An instruction that traps only in some state of the CPU (an
//! emulated instruction, a memory operand that faults) continues with the next one, too.

use super::insn::{
    Insn,
    Opcode,
    Pp, //
};
use crate::prelude::*;

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
use super::decode::decode;

/// The ways in which execution continues after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// JMP rel8 or rel32.
    Jump,
    /// Jcc rel8 or rel32.
    ConditionalJump,
    /// LOOP, LOOPE, LOOPNE, JRCXZ: a conditional jump on RCX.
    CountedJump,
    /// CALL rel32.
    Call,
    /// JMPABS, a jump to an absolute address.
    AbsoluteJump,
    /// JMP to the address in a register or in memory.
    IndirectJump,
    /// CALL of the address in a register or in memory.
    IndirectCall,
    /// JMP to another code segment.
    FarJump,
    /// CALL of another code segment.
    FarCall,
    /// RET.
    Return,
    /// RET imm16, which releases bytes of the stack.
    ReturnAndRelease,
    /// RET to another code segment.
    FarReturn,
    /// RET imm16 to another code segment.
    FarReturnAndRelease,
    /// IRET, UIRET, ERETU, ERETS.
    InterruptReturn,
    /// INT3.
    Breakpoint,
    /// INT, INT1.
    Interrupt,
    /// SYSCALL, SYSENTER.
    SystemCall,
    /// SYSRET, SYSEXIT, RSM.
    SystemReturn,
    /// VMCALL, VMLAUNCH, VMRUN, SKINIT and so on: to a guest, to the host or to firmware.
    Hypervisor,
    /// XBEGIN: a transaction that aborts continues at a distance.
    Transaction,
    /// UD0, UD1, UD2, UDB, which always trap.
    Undefined,
}

impl Flow {
    /// Returns whether execution may continue with the next instruction, without a call in between.
    pub(super) fn may_continue(self) -> bool {
        matches!(self, Self::Next | Self::ConditionalJump | Self::CountedJump)
    }
}

impl Insn {
    /// Returns where execution continues after the instruction.
    pub(crate) fn flow(&self) -> Flow {
        match self.opcode {
            Opcode::Rex2Primary(0xa1) => Flow::AbsoluteJump,
            Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => one_byte(self, opcode),
            Opcode::TwoByte(opcode) | Opcode::Rex2TwoByte(opcode) => two_byte(self, opcode),
            _ => Flow::Next,
        }
    }

    /// Returns the opcode byte of a branch, whose low bits are the condition. Returns zero in the
    /// maps of REX2 and in maps without branches.
    pub(super) fn branch_opcode(&self) -> u8 {
        match self.opcode {
            Opcode::Primary(byte) | Opcode::TwoByte(byte) => byte,
            _ => 0,
        }
    }

    /// Returns the target of a branch that contains its target, for an instruction at `at`.
    pub(crate) fn target(&self, at: TextAddr) -> Option<TextAddr> {
        let value = self.immediate_value() as u64;
        match self.flow() {
            Flow::Jump
            | Flow::ConditionalJump
            | Flow::CountedJump
            | Flow::Call
            | Flow::Transaction => {
                // Addresses wrap, as in the CPU.
                let end = at.get().wrapping_add(u64::from(self.len));
                Some(TextAddr::new(end.wrapping_add(value)))
            }
            Flow::AbsoluteJump => Some(TextAddr::new(value)),
            _ => None,
        }
    }
}

fn one_byte(insn: &Insn, opcode: u8) -> Flow {
    match opcode {
        0x70..=0x7f => Flow::ConditionalJump,
        0xc2 => Flow::ReturnAndRelease,
        0xc3 => Flow::Return,
        0xc7 if insn.group() == Some(7) => Flow::Transaction,
        0xca => Flow::FarReturnAndRelease,
        0xcb => Flow::FarReturn,
        0xcc => Flow::Breakpoint,
        0xcd | 0xf1 => Flow::Interrupt,
        0xcf => Flow::InterruptReturn,
        0xd6 => Flow::Undefined,
        0xe0..=0xe3 => Flow::CountedJump,
        0xe8 => Flow::Call,
        0xe9 | 0xeb => Flow::Jump,
        0xff => group_5(insn),
        _ => Flow::Next,
    }
}

/// Decodes FF: /2 is CALL, /3 is CALL far, /4 is JMP and /5 is JMP far.
fn group_5(insn: &Insn) -> Flow {
    match insn.group() {
        Some(2) => Flow::IndirectCall,
        Some(3) => Flow::FarCall,
        Some(4) => Flow::IndirectJump,
        Some(5) => Flow::FarJump,
        _ => Flow::Next,
    }
}

fn two_byte(insn: &Insn, opcode: u8) -> Flow {
    match opcode {
        0x01 => group_7(insn),
        0x05 | 0x34 => Flow::SystemCall,
        0x07 | 0x35 | 0xaa => Flow::SystemReturn,
        0x0b | 0xb9 | 0xff => Flow::Undefined,
        0x80..=0x8f => Flow::ConditionalJump,
        _ => Flow::Next,
    }
}

/// Decodes 0F 01 with a register in rm: reg and rm together select the instruction.
fn group_7(insn: &Insn) -> Flow {
    let Some(modrm) = insn.modrm.filter(|modrm| modrm.is_register()) else {
        return Flow::Next;
    };
    match (modrm.reg(), modrm.rm(), insn.pp) {
        // ERETU and ERETS, which are CLAC without F2 and F3; UIRET.
        (1, 2, Pp::PF3 | Pp::PF2) => Flow::InterruptReturn,
        (5, 4, Pp::PF3) => Flow::InterruptReturn,
        // VMCALL, VMLAUNCH, VMRESUME; TDCALL, SEAMRET, SEAMCALL.
        (0, 1..=3, _) => Flow::Hypervisor,
        (1, 4 | 5, _) | (1, 7, Pp::P66) => Flow::Hypervisor,
        // VMRUN, VMMCALL, SKINIT.
        (3, 0 | 1 | 6, _) => Flow::Hypervisor,
        _ => Flow::Next,
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_flow))]
mod tests {
    use super::*;

    fn flow(bytes: &[u8]) -> Option<Flow> {
        decode(bytes).ok().map(|insn| insn.flow())
    }

    #[test]
    fn each_kind_of_branch_has_its_flow() {
        let cases: &[(&[u8], Flow)] = &[
            (&[0x90], Flow::Next),
            (&[0xff, 0xc0], Flow::Next),
            (&[0xeb, 0], Flow::Jump),
            (&[0xe9, 0, 0, 0, 0], Flow::Jump),
            (&[0x74, 0], Flow::ConditionalJump),
            (&[0x0f, 0x84, 0, 0, 0, 0], Flow::ConditionalJump),
            (&[0xe0, 0], Flow::CountedJump),
            (&[0xe3, 0], Flow::CountedJump),
            (&[0xe8, 0, 0, 0, 0], Flow::Call),
            (&[0xd5, 0, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0], Flow::AbsoluteJump),
            (&[0xff, 0xe0], Flow::IndirectJump),
            (&[0xff, 0x20], Flow::IndirectJump),
            (&[0xff, 0xd0], Flow::IndirectCall),
            (&[0xd5, 0x10, 0xff, 0x10], Flow::IndirectCall),
            (&[0xff, 0x28], Flow::FarJump),
            (&[0xff, 0x18], Flow::FarCall),
            (&[0xc3], Flow::Return),
            (&[0xc2, 0, 0], Flow::ReturnAndRelease),
            (&[0xcb], Flow::FarReturn),
            (&[0xca, 0, 0], Flow::FarReturnAndRelease),
            (&[0xc7, 0xf8, 0, 0, 0, 0], Flow::Transaction),
        ];
        for &(bytes, expected) in cases {
            assert_eq!(flow(bytes), Some(expected));
        }
        // The operands of the indirect ones: register or memory.
        let register = |bytes: &[u8]| decode(bytes).is_ok_and(|insn| insn.rm_register().is_some());
        assert!(register(&[0xff, 0xe0]) && !register(&[0xff, 0x20]));
        assert!(register(&[0xff, 0xd0]) && !register(&[0xd5, 0x10, 0xff, 0x10]));
    }

    #[test]
    fn each_kind_of_trap_and_trap_return_has_its_flow() {
        let cases: &[(&[u8], Flow)] = &[
            (&[0xcc], Flow::Breakpoint),
            (&[0xcd, 0x80], Flow::Interrupt),
            (&[0xf1], Flow::Interrupt),
            (&[0xcf], Flow::InterruptReturn),
            (&[0xf2, 0x0f, 0x01, 0xca], Flow::InterruptReturn),
            (&[0x0f, 0x01, 0xca], Flow::Next),
            (&[0xf3, 0x0f, 0x01, 0xec], Flow::InterruptReturn),
            (&[0x0f, 0x05], Flow::SystemCall),
            (&[0x0f, 0x34], Flow::SystemCall),
            (&[0x0f, 0x07], Flow::SystemReturn),
            (&[0x0f, 0x35], Flow::SystemReturn),
            (&[0x0f, 0x01, 0xc1], Flow::Hypervisor),
            (&[0x0f, 0x01, 0xd8], Flow::Hypervisor),
            (&[0x0f, 0x01, 0x08], Flow::Next),
            (&[0x0f, 0x0b], Flow::Undefined),
            (&[0x0f, 0xb9, 0xc0], Flow::Undefined),
            (&[0x0f, 0xff, 0xc0], Flow::Undefined),
            (&[0xd6], Flow::Undefined),
        ];
        for &(bytes, expected) in cases {
            assert_eq!(flow(bytes), Some(expected));
        }
    }

    #[test]
    fn jumps_on_a_condition_and_plain_instructions_may_continue() {
        let may = |bytes: &[u8]| flow(bytes).is_some_and(Flow::may_continue);
        // nop, je, jrcxz
        assert!(may(&[0x90]) && may(&[0x74, 0]) && may(&[0xe3, 0]));
        // ret, iretq, jmp, call, jmp *%rax
        let others: [&[u8]; 5] = [
            &[0xc3],
            &[0x48, 0xcf],
            &[0xeb, 0],
            &[0xe8, 0, 0, 0, 0],
            &[0xff, 0xe0],
        ];
        assert!(!others.iter().any(|bytes| may(bytes)));
    }

    #[test]
    fn branch_opcodes_in_other_maps_are_no_branches() {
        // VZEROUPPER, VPOR, VPSUBSB, VMOVDQA, VCMPPS; POR; BLSI by XOP; RET's byte in EVEX.
        let cases: &[&[u8]] = &[
            &[0xc5, 0xf8, 0x77],
            &[0xc5, 0xf5, 0xeb, 0xc0],
            &[0xc5, 0xf5, 0xe8, 0xc0],
            &[0xc5, 0xfd, 0x7f, 0x00],
            &[0xc5, 0xf4, 0xc2, 0xc0, 0],
            &[0x0f, 0xeb, 0xc0],
            &[0x8f, 0xe9, 0x78, 0xe3, 0xc0],
            &[0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc0, 0],
        ];
        for bytes in cases {
            assert_eq!(flow(bytes), Some(Flow::Next));
        }
    }
}
