// SPDX-License-Identifier: GPL-2.0

//! Instructions that change the CPU rather than the task.
//!
//! Tables for translation, control and debug registers, model-specific registers, segments, caches,
//! guests, shadow stacks. A copy of one is stepped, not boosted: between it and the jump back the
//! task could be preempted, with the CPU in a state that the code after the original was to finish.
//! The original could be preempted there as well, so nothing is known to break; but who writes such
//! code counts on few instructions, and a second trap costs little next to what these cost.
//!
//! Reading such state is not in this list, except where the instruction is there for the kernel
//! alone and rare: RDMSR, VMREAD.
//!
//! C counterpart: `twobyte_is_boostable` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c).

use super::insn::{
    Insn,
    Opcode,
    Selector, //
};

/// Does `insn` change the state of the CPU for more than the code that it stands in?
pub(super) fn is(insn: &Insn) -> bool {
    match insn.opcode() {
        // MOV to ES, FS, DS.
        Opcode::Primary(0x8e) | Opcode::Rex2Primary(0x8e) => true,
        Opcode::TwoByte(opcode) | Opcode::Rex2TwoByte(opcode) => two_byte(insn, opcode),
        Opcode::ThreeByte38(opcode) => three_byte_38(insn, opcode),
        // HRESET.
        Opcode::ThreeByte3A(opcode) => opcode == 0xf0,
        // RDMSR, WRMSRNS, URDMSR, UWRMSR.
        Opcode::Vex(7, _) | Opcode::Evex(7, _) => true,
        Opcode::Evex(4, opcode) => apx(insn, opcode),
        _ => false,
    }
}

fn two_byte(insn: &Insn, opcode: u8) -> bool {
    match opcode {
        // LLDT, LTR, LKGS; not SLDT, STR, VERR, VERW.
        0x00 => matches!(reg(insn), 2 | 3 | 6),
        0x01 => system(insn),
        // CLTS, INVD, WBINVD, WBNOINVD.
        0x06 | 0x08 | 0x09 => true,
        // MOV to control and debug registers.
        0x22 | 0x23 => true,
        // WRMSR, RDMSR.
        0x30 | 0x32 => true,
        // VMREAD, VMWRITE; others with prefixes.
        0x78 | 0x79 => insn.selector() == Selector::None,
        // POP FS, LSS, LFS.
        0xa1 | 0xb2 | 0xb4 => true,
        0xae => fence(insn),
        // VMPTRLD, VMCLEAR, VMXON, VMPTRST; SENDUIPI; not RDRAND, RDSEED, RDPID.
        0xc7 => match (is_register(insn), reg(insn)) {
            (false, 6 | 7) => true,
            (true, 6) => insn.selector() == Selector::Repeat,
            _ => false,
        },
        _ => false,
    }
}

/// ```text
/// +----+----+------------+
/// | 0F | 01 | mod reg rm |
/// +----+----+------------+
/// ```
fn system(insn: &Insn) -> bool {
    let Some(modrm) = insn.modrm() else {
        return true;
    };
    match (modrm.is_register(), modrm.reg(), modrm.rm()) {
        // SGDT, SIDT, SMSW.
        (false, 0 | 1 | 4, _) | (true, 4, _) => false,
        // CLAC, STAC.
        (true, 1, 2 | 3) => insn.selector() != Selector::None,
        // XGETBV, XTEST.
        (true, 2, 0 | 6) => insn.selector() != Selector::None,
        // SERIALIZE, RDPKRU, WRPKRU.
        (true, 5, 0 | 6 | 7) => insn.selector() != Selector::None,
        // RDTSCP, CLZERO, RDPRU.
        (true, 7, 1 | 4 | 5) => insn.selector() != Selector::None,
        // LGDT, LMSW, INVLPG, MONITOR, XSETBV, VMSAVE, STGI, INVLPGA, PVALIDATE and so on.
        _ => true,
    }
}

/// ```text
/// +----+----+----+------------+
/// | F3 | 0F | AE | mod reg rm |
/// +----+----+----+------------+
/// ```
fn fence(insn: &Insn) -> bool {
    let selector = insn.selector();
    match (is_register(insn), reg(insn)) {
        // WRFSBASE, INCSSP; not RDFSBASE, RDGSBASE, PTWRITE, UMONITOR.
        (true, 2 | 5) => selector == Selector::Repeat,
        // CLRSSBSY.
        (false, 6) => selector == Selector::Repeat,
        _ => false,
    }
}

fn three_byte_38(insn: &Insn, opcode: u8) -> bool {
    match opcode {
        // INVEPT, INVVPID, INVPCID.
        0x80..=0x82 => true,
        // LOADIWKEY; AESENC128KL has a memory operand.
        0xdc => is_register(insn) && insn.selector() == Selector::Repeat,
        // WRUSS, WRSS; ADCX and ADOX with prefixes.
        0xf5 => true,
        0xf6 => insn.selector() == Selector::None,
        // UWRMSR, URDMSR; not MOVDIR64B, ENQCMD.
        0xf8 => is_register(insn),
        _ => false,
    }
}

/// The same in map 4 of EVEX.
fn apx(insn: &Insn, opcode: u8) -> bool {
    match opcode {
        // WRUSS, WRSS; ADCX and ADOX with prefixes.
        0x65 => true,
        0x66 => insn.selector() == Selector::None,
        // INVEPT, INVVPID, INVPCID; CRC32 without the prefix.
        0xf0..=0xf2 => insn.selector() == Selector::Repeat,
        // UWRMSR, URDMSR; not MOVDIR64B, ENQCMD.
        0xf8 => is_register(insn),
        _ => false,
    }
}

fn is_register(insn: &Insn) -> bool {
    insn.modrm().is_some_and(|modrm| modrm.is_register())
}

/// Which instruction of a group; the first where there is none.
fn reg(insn: &Insn) -> u8 {
    insn.modrm().map_or(0, |modrm| modrm.reg())
}
