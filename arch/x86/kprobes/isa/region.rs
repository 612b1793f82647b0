// SPDX-License-Identifier: GPL-2.0

//! Decides whether a jump can replace a breakpoint.
//!
//! The jump has five bytes and replaces the whole instructions that cover these bytes: the region.
//! The instructions of the region are copied to a detour ([`layout`](super::layout)), which jumps
//! back to the end of the region.
//!
//! ```text
//!            A                   A+5
//! before:    | insn 0 |  insn 1   | ..tail |  what follows
//! after:     | jmp detour         | ..tail |  what follows
//!                 ^ no CPU may arrive here
//! ```
//!
//! * Nothing may lead to A+1 .. A+4: no branch of this or another function, no jump label in either
//!   state, no return, no fixup of the exception table. A branch to A executes the jump, as it
//!   would execute the breakpoint. A branch to A+5 or after finds the original bytes, even those
//!   of the last instruction of the region, so such a branch is harmless.
//! * No other user may change bytes of the region, since that user does not know of the copy.
//! * No task may sleep in a detour: Tasks RCU, which frees detours, waits only for tasks that were
//!   preempted there. A task may sleep in a page fault, so no instruction of the region may have an
//!   entry in the exception table.
//! * Each instruction must be able to run elsewhere ([`check_movable`]).
//! * A direct call has at least five bytes, so the call is the last instruction of the region and
//!   returns after the jump. An indirect call may be shorter than the jump, and is refused.
//! * After an instruction that never continues with the next one, the rest of the region is dead
//!   code or padding if nothing leads there. That rest is not copied.
//! * The region is in one function. Padding after a function belongs to the function.
//!
//! An instruction has to start at A. The branches and the [`TextMetadata`] have to be complete.
//!
//! C counterpart: `can_optimize()` and `copy_optimized_instructions()` in
//! [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c).

use super::{
    branch_targets::{
        leading_to,
        Branch, //
    },
    classify::{
        check_movable,
        is_endbr, //
    },
    decode::decode,
    encode::JUMP_LEN,
    insn::{
        Insn,
        MAX_INSN, //
    },
    restrict::call_check_trap, //
};
use crate::{
    contract::ReadText,
    model::text_metadata::TextMetadata,
    prelude::*, //
};

/// The most bytes of a region: the last instruction may start at the last byte of the jump.
pub(super) const MAX_REGION: usize = JUMP_LEN - 1 + MAX_INSN;

/// The most bytes that are read: a region and the instruction after it.
const AHEAD: usize = MAX_REGION + MAX_INSN;

/// The instructions that a jump replaces.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    at: TextAddr,
    original: Code,
    /// The instructions that are copied, with their addresses.
    insns: [Option<(TextAddr, Insn)>; JUMP_LEN],
}

impl Region {
    /// Returns the address of the region and of the jump.
    pub(crate) fn at(&self) -> TextAddr {
        self.at
    }

    /// Returns the address after the region.
    pub(super) fn end(&self) -> TextAddr {
        // The region ends in its function, so the sum does not wrap.
        TextAddr::new(self.at.get().wrapping_add(self.bytes().len() as u64))
    }

