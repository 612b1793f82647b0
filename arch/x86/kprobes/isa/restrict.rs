// SPDX-License-Identifier: GPL-2.0

//! Decides which instructions cannot be probed, and which copies must be stepped.
//!
//! These instructions cannot be probed:
//!
//! * An instruction that leaves the kernel's code segment, or the kernel, never returns to its
//!   copy. An instruction that always traps would trap at the address of the copy.
//! * With INT3 before or after them, these do not work or break the trap: instructions that wait
//!   for an interrupt, as interrupts are off in a step; instructions that delay the next trap; and
//!   instructions that change what a trap needs (GS, the interrupt descriptor table).
//!
//! The copy of an instruction that changes the CPU rather than the task must be stepped: page
//! tables, control and debug registers, model-specific registers, segments, caches, guests, shadow
//! stacks. After a boosted copy, the task could be preempted before the probed code completes that
//! change. Preemption there is possible without a probe, too, so no kernel code is known to break.
//! But such code relies on few instructions between its steps, and a second trap is cheap compared
//! with these instructions. Instructions that only read such state are boosted, except RDMSR,
//! URDMSR, VMREAD and VMPTRST, which are rare.
//!
//! C counterpart: `insn_masking_exception()`, `twobyte_is_boostable`, and the refusals of
//! `prepare_emulation()`, in [`arch/x86/kernel/kprobes/core.c`](
//! srctree/arch/x86/kernel/kprobes/core.c). C steps most of the instructions that are refused here.

use super::{
    flow::Flow,
    insn::{
        Insn,
        Opcode,
        Pp, //
    },
};
use crate::prelude::*;

/// Refuses instructions that cannot be probed. Returns whether a copy must be stepped.
///
/// `next` is the instruction after `insn`, if there is one.
pub(super) fn must_step(insn: &Insn, next: Option<&Insn>) -> Result<bool, Refusal> {
    match insn.flow() {
        Flow::FarJump | Flow::FarCall | Flow::FarReturn | Flow::FarReturnAndRelease => {
            return Err(Refusal::FarBranch)
        }
        Flow::InterruptReturn => return Err(Refusal::InterruptReturn),
        Flow::Breakpoint | Flow::Interrupt | Flow::Undefined => return Err(Refusal::AlwaysTraps),
        Flow::SystemCall | Flow::SystemReturn => return Err(Refusal::SystemCall),
        Flow::Hypervisor => return Err(Refusal::WorldSwitch),
        Flow::Transaction => return Err(Refusal::Transaction),
        _ => {}
    }
    match insn.opcode {
        Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => one_byte(insn, opcode, next),
        Opcode::TwoByte(opcode) | Opcode::Rex2TwoByte(opcode) => two_byte(insn, opcode),
        Opcode::ThreeByte38(opcode) => Ok(three_byte_38(insn, opcode)),
        // HRESET.
        Opcode::ThreeByte3A(0xf0) => Ok(true),
        // RDMSR, WRMSRNS, URDMSR, UWRMSR.
        Opcode::Vex(7, _) | Opcode::Evex(7, _) => Ok(true),
        // The same instructions as in the map of 0F 38, some with other opcodes.
        Opcode::Evex(4, opcode) => Ok(match opcode {
            0x65 => three_byte_38(insn, 0xf5),
            0x66 => three_byte_38(insn, 0xf6),
            // INVEPT, INVVPID, INVPCID; CRC32 without F3.
            0xf0..=0xf2 => insn.pp == Pp::PF3,
            0xf8 => three_byte_38(insn, 0xf8),
            _ => false,
        }),
        _ => Ok(false),
    }
}

fn one_byte(insn: &Insn, opcode: u8, next: Option<&Insn>) -> Result<bool, Refusal> {
    match (opcode, insn.group()) {
        // MOV to SS delays a trap that follows by one instruction.
        (0x8e, Some(2)) => Err(Refusal::DelaysTraps),
        // MOV to GS.
        (0x8e, Some(5)) => Err(Refusal::ChangesCpuBase),
        // MOV to ES, DS, FS.
        (0x8e, _) => Ok(true),
        // XABORT.
        (0xc6, Some(7)) => Err(Refusal::Transaction),
        (HLT, _) => Err(Refusal::Waits),
        // Emulation does not delay interrupts until after the next instruction: the interrupt that
        // should end the wait could arrive before the wait begins.
        (STI, _) if next.is_some_and(waits) => Err(Refusal::LetsNextWait),
        _ => Ok(false),
    }
}

const HLT: u8 = 0xf4;
/// STI is emulated, unless the next instruction waits.
pub(super) const STI: u8 = 0xfb;

/// Returns whether this waits for an interrupt, or enters a guest until an interrupt.
fn waits(insn: &Insn) -> bool {
    let refused = must_step(insn, None);
    matches!(refused, Err(Refusal::Waits | Refusal::WorldSwitch))
}

