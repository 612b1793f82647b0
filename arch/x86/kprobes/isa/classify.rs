// SPDX-License-Identifier: GPL-2.0

//! Decides how a probed instruction is executed: emulated, as a stepped copy, or as a boosted copy.
//!
//! A *stepped* copy ends in INT3 and runs with interrupts off. A *boosted* copy ends in a jump back
//! and runs in the state of the probed code: no second trap occurs, but an interrupt may come, and
//! the task may be preempted, between any two instructions of the slot. Every copy that can be
//! boosted can be stepped instead, for example to call a post handler.
//!
//! The decision has these steps, in this order:
//!
//! 1. [`restrict`] refuses instructions that cannot be probed.
//! 2. All near branches are emulated ([`flow`](super::flow)), and so are NOP and the instructions
//!    that read or write the interrupt flag. ENDBR is not: with FRED, the CPU that returns from the
//!    trap still waits for one if an indirect branch has led there.
//! 3. An instruction that changes the state of the CPU is stepped ([`restrict`]), so that no other
//!    task runs before the probed code continues.
//! 4. An instruction with an entry in the exception table is stepped. The instruction may fault on
//!    memory that is not present, and the task would sleep in a boosted slot; Tasks RCU would take
//!    that for having left the slot. The exception table is also searched for the address of the
//!    fault.
//! 5. All other instructions of all opcode maps are boosted: without an entry in the exception
//!    table, an instruction of the kernel does not fault, so no task sleeps in the slot. Notably:
//!    * REP with a string instruction can be interrupted in the middle. The registers contain the
//!      progress, and the instruction resumes in the slot.
//!    * PUSH, POP and MOV to RSP: an interrupt in the slot finds the same stack as an interrupt
//!      after the original.
//!    * IN, OUT and instructions that a hypervisor traps (CPUID, RDTSC): the hypervisor resumes at
//!      the next instruction in the slot.
//!    * STAC, CLAC, STD, WRPKRU: the state belongs to the task and is switched with the task.
//!    * x87: the FPU records the address of the copy as the address of the last FPU instruction,
//!      stepped or boosted. Only a debugger of the FPU's state could see the difference.
//!    * TPAUSE and UMWAIT wait, too, but an interrupt ends the wait even if interrupts are off.
//!
//! C counterpart: `can_boost()` and `prepare_emulation()` in
//! [`arch/x86/kernel/kprobes/core.c`](srctree/arch/x86/kernel/kprobes/core.c), which decide by the
//! first byte of the opcode and ignore the opcode map.

use super::{
    emulate::{
        Condition,
        Counter,
        Op, //
    },
    flow::Flow,
    insn::{
        Insn,
        ModRm,
        Opcode,
        Pp,
        Prefix, //
    },
    operand::{
        self,
        Memory, //
    },
    restrict, //
};
use crate::prelude::*;

/// The ways to execute an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exec {
    /// The trap handler changes the saved registers.
    Emulate(Op),
    /// As a copy that ends in a second trap.
    Step,
    /// As a copy that ends in a jump back. The copy may also be stepped.
    Boost,
}

/// Decides how `insn` is executed.
///
/// `next` is the instruction after `insn`, if there is one. `fixup` means that the exception table
/// has an entry for `insn`.
pub(crate) fn classify(insn: &Insn, next: Option<&Insn>, fixup: bool) -> Result<Exec, Refusal> {
    let must_step = restrict::must_step(insn, next)?;
    let Some(op) = branch_op(insn)?.or_else(|| nop_or_flags_op(insn)) else {
        let may_boost = !fixup && !must_step;
        return Ok(if may_boost { Exec::Boost } else { Exec::Step });
    };
    // AMD's CPUs have near branches with operands of 16 bits, Intel's CPUs do not.
    let has_size = !matches!(
        op,
        Op::Continue | Op::DisableInterrupts | Op::EnableInterrupts
    );
    if has_size && insn.has(Prefix::OperandSize) && !insn.wide {
        return Err(Refusal::OperandSize);
    }
    // With LOCK, the CPU raises #UD for each of these instructions.
    if insn.has(Prefix::Lock) {
        return Err(Refusal::InvalidInsn);
    }
    Ok(Exec::Emulate(op))
}

