// SPDX-License-Identifier: GPL-2.0

//! How an instruction goes into a detour.
//!
//! A detour runs in the place of the probed code, in its state: with its registers, its stack, its
//! interrupt flag, and the task may be preempted anywhere in it. So all can be there that
//! [`classify`](mod@super::classify) would boost, for the same reasons. What it would emulate,
//! since it would do that to a state that a trap has changed, is as good as any other instruction
//! here: a copy of PUSHF, POPF, CLI and STI finds the flags of the probed code. Branches are
//! written anew:
//!
//! * JMP and Jcc with 32 bits, to where they led. What they lead to in the region itself is not the
//!   copy but the original: its start, where the probe is to be hit again, or bytes that the jump
//!   is not over, which stay as they were. Others may not be led to, as for all branches.
//! * CALL as PUSH of the original's return address and JMP, see [`detour`](super::detour).
//! * RET, IRET, and JMP to where an operand says, as they are: nothing comes back from these.
//! * LOOP and JRCXZ reach 127 bytes and have no longer form: they are refused, as are indirect
//!   calls, since no register is free to hold where they lead.
//!
//! What changes the CPU, and is stepped under a breakpoint, is copied: after it the detour does no
//! more than jump, or run what came next, and the task may be preempted there as it may in the
//! original. So is what moves the CPU's data. No breakpoint can be there, as its second trap would
//! not find them; the handlers of a detour are done before.
//!
//! STI holds back interrupts until after the next instruction, and as the last one of a region it
//! does so for the jump back instead. Only a wait relies on that, and STI before one is refused.
//! ENDBR is refused because of what it says: that an indirect branch may lead there.

use super::{
    classify::{
        classify,
        is_endbr,
        Way, //
    },
    emulate::Op,
    insn::Insn, //
};
use crate::prelude::*;

/// How an instruction goes into a detour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// As a copy.
    Copy,
    /// As a copy, from which the CPU does not go on.
    Leave,
    /// As JMP with 32 bits.
    Jump,
    /// As Jcc with 32 bits.
    JumpIf,
    /// As PUSH and JMP.
    Call,
}

impl Move {
    /// Does the CPU go on to the next instruction?
    pub(super) fn goes_on(self) -> bool {
        match self {
            Self::Copy | Self::JumpIf => true,
            Self::Leave | Self::Jump | Self::Call => false,
        }
    }
}

/// How the instruction at `at`, which `bytes` start with, goes into a detour.
///
/// `next` is the one after it, if there is one. That the exception table has no entry for it is for
/// the caller to know.
pub(super) fn of(
    insn: &Insn,
    bytes: &[u8],
    next: Option<&Insn>,
    at: TextAddr,
) -> Result<Move, NotOptimized> {
    let op = match classify(insn, bytes, next, false) {
        Ok(Way::Boost | Way::Step) | Err(Refusal::MovesCpuData) => return Ok(Move::Copy),
        Ok(Way::Emulate(op)) => op,
        Err(Refusal::InterruptReturn) => return Ok(Move::Leave),
        Err(refusal) => return Err(Reason::CannotMove(refusal).at(at)),
    };
    match op {
        Op::Nothing if is_endbr(insn) => Err(Reason::LandingPad.at(at)),
        Op::Nothing
        | Op::DisableInterrupts
        | Op::EnableInterrupts
        | Op::PushFlags
        | Op::PopFlags => Ok(Move::Copy),
        Op::Return(_) | Op::JumpTo(_) | Op::JumpRegister(_) | Op::JumpMemory(_) => Ok(Move::Leave),
        Op::Jump(_) => Ok(Move::Jump),
        Op::JumpIf(..) => Ok(Move::JumpIf),
        Op::Call(_) | Op::CallTo(_) => Ok(Move::Call),
        Op::Count(..) => Err(Reason::ShortLoop.at(at)),
        Op::CallRegister(_) | Op::CallMemory(_) => Err(Reason::IndirectCall.at(at)),
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_movable))]
mod tests {
    use super::{
        super::decode::decode,
        *, //
    };

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn moved(bytes: &[u8]) -> Result<Move, NotOptimized> {
        let no = |refusal| Reason::CannotMove(refusal).at(AT);
        of(&decode(bytes).map_err(no)?, bytes, None, AT)
    }