fn two_byte(insn: &Insn, opcode: u8) -> Result<bool, Refusal> {
    let group = insn.group().unwrap_or_default();
    let repeat = insn.pp == Pp::PF3;
    Ok(match (opcode, insn.rm_register().is_some(), group) {
        // LLDT, LTR, LKGS; not SLDT, STR, VERR, VERW.
        (0x00, ..) => matches!(group, 2 | 3 | 6),
        (0x01, ..) => return group_7(insn),
        // CLTS, INVD, WBINVD, WBNOINVD; MOV to control and debug registers; WRMSR, RDMSR.
        (0x06 | 0x08 | 0x09 | 0x22 | 0x23 | 0x30 | 0x32, ..) => true,
        // GETSEC may start another kernel.
        (0x37, ..) => return Err(Refusal::WorldSwitch),
        // VMREAD, VMWRITE; other instructions have a mandatory prefix.
        (0x78 | 0x79, ..) => insn.pp == Pp::None,
        // POP FS, LSS, LFS.
        (0xa1 | 0xb2 | 0xb4, ..) => true,
        // POP GS, LGS; WRGSBASE.
        (0xa9 | 0xb5, ..) => return Err(Refusal::ChangesCpuBase),
        (0xae, true, 3) if repeat => return Err(Refusal::ChangesCpuBase),
        // WRFSBASE, INCSSP; CLRSSBSY; not RDFSBASE, RDGSBASE, PTWRITE, UMONITOR.
        (0xae, true, 2 | 5) | (0xae, false, 6) => repeat,
        // VMPTRLD, VMCLEAR, VMXON, VMPTRST; SENDUIPI; not RDRAND, RDSEED, RDPID.
        (0xc7, false, 6 | 7) => true,
        (0xc7, true, 6) => repeat,
        _ => false,
    })
}

/// Decodes 0F 01: with a register in rm, reg and rm together select the instruction.
fn group_7(insn: &Insn) -> Result<bool, Refusal> {
    let Some(modrm) = insn.modrm else {
        return Ok(true);
    };
    match (modrm.is_register(), modrm.reg(), modrm.rm()) {
        // LIDT: INT3 after LIDT would use the new table, which may be empty.
        (false, 3, _) => Err(Refusal::ChangesVectors),
        // MWAIT, MWAITX.
        (true, 1, 1) | (true, 7, 3) => Err(Refusal::Waits),
        // XEND.
        (true, 2, 5) => Err(Refusal::Transaction),
        // VMLOAD, which loads GS, too; SWAPGS.
        (true, 3, 2) | (true, 7, 0) => Err(Refusal::ChangesCpuBase),
        // SGDT, SIDT, SMSW.
        (false, 0 | 1 | 4, _) | (true, 4, _) => Ok(false),
        // CLAC, STAC; XGETBV, XTEST; SERIALIZE, RDPKRU, WRPKRU; RDTSCP, CLZERO, RDPRU.
        (true, 1, 2 | 3) | (true, 2, 0 | 6) | (true, 5, 0 | 6 | 7) | (true, 7, 1 | 4 | 5) => {
            Ok(insn.pp != Pp::None)
        }
        // LGDT, LMSW, INVLPG, MONITOR, XSETBV, VMSAVE, STGI, INVLPGA, PVALIDATE and so on.
        _ => Ok(true),
    }
}

fn three_byte_38(insn: &Insn, opcode: u8) -> bool {
    match opcode {
        // INVEPT, INVVPID, INVPCID.
        0x80..=0x82 => true,
        // LOADIWKEY; AESENC128KL has a memory operand.
        0xdc => insn.rm_register().is_some() && insn.pp == Pp::PF3,
        // WRUSS, WRSS; ADCX and ADOX have a mandatory prefix.
        0xf5 => true,
        0xf6 => insn.pp == Pp::None,
        // UWRMSR, URDMSR; not MOVDIR64B, ENQCMD.
        0xf8 => insn.rm_register().is_some(),
        _ => false,
    }
}