    /// Returns the original bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.original.bytes()
    }

    /// Returns the instructions that are copied, with their addresses, in order.
    pub(super) fn insns(&self) -> impl Iterator<Item = &(TextAddr, Insn)> {
        self.insns.iter().flatten()
    }

    /// Finds the region of a probe at `at`, or the reason why a jump cannot replace it. `branches`
    /// lead into `function`, sorted.
    pub(crate) fn find(
        at: TextAddr,
        function: TextRange,
        branches: &[Branch],
        metadata: &impl TextMetadata,
        read: ReadText<'_>,
    ) -> Result<Self, NoJump> {
        let left = function.end().get().saturating_sub(at.get());
        if left < JUMP_LEN as u64 || !function.contains(at) {
            return Err(NoJump::from(NoJumpReason::NearEnd));
        }
        let mut buffer = [0; AHEAD];
        let readable = usize::try_from(left).map_or(AHEAD, |left| left.min(AHEAD));
        let text = buffer.get_mut(..readable).unwrap_or_default();
        read(at, text).ok_or(NoJumpReason::CannotRead.at(at))?;
        let mut insns = [None; JUMP_LEN];
        let mut len = 0_usize;
        for place in &mut insns {
            if len >= JUMP_LEN {
                break;
            }
            // The text ends in its function, so the sum does not wrap.
            let from = TextAddr::new(at.get().wrapping_add(len as u64));
            let insn = decode(text.get(len..).unwrap_or_default());
            let insn = insn.map_err(|_| NoJumpReason::CannotDecode.at(from))?;
            *place = Some((from, insn));
            len = len.wrapping_add(insn.len());
        }
        let original = Code::EMPTY.then(text.get(..len).unwrap_or_default());
        let original = original.map_err(|refusal| NoJumpReason::CannotMove(refusal).at(at))?;
        let mut region = Self {
            at,
            original,
            insns,
        };
        if let Some(no) = metadata.reserved_by(TextRange::new(at, region.end())) {
            return Err(no);
        }
        check_no_target_inside(at, branches, metadata)?;
        let mut end = 0_usize;
        let mut reached = true;
        for place in &mut region.insns {
            let Some((from, insn)) = *place else {
                break;
            };
            end = end.wrapping_add(insn.len());
            if metadata.may_fault(from) {
                return Err(NoJumpReason::MayFault.at(from));
            }
            if call_check_trap(&insn, from).is_some_and(|trap| metadata.is_call_check(trap)) {
                return Err(NoJumpReason::CallCheck.at(from));
            }
            if reached {
                let next = decode(text.get(end..).unwrap_or_default()).ok();
                check_movable(&insn, next.as_ref(), from)?;
                reached = insn.flow().may_continue();
            } else if is_endbr(&insn) {
                return Err(NoJumpReason::LandingPad.at(from));
            } else {
                *place = None;
            }
        }
        Ok(region)
    }
}

/// Checks that nothing leads into the bytes of the jump at `at`, except to the first one.
fn check_no_target_inside(
    at: TextAddr,
    branches: &[Branch],
    metadata: &impl TextMetadata,
) -> Result<(), NoJump> {
    let near_end = |_| NoJumpReason::NearEnd;
    let start = at.after(1).map_err(near_end)?;
    let end = at.after(JUMP_LEN as u64).map_err(near_end)?;
    let inside = TextRange::new(start, end);
    // Jump labels are checked before branches: while a static key is on, its jump label is a
    // branch. The reason must not depend on the state of the key.
    let reached = [
        (NoJumpReason::LabelTarget, metadata.label_target(inside)),
        (NoJumpReason::LocalBranch, leading_to(branches, inside)),
        (NoJumpReason::ForeignBranch, metadata.branch_target(inside)),
        (NoJumpReason::FixupTarget, metadata.fixup_target(inside)),
    ];
    let mut found = reached
        .into_iter()
        .filter_map(|(reason, at)| Some(reason.at(at?)));
    found.next().map_or(Ok(()), Err)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_region))]
mod tests {
    use super::{
        super::{
            branch_targets::Indirect,
            test_function::{
                at,
                Pretend,
                ELSEWHERE, //
            }, //
        },
        *, //
    };

    /// The length of the region at the start of the function, or why there is none.
    fn len(pretend: &Pretend<'_>) -> Result<usize, NoJump> {
        Ok(pretend.region(0)?.bytes().len())
    }