fn branch_op(insn: &Insn) -> Result<Option<Op>, Refusal> {
    let distance = insn.immediate_value() as i32;
    Ok(Some(match (insn.flow(), insn.rm_register()) {
        (Flow::Jump, _) => Op::Jump(distance),
        (Flow::Call, _) => Op::Call(distance),
        (Flow::ConditionalJump, _) => Op::JumpIf(Condition::of(insn.branch_opcode()), distance),
        (Flow::CountedJump, _) => {
            let counter = Counter::of(insn.branch_opcode(), insn.has(Prefix::AddressSize));
            Op::Count(counter, distance)
        }
        (Flow::AbsoluteJump, _) => Op::JumpTo(insn.immediate_value() as u64),
        (Flow::Return | Flow::ReturnAndRelease, _) => Op::Return(insn.immediate_value() as u16),
        (Flow::IndirectJump, Some(register)) => Op::JumpRegister(operand::saved(register)?),
        (Flow::IndirectCall, Some(register)) => Op::CallRegister(operand::saved(register)?),
        (Flow::IndirectJump, None) => Op::JumpMemory(Memory::of(insn)?),
        (Flow::IndirectCall, None) => Op::CallMemory(Memory::of(insn)?),
        _ => return Ok(None),
    }))
}

/// Returns the operation of NOP (a copy would cost more) and accesses to flags.
fn nop_or_flags_op(insn: &Insn) -> Option<Op> {
    match insn.opcode {
        Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => match opcode {
            // XCHG %rax, %rax. 90 is PAUSE with F3, and XCHG of another register with REX.B.
            0x90 if insn.pp != Pp::PF3 && insn.base_extension == 0 => Some(Op::Continue),
            PUSHF => Some(Op::PushFlags),
            POPF => Some(Op::PopFlags),
            CLI => Some(Op::DisableInterrupts),
            restrict::STI => Some(Op::EnableInterrupts),
            _ => None,
        },
        Opcode::TwoByte(0x1f) | Opcode::Rex2TwoByte(0x1f) => Some(Op::Continue),
        _ => None,
    }
}

const PUSHF: u8 = 0x9c;
const POPF: u8 = 0x9d;
const CLI: u8 = 0xfa;

/// Returns whether this is ENDBR64 (F3 0F 1E FA) or ENDBR32 (F3 0F 1E FB).
pub(super) fn is_endbr(insn: &Insn) -> bool {
    insn.opcode == Opcode::TwoByte(0x1e)
        && insn.pp == Pp::PF3
        && matches!(insn.modrm, Some(ModRm(0xfa | 0xfb)))
}

