// SPDX-License-Identifier: GPL-2.0

//! Where execution goes after an instruction.
//!
//! Only instructions in the legacy maps go anywhere but on, so those in all other maps are answered
//! for by their map. What traps only under some condition of the CPU (a system call that is
//! emulated, a memory operand that faults) goes on.

use super::insn::{
    Insn,
    Opcode,
    Selector, //
};

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
use super::decode::decode;

/// Where execution goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On to the next instruction.
    Next,
    /// JMP by a distance.
    Jump,
    /// Jcc, by a distance.
    ConditionalJump,
    /// LOOP, LOOPE, LOOPNE, JRCXZ: by a distance and the count register.
    CountedJump,
    /// CALL by a distance.
    Call,
    /// JMPABS, to an address.
    AbsoluteJump,
    /// JMP to where an operand says.
    IndirectJump(Place),
    /// CALL of where an operand says.
    IndirectCall(Place),
    /// JMP to another segment.
    FarJump,
    /// CALL to another segment.
    FarCall,
    /// RET.
    Return,
    /// RET that also releases as many bytes of the stack as its immediate says.
    ReturnAndRelease,
    /// RET to another segment.
    FarReturn,
    /// RET to another segment that also releases bytes of the stack.
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
    /// Between a host and its guests, or to firmware: VMCALL, VMLAUNCH, VMRUN, SKINIT and so on.
    Hypervisor,
    /// XBEGIN: a failing transaction continues at a distance.
    Transaction,
    /// UD0, UD1, UD2, UDB, which always trap.
    Undefined,
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Register,
    Memory,
}

/// Where execution goes after `insn`.
pub(super) fn of(insn: &Insn) -> Flow {
    match insn.opcode() {
        Opcode::Rex2Primary(0xa1) => Flow::AbsoluteJump,
        Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => primary(insn, opcode),
        Opcode::TwoByte(opcode) | Opcode::Rex2TwoByte(opcode) => two_byte(insn, opcode),
        Opcode::ThreeByte38(_)
        | Opcode::ThreeByte3A(_)
        | Opcode::ThreeDNow(_)
        | Opcode::Vex(..)
        | Opcode::Evex(..)
        | Opcode::Xop(..) => Flow::Next,
    }
}

fn primary(insn: &Insn, opcode: u8) -> Flow {
    match opcode {
        0x70..=0x7f => Flow::ConditionalJump,
        0xc2 => Flow::ReturnAndRelease,
        0xc3 => Flow::Return,
        0xc7 if group(insn) == Some(7) => Flow::Transaction,
        0xca => Flow::FarReturnAndRelease,
        0xcb => Flow::FarReturn,
        0xcc => Flow::Breakpoint,
        0xcd | 0xf1 => Flow::Interrupt,
        0xcf => Flow::InterruptReturn,
        0xd6 => Flow::Undefined,
        0xe0..=0xe3 => Flow::CountedJump,
        0xe8 => Flow::Call,
        0xe9 | 0xeb => Flow::Jump,
        0xff => indirect(insn),
        _ => Flow::Next,
    }
}

/// ```text
/// +----+------------+
/// | FF | mod reg rm |     reg: 2 CALL, 3 CALL far, 4 JMP, 5 JMP far
/// +----+------------+
/// ```
fn indirect(insn: &Insn) -> Flow {
    let register = insn.modrm().is_some_and(|modrm| modrm.is_register());
    let place = if register {
        Place::Register
    } else {
        Place::Memory
    };
    match group(insn) {
        Some(2) => Flow::IndirectCall(place),
        Some(3) => Flow::FarCall,
        Some(4) => Flow::IndirectJump(place),
        Some(5) => Flow::FarJump,
        _ => Flow::Next,
    }
}

fn two_byte(insn: &Insn, opcode: u8) -> Flow {
    match opcode {
        0x01 => system(insn),
        0x05 | 0x34 => Flow::SystemCall,
        0x07 | 0x35 | 0xaa => Flow::SystemReturn,
        0x0b | 0xb9 | 0xff => Flow::Undefined,
        0x80..=0x8f => Flow::ConditionalJump,
        _ => Flow::Next,
    }
}

/// ```text
/// +----+----+----------+
/// | 0F | 01 | 11 reg rm |
/// +----+----+----------+
/// ```
fn system(insn: &Insn) -> Flow {
    let Some(modrm) = insn.modrm().filter(|modrm| modrm.is_register()) else {
        return Flow::Next;
    };
    match (modrm.reg(), modrm.rm(), insn.selector()) {
        // ERETU, ERETS; CLAC without the prefixes. UIRET.
        (1, 2, Selector::Repeat | Selector::RepeatNotEqual) => Flow::InterruptReturn,
        (5, 4, Selector::Repeat) => Flow::InterruptReturn,
        // VMCALL, VMLAUNCH, VMRESUME; TDCALL, SEAMRET, SEAMCALL.
        (0, 1..=3, _) => Flow::Hypervisor,
        (1, 4 | 5, _) | (1, 7, Selector::OperandSize) => Flow::Hypervisor,
        // VMRUN, VMMCALL, SKINIT.
        (3, 0 | 1 | 6, _) => Flow::Hypervisor,
        _ => Flow::Next,
    }
}

/// Which instruction of a group.
fn group(insn: &Insn) -> Option<u8> {
    insn.modrm().map(|modrm| modrm.reg())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_flow))]
mod tests {
    use super::*;

    fn flow(bytes: &[u8]) -> Option<Flow> {
        decode(bytes).ok().map(|insn| insn.flow())
    }

    #[test]
    fn branches_are_told_apart() {
        let register = Place::Register;
        let memory = Place::Memory;
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
            (&[0xff, 0xe0], Flow::IndirectJump(register)),
            (&[0xff, 0x20], Flow::IndirectJump(memory)),
            (&[0xff, 0xd0], Flow::IndirectCall(register)),
            (&[0xd5, 0x10, 0xff, 0x10], Flow::IndirectCall(memory)),
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
    }

    #[test]
    fn traps_and_returns_from_them_are_told_apart() {
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
    fn opcodes_of_branches_in_other_maps_go_on() {
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