    // push %rbp; mov %rsp, %rbp; sub $8, %rsp; mov %rbp, %rsp; pop %rbp; ret; int3
    const PLAIN: [u8; 14] = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xec, 0x5d, 0xc3, 0xcc,
    ];

    // xor %ecx, %ecx; mov $7, %eax; ret
    const TWO: [u8; 8] = [0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xc3];

    #[test]
    fn a_region_is_whole_instructions_of_five_bytes_or_more() {
        let pretend = Pretend::of(&PLAIN);
        let len = |offset| pretend.region(offset).map(|region| region.bytes().len());
        assert_eq!(len(0), Ok(8));
        assert_eq!(len(1), Ok(7));
        assert_eq!(len(4), Ok(7));
        assert_eq!(len(8), Ok(5));
        let region = pretend.region(1);
        let is_as_it_was = |region: Region| region.at() == at(1) && region.bytes() == &PLAIN[1..8];
        assert!(region.is_ok_and(is_as_it_was));
    }

    #[test]
    fn the_end_of_a_function_is_not_crossed() {
        let pretend = Pretend::of(&PLAIN);
        for offset in [10, 11, 12, 13, 14, 99] {
            assert_eq!(
                pretend.region(offset).err(),
                Some(NoJump::from(NoJumpReason::NearEnd))
            );
        }
        // The last instruction may end there.
        assert_eq!(len(&Pretend::of(&TWO[..7])), Ok(7));
        let cut = Pretend::of(&TWO[..6]).region(0).err();
        assert_eq!(cut, Some(NoJumpReason::CannotDecode.at(at(2))));
    }

    #[test]
    fn static_key_target_in_region() {
        let mut pretend = Pretend::of(&TWO);
        // The jump label is a NOP now, so no branch shows it.
        pretend.label = Some(2);
        assert_eq!(len(&pretend), Err(NoJumpReason::LabelTarget.at(at(2))));
        for harmless in [0, 5, 7] {
            pretend.label = Some(harmless);
            assert_eq!(len(&pretend), Ok(7));
        }
        for inside in 1..5 {
            pretend.label = Some(inside);
            assert_eq!(len(&pretend), Err(NoJumpReason::LabelTarget.at(at(inside))));
        }
    }

    #[test]
    fn static_key_that_is_on_has_the_same_reason() {
        // xor; mov $7, %eax; jmp to offset 2
        let mut pretend = Pretend::of(&[0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xeb, 0xf9]);
        assert_eq!(len(&pretend), Err(NoJumpReason::LocalBranch.at(at(7))));
        pretend.label = Some(2);
        assert_eq!(len(&pretend), Err(NoJumpReason::LabelTarget.at(at(2))));
    }

    #[test]
    fn branch_from_cold_fragment() {
        let mut pretend = Pretend::of(&TWO);
        // nop; jmp to offset 2 of the function
        let distance = 2 - (ELSEWHERE as i32 + 6);
        let [a, b, c, d] = distance.to_le_bytes();
        let cold = [0x90, 0xe9, a, b, c, d];
        pretend.cold = &cold;
        assert_eq!(len(&pretend), Err(NoJumpReason::ForeignBranch.at(at(2))));
        // To the start of the function, and behind the jump.
        for to in [0, 5, 7] {
            let [a, b, c, d] = (to - (ELSEWHERE as i32 + 6)).to_le_bytes();
            let cold = [0x90, 0xe9, a, b, c, d];
            let mut pretend = Pretend::of(&TWO);
            pretend.cold = &cold;
            assert_eq!(len(&pretend), Ok(7));
        }
    }

    #[test]
    fn table_jump_of_cold_fragment() {
        let mut pretend = Pretend::of(&TWO);
        // nop; jmp *%rax
        pretend.cold = &[0x90, 0xff, 0xe0];
        assert_eq!(len(&pretend), Err(NoJump::from(NoJumpReason::SplitJump)));
        pretend.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend), Ok(7));
    }

    #[test]
    fn branches_of_other_functions_into_the_jump_are_refused() {
        let mut pretend = Pretend::of(&TWO);
        for (to, expected) in [
            (1, Err(NoJumpReason::ForeignBranch.at(at(1)))),
            (4, Err(NoJumpReason::ForeignBranch.at(at(4)))),
            (5, Ok(7)),
            (0, Ok(7)),
        ] {
            pretend.entered = Some(to);
            assert_eq!(len(&pretend), expected);
        }
    }

    #[test]
    fn branches_into_the_jump_are_refused() {
        // xor; mov $7, %eax; then a branch back to each byte: je, jmp, loop, call.
        for to in 0..8i8 {
            let back = to.wrapping_sub(9) as u8;
            for opcode in [0x74, 0xeb, 0xe2] {
                let text = [0x31, 0xc9, 0xb8, 7, 0, 0, 0, opcode, back];
                let expected = match to {
                    1..=4 => Err(NoJumpReason::LocalBranch.at(at(7))),
                    _ => Ok(7),
                };
                assert_eq!(len(&Pretend::of(&text)), expected);
            }
            let [a, b, c, d] = (i32::from(to) - 12).to_le_bytes();
            let text = [0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xe8, a, b, c, d];
            assert_eq!(len(&Pretend::of(&text)).is_ok(), !(1..=4).contains(&to));
        }
    }

    #[test]
    fn branches_within_the_region_are_refused_too() {
        // je to itself, and to behind itself; 3 more bytes.
        let text = |to: u8| [0x74, to, 0x0f, 0x1f, 0x00];
        assert_eq!(len(&Pretend::of(&text(0xfe))), Ok(5));
        let inside = len(&Pretend::of(&text(0)));
        assert_eq!(inside, Err(NoJumpReason::LocalBranch.at(at(0))));
        assert_eq!(len(&Pretend::of(&text(3))), Ok(5));
    }

    #[test]
    fn fixups_into_the_jump_are_refused() {
        let mut pretend = Pretend::of(&TWO);
        for (to, expected) in [
            (0, Ok(7)),
            (1, Err(NoJumpReason::FixupTarget.at(at(1)))),
            (4, Err(NoJumpReason::FixupTarget.at(at(4)))),
            (5, Ok(7)),
        ] {
            pretend.fixup = Some(to);
            assert_eq!(len(&pretend), expected);
        }
    }

    #[test]
    fn only_faults_in_the_region_matter() {
        let mut pretend = Pretend::of(&PLAIN);
        for (insn, expected) in [
            (0, Err(NoJumpReason::MayFault.at(at(0)))),
            (4, Err(NoJumpReason::MayFault.at(at(4)))),
            (8, Ok(8)),
        ] {
            pretend.faults = Some(insn);
            assert_eq!(len(&pretend), expected);
        }
    }

    #[test]
    fn regions_with_reserved_bytes_are_refused() {
        let mut pretend = Pretend::of(&PLAIN);
        // Also of the last instruction, which is copied.
        for inside in [0, 4, 7] {
            pretend.owner = Some((inside, NoJumpReason::JumpLabel));
            assert_eq!(len(&pretend), Err(NoJumpReason::JumpLabel.at(at(inside))));
        }
        pretend.owner = Some((8, NoJumpReason::Ftrace));
        assert_eq!(len(&pretend), Ok(8));
    }

    #[test]
    fn breakpoints_of_a_debugger_hide_an_unknown_instruction() {
        // xor %ecx, %ecx; mov $7, %eax; je -7, that a breakpoint is over; ret
        let text = [0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xcc, 0xf9, 0xc3];
        let mut pretend = Pretend::of(&text);
        assert_eq!(len(&pretend), Ok(7));
        pretend.owner = Some((7, NoJumpReason::Debugger));
        assert_eq!(len(&pretend), Err(NoJumpReason::Debugger.at(at(7))));
        // Elsewhere.
        pretend.owner = Some((10, NoJumpReason::Debugger));
        assert_eq!(len(&pretend), Ok(7));
    }

    #[test]
    fn checks_of_calls_are_refused_where_there_are_any() {
        // mov $-type, %r10d; add -4(%r11), %r10d; je +2; ud2
        let text = [
            0x41, 0xba, 0x78, 0x56, 0x34, 0x12, 0x45, 0x03, 0x53, 0xfc, 0x74, 0x02, 0x0f, 0x0b,
        ];
        let mut pretend = Pretend::of(&text);
        assert_eq!(len(&pretend), Ok(6));
        pretend.trap = Some(12);
        assert_eq!(len(&pretend), Err(NoJumpReason::CallCheck.at(at(0))));
        pretend.trap = Some(11);
        assert_eq!(len(&pretend), Ok(6));
    }

    #[test]
    fn calls_return_behind_the_jump() {
        // call; nop; nop, call; nop, nop, call
        let call = [0xe8, 0, 1, 0, 0];
        let text = [0x90, 0x90, 0xe8, 0, 1, 0, 0, 0x90];
        assert_eq!(len(&Pretend::of(&call)), Ok(5));
        assert_eq!(len(&Pretend::of(&text[1..])), Ok(6));
        assert_eq!(len(&Pretend::of(&text)), Ok(7));
        // Indirect ones.
        let register = len(&Pretend::of(&[0xff, 0xd0, 0x0f, 0x1f, 0x00]));
        assert_eq!(register, Err(NoJumpReason::IndirectCall.at(at(0))));
        let memory = len(&Pretend::of(&[0xff, 0x15, 0, 0, 0, 0]));
        assert_eq!(memory, Err(NoJumpReason::IndirectCall.at(at(0))));
    }

    #[test]
    fn dead_instructions_are_not_copied() {
        let copied = |text: &[u8]| {
            let region = Pretend::of(text).region(0)?;
            Ok((region.bytes().len(), region.insns().count()))
        };
        // pop; ret; int3
        assert_eq!(copied(&[0x5d, 0xc3, 0xcc, 0xcc, 0xcc]), Ok((5, 2)));
        // jmp +3; nopw
        assert_eq!(copied(&[0xeb, 3, 0x66, 0x90, 0xcc]), Ok((5, 1)));
        // ret; hlt, and what would reach over the end
        assert_eq!(copied(&[0xc3, 0xf4, 0xf4, 0xf4, 0xf4]), Ok((5, 1)));
        let over = copied(&[0xc3, 0x90, 0x90, 0xb8, 0]);
        assert_eq!(over, Err(NoJumpReason::CannotDecode.at(at(3))));
        // The end of the function is nearer.
        assert_eq!(
            copied(&[0xc3, 0xcc, 0xcc, 0xcc]),
            Err(NoJump::from(NoJumpReason::NearEnd))
        );
        // ret; nop, where something leads to
        let entered = copied(&[0xc3, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfa]);
        assert_eq!(entered, Err(NoJumpReason::LocalBranch.at(at(5))));
        // ret; endbr64
        let marked = copied(&[0xc3, 0xf3, 0x0f, 0x1e, 0xfa]);
        assert_eq!(marked, Err(NoJumpReason::LandingPad.at(at(1))));
    }

    #[test]
    fn instructions_that_cannot_move_are_refused() {
        let reason = |text: &[u8]| len(&Pretend::of(text)).err();
        let refused = |refusal, offset| Some(NoJumpReason::CannotMove(refusal).at(at(offset)));
        // nop; ud2; nop
        let traps = reason(&[0x90, 0x0f, 0x0b, 0x90, 0x90]);
        assert_eq!(traps, refused(Refusal::AlwaysTraps, 1));
        // nop; lidt (%rax); nop
        let lidt = reason(&[0x90, 0x0f, 0x01, 0x18, 0x90]);
        assert_eq!(lidt, refused(Refusal::ChangesVectors, 1));
        // nopl; loop back to it, at a distance that is no way into the jump
        let short = reason(&[0x0f, 0x1f, 0x00, 0xe2, 0xfb]);
        assert_eq!(short, Some(NoJumpReason::ShortLoop.at(at(3))));
    }

    #[test]
    fn sti_is_refused_if_the_instruction_behind_the_region_waits() {
        // nop * 4; sti; then hlt, or ret
        let waits = [0x90, 0x90, 0x90, 0x90, 0xfb, 0xf4];
        let refused = NoJumpReason::CannotMove(Refusal::LetsNextWait).at(at(4));
        assert_eq!(len(&Pretend::of(&waits)), Err(refused));
        let returns = [0x90, 0x90, 0x90, 0x90, 0xfb, 0xc3];
        assert_eq!(len(&Pretend::of(&returns)), Ok(5));
        // The function ends there.
        assert_eq!(len(&Pretend::of(&returns[..5])), Ok(5));
    }
}