/// Returns where the UD2 is if `insn` at `at` checks the target of an indirect call (kCFI). Other
/// instructions may have the same opcode, so the caller looks the address up.
///
/// The compiler emits these instructions before the call. When the check fails, the kernel decodes
/// them to report the expected type, so no probe may replace them:
///
/// ```text
/// 41 BA type         mov  $-type, %r10d    12 bytes before the trap
/// 45 03 modrm FC     add  -4(%reg), %r10d   6 bytes before it
/// 74 02              je   1f
/// 0F 0B              ud2
/// ```
///
/// The kernel has a table of the addresses of these UD2.
pub(crate) fn call_check_trap(insn: &Insn, at: TextAddr) -> Option<TextAddr> {
    let distance = match insn.opcode {
        Opcode::Primary(0xba) => 12,
        Opcode::Primary(0x03) => 6,
        _ => return None,
    };
    at.after(distance).ok()
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_restrict))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    fn refused(cases: &[&[u8]], reason: Refusal) -> bool {
        let refusal = |bytes: &[u8]| decode(bytes).and_then(|insn| must_step(&insn, None)).err();
        cases.iter().all(|bytes| refusal(bytes) == Some(reason))
    }

    #[test]
    fn instructions_that_leave_the_kernel_are_refused() {
        // Far branches through memory, far returns.
        assert!(refused(
            &[&[0xff, 0x18], &[0xff, 0x28], &[0xcb], &[0xca, 8, 0]],
            Refusal::FarBranch,
        ));
        // iretq, eretu, uiret
        let returns: [&[u8]; 3] = [
            &[0x48, 0xcf],
            &[0xf3, 0x0f, 0x01, 0xca],
            &[0xf3, 0x0f, 0x01, 0xec],
        ];
        assert!(refused(&returns, Refusal::InterruptReturn));
        // syscall, sysret, sysenter, sysexit, rsm
        let calls: [&[u8]; 5] = [
            &[0x0f, 0x05],
            &[0x48, 0x0f, 0x07],
            &[0x0f, 0x34],
            &[0x0f, 0x35],
            &[0x0f, 0xaa],
        ];
        assert!(refused(&calls, Refusal::SystemCall));
        // vmcall, vmlaunch, vmresume, vmrun, vmmcall, tdcall, skinit, getsec
        let worlds: [&[u8]; 8] = [
            &[0x0f, 0x01, 0xc1],
            &[0x0f, 0x01, 0xc2],
            &[0x0f, 0x01, 0xc3],
            &[0x0f, 0x01, 0xd8],
            &[0x0f, 0x01, 0xd9],
            &[0x66, 0x0f, 0x01, 0xcc],
            &[0x0f, 0x01, 0xde],
            &[0x0f, 0x37],
        ];
        assert!(refused(&worlds, Refusal::WorldSwitch));
    }

    #[test]
    fn instructions_that_always_trap_are_refused() {
        let traps: [&[u8]; 7] = [
            &[0xcc],
            &[0xcd, 0x80],
            &[0xf1],
            &[0x0f, 0x0b],
            &[0x0f, 0xb9, 0xc0],
            &[0x0f, 0xff, 0xc0],
            &[0xd6],
        ];
        assert!(refused(&traps, Refusal::AlwaysTraps));
    }

    #[test]
    fn instructions_that_break_a_trap_are_refused() {
        assert!(refused(
            &[&[0x8e, 0xd0], &[0x48, 0x8e, 0x10]],
            Refusal::DelaysTraps,
        ));
        // swapgs, wrgsbase, mov to GS, pop GS, lgs, vmload
        let gs: [&[u8]; 6] = [
            &[0x0f, 0x01, 0xf8],
            &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
            &[0x8e, 0xe8],
            &[0x0f, 0xa9],
            &[0x0f, 0xb5, 0x00],
            &[0x0f, 0x01, 0xda],
        ];
        assert!(refused(&gs, Refusal::ChangesCpuBase));
        assert!(refused(&[&[0x0f, 0x01, 0x18]], Refusal::ChangesVectors));
        // xbegin, xend, xabort
        let transactions: [&[u8]; 3] = [
            &[0xc7, 0xf8, 0, 0, 0, 0],
            &[0x0f, 0x01, 0xd5],
            &[0xc6, 0xf8, 0],
        ];
        assert!(refused(&transactions, Refusal::Transaction));
        // hlt, mwait, mwaitx
        assert!(refused(
            &[&[0xf4], &[0x0f, 0x01, 0xc9], &[0x0f, 0x01, 0xfb]],
            Refusal::Waits,
        ));
    }

    #[test]
    fn sti_right_before_waiting_is_refused() {
        let before = |bytes: &[u8]| {
            let next = decode(bytes)?;
            must_step(&decode(&[0xfb])?, Some(&next))
        };
        // hlt, mwait, vmrun
        for next in [&[0xf4][..], &[0x0f, 0x01, 0xc9], &[0x0f, 0x01, 0xd8]] {
            assert_eq!(before(next), Err(Refusal::LetsNextWait));
        }
        for next in [&[0xc3][..], &[0x90], &[0x8e, 0xd0]] {
            assert_eq!(before(next), Ok(false));
        }
        // Others may stand before it.
        let next = decode(&[0xf4]);
        let nop = decode(&[0x90]).and_then(|nop| must_step(&nop, next.as_ref().ok()));
        assert_eq!(nop, Ok(false));
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_call_check))]
mod call_check_tests {
    use super::{
        super::decode::decode,
        *, //
    };

    #[test]
    fn call_check_trap_is_found_from_both_instructions() {
        // mov $-type, %r10d; add -4(%r11), %r10d; je; ud2
        let check = [
            0x41, 0xba, 0x78, 0x56, 0x34, 0x12, 0x45, 0x03, 0x53, 0xfc, 0x74, 0x02, 0x0f, 0x0b,
        ];
        const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);
        let trap = |from: usize| {
            let insn = decode(check.get(from..)?).ok()?;
            Some(call_check_trap(&insn, AT)?.get() - AT.get())
        };
        assert_eq!(trap(0), Some(12));
        assert_eq!(trap(6), Some(6));
        assert_eq!(trap(10), None);
        assert_eq!(trap(12), None);
    }
}