/// Checks that the instruction at `at` can run in a detour.
///
/// `next` is the instruction after `insn`, if there is one. The exception table must not have an
/// entry for `insn`.
///
/// A detour runs in the state of the probed code: with its registers, its stack and its interrupt
/// flag; the task may be preempted anywhere. So a detour may contain a copy of every instruction
/// that [`classify`] boosts. For other instructions:
///
/// * An instruction that [`classify`] steps is copied. After the copy, the detour only runs what
///   follows in the original, and the task may be preempted there in the original, too.
/// * An instruction that changes GS is copied. A breakpoint cannot replace such an instruction,
///   since the second trap would need GS; a detour calls its handlers before.
/// * PUSHF, POPF, CLI and STI are copied, since they find the flags of the probed code. STI delays
///   interrupts until after the next instruction, which may be the jump back. Only a wait relies on
///   that delay, and STI before a wait is refused.
/// * JMP, Jcc and CALL are written with 32-bit displacements. A target in the region is an original
///   instruction: the start of the region, where the probe is hit again, or bytes after the jump.
/// * RET, IRET and indirect JMP are copied.
/// * LOOP and JRCXZ reach 127 bytes and have no longer form, so they are refused. An indirect call
///   is refused: it would return into the detour, and a task may sleep in the called function.
/// * ENDBR is refused, since an indirect branch may lead there.
pub(super) fn check_movable(insn: &Insn, next: Option<&Insn>, at: TextAddr) -> Result<(), NoJump> {
    let reason = match classify(insn, next, false) {
        Ok(_) if is_endbr(insn) => NoJumpReason::LandingPad,
        Ok(Exec::Emulate(Op::Count(..))) => NoJumpReason::ShortLoop,
        Ok(Exec::Emulate(Op::CallRegister(_) | Op::CallMemory(_))) => NoJumpReason::IndirectCall,
        Ok(_) | Err(Refusal::ChangesCpuBase | Refusal::InterruptReturn) => return Ok(()),
        Err(refusal) => NoJumpReason::CannotMove(refusal),
    };
    Err(reason.at(at))
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_classify))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    fn exec(bytes: &[u8]) -> Result<Exec, Refusal> {
        classify(&decode(bytes)?, None, false)
    }

    fn all(cases: &[&[u8]], expected: Result<Exec, Refusal>) -> bool {
        cases.iter().all(|bytes| exec(bytes) == expected)
    }

    fn refused(cases: &[&[u8]], reason: Refusal) -> bool {
        all(cases, Err(reason))
    }

    #[test]
    fn plain_instructions_are_boosted() {
        let cases: [&[u8]; 22] = [
            // push, pop, mov to RSP, leave, enter, push 8(%rip), pop (%rax)
            &[0x55],
            &[0x5d],
            &[0x48, 0x89, 0xec],
            &[0xc9],
            &[0xc8, 0x10, 0x00, 0x00],
            &[0xff, 0x35, 8, 0, 0, 0],
            &[0x8f, 0x00],
            // mov, lea, address of 32 bits, gs:
            &[0x8b, 0x07],
            &[0x48, 0x8d, 0x05, 0, 0, 0, 0],
            &[0x67, 0x8b, 0x07],
            &[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0],
            // rep movsb, rep stosq, in, out
            &[0xf3, 0xa4],
            &[0xf3, 0x48, 0xab],
            &[0xec],
            &[0xe6, 0x80],
            // pause, xchg %rax %r8, cpuid, rdtsc, stac, std
            &[0xf3, 0x90],
            &[0x49, 0x90],
            &[0x0f, 0xa2],
            &[0x0f, 0x31],
            &[0x0f, 0x01, 0xcb],
            &[0xfd],
            // lock cmpxchg
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0f],
        ];
        assert!(all(&cases, Ok(Exec::Boost)));
    }

    #[test]
    fn opcodes_of_other_maps_are_not_taken_for_branches() {
        let cases: [&[u8]; 9] = [
            // vzeroupper, vmovdqa, vpor, vcmpps, vpsubsb, vpsubd: as bytes JA, JG, JMP, RET, CALL,
            // CLI
            &[0xc5, 0xf8, 0x77],
            &[0xc5, 0xf9, 0x7f, 0x00],
            &[0xc5, 0xf9, 0xeb, 0xc1],
            &[0xc5, 0xf8, 0xc2, 0xc1, 0x00],
            &[0xc5, 0xf9, 0xe8, 0xc1],
            &[0xc5, 0xf9, 0xfa, 0xc1],
            // EVEX vpor, XOP vphadduwd, 3DNow! pfadd
            &[0x62, 0xf1, 0x75, 0x08, 0xeb, 0xc2],
            &[0x8f, 0xe9, 0x78, 0xd6, 0xc1],
            &[0x0f, 0x0f, 0xc1, 0x9e],
        ];
        assert!(all(&cases, Ok(Exec::Boost)));
        // In the two-byte map: pxor, movd, psubd.
        assert!(all(
            &[
                &[0x0f, 0xef, 0xc1],
                &[0x0f, 0x7e, 0xc0],
                &[0x0f, 0xfa, 0xc1],
            ],
            Ok(Exec::Boost),
        ));
    }

    #[test]
    fn changes_of_the_cpu_are_stepped() {
        let cases: [&[u8]; 27] = [
            // mov to CR0, CR3, CR4, DR7; wrmsr, rdmsr
            &[0x0f, 0x22, 0xc0],
            &[0x0f, 0x22, 0xd8],
            &[0x0f, 0x22, 0xe0],
            &[0x0f, 0x23, 0xf8],
            &[0x0f, 0x30],
            &[0x0f, 0x32],
            // lgdt, lldt, ltr, lkgs, lmsw, invlpg, clts, wbinvd
            &[0x0f, 0x01, 0x10],
            &[0x0f, 0x00, 0xd0],
            &[0x0f, 0x00, 0xd8],
            &[0xf2, 0x0f, 0x00, 0xf0],
            &[0x0f, 0x01, 0xf0],
            &[0x0f, 0x01, 0x38],
            &[0x0f, 0x06],
            &[0x0f, 0x09],
            // monitor, monitorx, xsetbv, invpcid
            &[0x0f, 0x01, 0xc8],
            &[0x0f, 0x01, 0xfa],
            &[0x0f, 0x01, 0xd1],
            &[0x66, 0x0f, 0x38, 0x82, 0x00],
            // pop FS, lss, lfs, mov to DS, wrfsbase, vmread, vmxon
            &[0x0f, 0xa1],
            &[0x0f, 0xb2, 0x00],
            &[0x0f, 0xb4, 0x00],
            &[0x8e, 0xd8],
            &[0xf3, 0x0f, 0xae, 0xd0],
            &[0x0f, 0x78, 0xc0],
            &[0xf3, 0x0f, 0xc7, 0x30],
            // wrmsrns with an immediate, in VEX and EVEX
            &[0xc4, 0xe7, 0x7a, 0xf6, 0xc0, 0, 0, 0, 0],
            &[0x62, 0xf7, 0x7e, 0x08, 0xf6, 0xc0, 0, 0, 0, 0],
        ];
        assert!(all(&cases, Ok(Exec::Step)));
    }

    #[test]
    fn reading_the_cpu_is_boosted() {
        let cases: [&[u8]; 12] = [
            // mov from CR0, DR6; sgdt, smsw, sldt, verw, xgetbv, rdtscp, rdpkru, rdfsbase, rdrand
            &[0x0f, 0x20, 0xc0],
            &[0x0f, 0x21, 0xf0],
            &[0x0f, 0x01, 0x00],
            &[0x0f, 0x01, 0xe0],
            &[0x0f, 0x00, 0xc0],
            &[0x0f, 0x00, 0x2d, 0, 0, 0, 0],
            &[0x0f, 0x01, 0xd0],
            &[0x0f, 0x01, 0xf9],
            &[0x0f, 0x01, 0xee],
            &[0xf3, 0x0f, 0xae, 0xc0],
            &[0x0f, 0xc7, 0xf0],
            // movdir64b
            &[0x66, 0x0f, 0x38, 0xf8, 0x00],
        ];
        assert!(all(&cases, Ok(Exec::Boost)));
    }

    #[test]
    fn insns_with_fixups_are_stepped_unless_emulated() {
        let of = |bytes: &[u8]| classify(&decode(bytes)?, None, true);
        assert_eq!(of(&[0x8b, 0x07]), Ok(Exec::Step));
        assert_eq!(of(&[0xf3, 0xa4]), Ok(Exec::Step));
        assert_eq!(of(&[0xc5, 0xf9, 0x7f, 0x00]), Ok(Exec::Step));
        assert_eq!(of(&[0xc3]), Ok(Exec::Emulate(Op::Return(0))));
    }

    #[test]
    fn branches_and_flags_are_emulated() {
        let cases: [(&[u8], Op); 20] = [
            (&[0xeb, 0xfe], Op::Jump(-2)),
            (&[0xe9, 0, 1, 0, 0], Op::Jump(0x100)),
            (&[0xe8, 0, 1, 0, 0], Op::Call(0x100)),
            (&[0x74, 0x10], Op::JumpIf(Condition::of(4), 0x10)),
            (
                &[0x0f, 0x8f, 0, 1, 0, 0],
                Op::JumpIf(Condition::of(15), 0x100),
            ),
            (&[0xe0, 0x10], Op::Count(Counter::of(0, false), 0x10)),
            (&[0x67, 0xe3, 0x10], Op::Count(Counter::of(3, true), 0x10)),
            (&[0xc3], Op::Return(0)),
            (&[0xc2, 0x00, 0x80], Op::Return(0x8000)),
            (&[0xff, 0xd0], Op::CallRegister(0)),
            (&[0x41, 0xff, 0xe3], Op::JumpRegister(11)),
            (&[0x3e, 0xff, 0xe0], Op::JumpRegister(0)),
            (
                &[0xd5, 0, 0xa1, 1, 0, 0, 0, 0, 0, 0, 0x80],
                Op::JumpTo(0x8000_0000_0000_0001),
            ),
            (&[0x9c], Op::PushFlags),
            (&[0x9d], Op::PopFlags),
            (&[0xfa], Op::DisableInterrupts),
            (&[0xfb], Op::EnableInterrupts),
            (&[0x90], Op::Continue),
            (&[0x66, 0x90], Op::Continue),
            (&[0x0f, 0x1f, 0x44, 0, 0], Op::Continue),
        ];
        for (bytes, op) in cases {
            assert_eq!(exec(bytes), Ok(Exec::Emulate(op)));
        }
        // ENDBR64
        assert_eq!(exec(&[0xf3, 0x0f, 0x1e, 0xfa]), Ok(Exec::Boost));
        for bytes in [&[0xff, 0x15, 0, 0, 0, 0][..], &[0xff, 0x10]] {
            let is_call = matches!(exec(bytes), Ok(Exec::Emulate(Op::CallMemory(_))));
            assert!(is_call);
        }
        let is_jump = matches!(
            exec(&[0xff, 0x24, 0xc5, 0, 0, 0, 0]),
            Ok(Exec::Emulate(Op::JumpMemory(_)))
        );
        assert!(is_jump);
    }

    #[test]
    fn operand_size_of_branches_is_refused_unless_agreed() {
        let cases: [&[u8]; 7] = [
            &[0x66, 0xe8, 0, 0, 0, 0],
            &[0x66, 0x74, 0x00],
            &[0x66, 0xc3],
            &[0x66, 0xff, 0xd0],
            &[0x66, 0xe2, 0x00],
            &[0x66, 0x9c],
            &[0x66, 0x9d],
        ];
        assert!(refused(&cases, Refusal::OperandSize));
        assert_eq!(
            exec(&[0x66, 0x48, 0xe8, 0, 0, 0, 0]),
            Ok(Exec::Emulate(Op::Call(0)))
        );
        assert_eq!(exec(&[0x66, 0x48, 0x9c]), Ok(Exec::Emulate(Op::PushFlags)));
    }

    #[test]
    fn invalid_lock_prefix_is_refused() {
        let cases: [&[u8]; 4] = [
            &[0xf0, 0x90],
            &[0xf0, 0xc3],
            &[0xf0, 0xff, 0xd0],
            &[0xf0, 0xfa],
        ];
        assert!(refused(&cases, Refusal::InvalidInsn));
    }

    #[test]
    fn registers_that_no_trap_saves_are_refused() {
        assert!(refused(
            &[&[0xd5, 0x10, 0xff, 0xd0], &[0xd5, 0x10, 0xff, 0x10]],
            Refusal::UnsavedRegister,
        ));
        assert_eq!(
            exec(&[0xd5, 0x01, 0xff, 0xd0]),
            Ok(Exec::Emulate(Op::CallRegister(8)))
        );
        // A copy can use them.
        assert_eq!(exec(&[0xd5, 0x10, 0x89, 0xc0]), Ok(Exec::Boost));
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_movable))]
mod movable_tests {
    use super::{
        super::decode::decode,
        *, //
    };

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn moved(bytes: &[u8]) -> Result<(), NoJump> {
        let no = |refusal| NoJumpReason::CannotMove(refusal).at(AT);
        check_movable(&decode(bytes).map_err(no)?, None, AT)
    }

