// SPDX-License-Identifier: GPL-2.0

//! Decides whether an instruction can run in a detour.
//!
//! A detour runs in the state of the probed code: with its registers, its stack and its interrupt
//! flag; the task may be preempted anywhere. So a detour may contain a copy of every instruction
//! that [`classify`] boosts. For other instructions:
//!
//! * An instruction that [`classify`] steps is copied. Behind the copy, the detour only runs what
//!   follows in the original, and the task may be preempted there in the original, too.
//! * An instruction that changes GS is copied. A breakpoint cannot replace such an instruction,
//!   since the second trap would need GS; a detour calls its handlers before.
//! * PUSHF, POPF, CLI and STI are copied, since they find the flags of the probed code. STI delays
//!   interrupts until after the next instruction, which may be the jump back. Only a wait relies on
//!   that delay, and STI before a wait is refused.
//! * JMP, Jcc and CALL are written with 32-bit displacements. A target in the region is an original
//!   instruction: the start of the region, where the probe is hit again, or bytes behind the jump.
//! * RET, IRET and indirect JMP are copied.
//! * LOOP and JRCXZ reach 127 bytes and have no longer form, so they are refused. An indirect call
//!   is refused, since no register is free to hold the target.
//! * ENDBR is refused, since an indirect branch may lead there.

use super::{
    classify::{
        classify,
        is_endbr,
        Exec, //
    },
    emulate::Op,
    insn::Insn, //
};
use crate::prelude::*;

/// Checks that the instruction at `at` can run in a detour.
///
/// `next` is the instruction after `insn`, if there is one. The exception table must not have an
/// entry for `insn`.
pub(super) fn check(insn: &Insn, next: Option<&Insn>, at: TextAddr) -> Result<(), NotOptimized> {
    match classify(insn, next, false) {
        Ok(Exec::Emulate(Op::Nothing)) if is_endbr(insn) => Err(Reason::LandingPad.at(at)),
        Ok(Exec::Emulate(Op::Count(..))) => Err(Reason::ShortLoop.at(at)),
        Ok(Exec::Emulate(Op::CallRegister(_) | Op::CallMemory(_))) => {
            Err(Reason::IndirectCall.at(at))
        }
        Ok(_) | Err(Refusal::MovesCpuData | Refusal::InterruptReturn) => Ok(()),
        Err(refusal) => Err(Reason::CannotMove(refusal).at(at)),
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

    fn moved(bytes: &[u8]) -> Result<(), NotOptimized> {
        let no = |refusal| Reason::CannotMove(refusal).at(AT);
        check(&decode(bytes).map_err(no)?, None, AT)
    }

    fn all(cases: &[&[u8]], expected: Result<(), NotOptimized>) -> bool {
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
            Err(Reason::ShortLoop.at(AT))
        ));
        assert!(all(
            &[&[0xff, 0xd0], &[0xff, 0x15, 0, 0, 0, 0]],
            Err(Reason::IndirectCall.at(AT))
        ));
    }

    #[test]
    fn endbr_and_refused_instructions_cannot_move() {
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
            check(&sti, Some(&next), AT)
        };
        let refused = Reason::CannotMove(Refusal::LetsNextWait).at(AT);
        assert_eq!(with(&[0xf4]), Err(refused));
        assert_eq!(with(&[0xc3]), Ok(()));
    }
}