    fn all(cases: &[&[u8]], expected: Result<Move, NotOptimized>) -> bool {
        cases.iter().all(|bytes| moved(bytes) == expected)
    }

    #[test]
    fn what_is_boosted_is_copied() {
        // mov, push, rep stosb, vzeroupper, lock cmpxchg
        let cases: [&[u8]; 5] = [
            &[0x48, 0x89, 0xe5],
            &[0x55],
            &[0xf3, 0xaa],
            &[0xc5, 0xf8, 0x77],
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0f],
        ];
        assert!(all(&cases, Ok(Move::Copy)));
    }

    #[test]
    fn flags_and_nops_are_copied_though_they_are_emulated() {
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
        assert!(all(&cases, Ok(Move::Copy)));
    }

    #[test]
    fn what_changes_the_cpu_is_copied() {
        // mov to CR3, wrmsr, wbinvd; mov to GS, swapgs, wrgsbase
        let cases: [&[u8]; 6] = [
            &[0x0f, 0x22, 0xd8],
            &[0x0f, 0x30],
            &[0x0f, 0x09],
            &[0x8e, 0xe8],
            &[0x0f, 0x01, 0xf8],
            &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
        ];
        assert!(all(&cases, Ok(Move::Copy)));
    }

    #[test]
    fn branches_are_written_anew_or_leave() {
        assert!(all(
            &[&[0xeb, 0], &[0xe9, 0, 0, 0, 0], &[0x2e, 0xeb, 0]],
            Ok(Move::Jump)
        ));
        assert!(all(
            &[&[0x74, 0], &[0x0f, 0x84, 0, 0, 0, 0]],
            Ok(Move::JumpIf)
        ));
        assert!(all(&[&[0xe8, 0, 0, 0, 0]], Ok(Move::Call)));
        // ret, ret $8, iretq, jmp *%rax, jmp *(%rax), jmpabs
        let leaving: [&[u8]; 6] = [
            &[0xc3],
            &[0xc2, 8, 0],
            &[0x48, 0xcf],
            &[0xff, 0xe0],
            &[0xff, 0x20],
            &[0xd5, 0, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert!(all(&leaving, Ok(Move::Leave)));
        let goes_on = [Move::Copy, Move::JumpIf].iter().all(|one| one.goes_on());
        assert!(goes_on);
        let stays = [Move::Leave, Move::Jump, Move::Call];
        assert!(!stays.iter().any(|one| one.goes_on()));
    }

    #[test]
    fn what_has_no_other_form_is_refused() {
        assert!(all(
            &[&[0xe2, 0], &[0xe3, 0]],
            Err(Reason::ShortLoop.at(AT))
        ));
        assert!(all(
            &[&[0xff, 0xd0], &[0xff, 0x15, 0, 0, 0, 0]],
            Err(Reason::IndirectCall.at(AT))
        ));
    }

    #[test]
    fn what_means_something_to_others_is_refused() {
        // endbr64; mov to SS, int3, ud2, lidt, hlt, far ret
        assert!(all(
            &[&[0xf3, 0x0f, 0x1e, 0xfa]],
            Err(Reason::LandingPad.at(AT))
        ));
        let cases: [(&[u8], Refusal); 6] = [
            (&[0x8e, 0xd0], Refusal::HoldsTrapsBack),
            (&[0xcc], Refusal::AlwaysTraps),
            (&[0x0f, 0x0b], Refusal::AlwaysTraps),
            (&[0x0f, 0x01, 0x18], Refusal::MovesTraps),
            (&[0xf4], Refusal::Waits),
            (&[0x48, 0xcb], Refusal::FarBranch),
        ];
        for (bytes, refusal) in cases {
            assert_eq!(moved(bytes), Err(Reason::CannotMove(refusal).at(AT)));
        }
    }

    #[test]
    fn sti_before_a_wait_is_refused() {
        let with = |next: &[u8]| {
            let no = |refusal| Reason::CannotMove(refusal).at(AT);
            let sti = decode(&[0xfb]).map_err(no)?;
            let next = decode(next).map_err(no)?;
            of(&sti, &[0xfb], Some(&next), AT)
        };
        let refused = Reason::CannotMove(Refusal::LetsNextWait).at(AT);
        assert_eq!(with(&[0xf4]), Err(refused));
        assert_eq!(with(&[0xc3]), Ok(Move::Copy));
    }
}