    fn all(cases: &[&[u8]], expected: Result<(), NoJump>) -> bool {
        cases.iter().all(|bytes| moved(bytes) == expected)
    }

    #[test]
    fn boosted_instructions_can_move() {
        // mov, push, rep stosb, vzeroupper, lock cmpxchg
        let cases: [&[u8]; 5] = [
            &[0x48, 0x89, 0xe5],
            &[0x55],
            &[0xf3, 0xaa],
            &[0xc5, 0xf8, 0x77],
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0f],
        ];
        assert!(all(&cases, Ok(())));
    }

    #[test]
    fn emulated_instructions_on_flags_and_nops_can_move() {
        // nop, nopw, nopl; pushf, popf, cli, sti
        let cases: [&[u8]; 7] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x44, 0, 0],
            &[0x9c],
            &[0x9d],
            &[0xfa],
            &[0xfb],
        ];
        assert!(all(&cases, Ok(())));
    }

    #[test]
    fn instructions_that_change_the_cpu_can_move() {
        // mov to CR3, wrmsr, wbinvd; mov to GS, swapgs, wrgsbase
        let cases: [&[u8]; 6] = [
            &[0x0f, 0x22, 0xd8],
            &[0x0f, 0x30],
            &[0x0f, 0x09],
            &[0x8e, 0xe8],
            &[0x0f, 0x01, 0xf8],
            &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
        ];
        assert!(all(&cases, Ok(())));
    }

    #[test]
    fn direct_branches_returns_and_indirect_jumps_can_move() {
        let cases: [&[u8]; 12] = [
            // jmp, jcc, call
            &[0xeb, 0],
            &[0xe9, 0, 0, 0, 0],
            &[0x2e, 0xeb, 0],
            &[0x74, 0],
            &[0x0f, 0x84, 0, 0, 0, 0],
            &[0xe8, 0, 0, 0, 0],
            // ret, ret $8, iretq, jmp *%rax, jmp *(%rax), jmpabs
            &[0xc3],
            &[0xc2, 8, 0],
            &[0x48, 0xcf],
            &[0xff, 0xe0],
            &[0xff, 0x20],
            &[0xd5, 0, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert!(all(&cases, Ok(())));
    }

    #[test]
    fn branches_without_another_form_are_refused() {
        assert!(all(
            &[&[0xe2, 0], &[0xe3, 0]],
            Err(NoJumpReason::ShortLoop.at(AT))
        ));
        assert!(all(
            &[&[0xff, 0xd0], &[0xff, 0x15, 0, 0, 0, 0]],
            Err(NoJumpReason::IndirectCall.at(AT))
        ));
    }

    #[test]
    fn endbr_and_refused_instructions_cannot_move() {
        // endbr64; mov to SS, int3, ud2, lidt, hlt, far ret
        assert!(all(
            &[&[0xf3, 0x0f, 0x1e, 0xfa]],
            Err(NoJumpReason::LandingPad.at(AT))
        ));
        let cases: [(&[u8], Refusal); 6] = [
            (&[0x8e, 0xd0], Refusal::DelaysTraps),
            (&[0xcc], Refusal::AlwaysTraps),
            (&[0x0f, 0x0b], Refusal::AlwaysTraps),
            (&[0x0f, 0x01, 0x18], Refusal::ChangesVectors),
            (&[0xf4], Refusal::Waits),
            (&[0x48, 0xcb], Refusal::FarBranch),
        ];
        for (bytes, refusal) in cases {
            assert_eq!(moved(bytes), Err(NoJumpReason::CannotMove(refusal).at(AT)));
        }
    }

    #[test]
    fn sti_before_a_wait_is_refused() {
        let with = |next: &[u8]| {
            let no = |refusal| NoJumpReason::CannotMove(refusal).at(AT);
            let sti = decode(&[0xfb]).map_err(no)?;
            let next = decode(next).map_err(no)?;
            check_movable(&sti, Some(&next), AT)
        };
        let refused = NoJumpReason::CannotMove(Refusal::LetsNextWait).at(AT);
        assert_eq!(with(&[0xf4]), Err(refused));
        assert_eq!(with(&[0xc3]), Ok(()));
    }
}
