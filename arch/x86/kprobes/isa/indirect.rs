// SPDX-License-Identifier: GPL-2.0

//! Decides where an indirect jump may lead, besides the starts of functions.
//!
//! The configuration of the kernel decides:
//!
//! * With IBT, each target of an indirect jump starts with ENDBR, which the decoder sees.
//! * Without IBT, an indirect jump may lead anywhere in its function. With neither IBT nor
//!   retpolines, compilers use such a jump for `switch`, with a jump table of unknown length. With
//!   retpolines there are no jump tables, but GCC uses such a jump for a computed goto. A tail call
//!   through a function pointer looks the same.
//!
//! With retpolines, an indirect jump is a direct jump to a thunk, or what the kernel has replaced
//! that jump with at boot:
//!
//! ```text
//! E9 rel32    jmp  __x86_indirect_thunk_rax
//! FF E0       jmp  *%rax
//! E9 rel32    jmp  to a thunk that was allocated at boot, outside of all images
//! ```
//!
//! A return uses an address that another instruction has pushed. IRET, for example, requires no
//! ENDBR at that address. PUSH and LEA take such addresses, whatever the configuration:
//!
//! ```text
//! 68 imm32          pushq $label
//! 48 8D 05 disp32   leaq  label(%rip), %rax
//! ```

use super::{
    flow::Flow,
    insn::{
        Insn,
        Opcode, //
    }, //
};
use crate::prelude::*;

/// Where indirect jumps may lead in this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indirect {
    /// Anywhere in their function. With retpolines, jumps to thunks are indirect jumps.
    Anywhere(Option<Thunks>),
    /// Only to ENDBR.
    Endbr,
}

/// The number of kinds of thunks.
pub(crate) const KINDS: usize = 4;

/// The retpoline thunks. A jump to a thunk leads to the address in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thunks {
    /// The text of vmlinux, and the text of the image that contains the jump. A jump out of both
    /// may lead to a thunk.
    pub(crate) images: [TextRange; 2],
    /// The thunks in vmlinux, by kind.
    pub(crate) kinds: [TextRange; KINDS],
}

impl Thunks {
    fn may_be(&self, to: TextAddr) -> bool {
        let is_in = |ranges: &[TextRange]| ranges.iter().any(|range| range.contains(to));
        is_in(&self.kinds) || !is_in(&self.images)
    }
}

impl Indirect {
    /// Is `insn` at `at` a jump that may lead anywhere in its function?
    pub(super) fn leads_anywhere(&self, insn: &Insn, at: TextAddr) -> bool {
        let Self::Anywhere(thunks) = self else {
            return false;
        };
        match (insn.flow(), thunks) {
            (Flow::IndirectJump(_) | Flow::FarJump, _) => true,
            (Flow::Jump | Flow::ConditionalJump, Some(thunks)) => {
                insn.target(at).is_some_and(|to| thunks.may_be(to))
            }
            _ => false,
        }
    }
}

/// PUSH imm32.
const PUSH: u8 = 0x68;
const LEA: u8 = 0x8d;

/// The address that `insn` at `at` takes, by PUSH of an immediate or LEA relative to RIP.
pub(super) fn address_taken(insn: &Insn, at: TextAddr) -> Option<TextAddr> {
    match insn.opcode {
        Opcode::Primary(PUSH) => Some(TextAddr::new(insn.immediate_value() as u64)),
        Opcode::Primary(LEA) if insn.wide => {
            insn.rip_relative()?;
            let end = at.get().wrapping_add(insn.len() as u64);
            let operand = end.wrapping_add_signed(insn.displacement_value());
            Some(TextAddr::new(operand))
        }
        _ => None,
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_indirect))]
mod tests {
    use super::{
        super::{
            decode::decode,
            pretend::{
                at,
                Pretend,
                START, //
            }, //
        },
        *, //
    };

    fn range(from: u64, to: u64) -> TextRange {
        TextRange::new(at(from), at(to))
    }

    /// A kernel with retpolines and without IBT, and these thunks.
    fn retpolines() -> Indirect {
        let nothing = range(0, 0);
        let kinds = [
            range(0x2000, 0x2200),
            nothing,
            nothing,
            range(0x3000, 0x3100),
        ];
        let module = range(0x10_0000, 0x10_1000);
        Indirect::Anywhere(Some(Thunks {
            images: [range(0, 0x4000), module],
            kinds,
        }))
    }

    /// What becomes of a probe at `offset`: the length of its region.
    fn len(pretend: &Pretend<'_>, offset: u64) -> Result<usize, NotOptimized> {
        let region = pretend.region(offset)?;
        Ok(region.bytes().len())
    }

    // What GCC 12 makes of this for retpolines, with its labels at 0x30 and 0x39:
    //
    //     void *volatile labels[] = {&&a, &&b};
    //     goto *labels[x];
    //     a: y = g(y);
    //     b: y += h(y);
    //     return g(y) + 1;
    const LOCAL: [u8; 0x51] = [
        0x53, // push %rbx
        0x48, 0xc7, 0xc0, 0x30, 0x00, 0x00, 0x81, // mov $a, %rax
        0x48, 0x63, 0xff, 0x89, 0xf3, // movslq %edi, %rdi; mov %esi, %ebx
        0x48, 0xc7, 0xc2, 0x39, 0x00, 0x00, 0x81, // mov $b, %rdx
        0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x04, 0x24, // sub $16, %rsp; mov %rax, (%rsp)
        0x48, 0x89, 0x54, 0x24, 0x08, // mov %rdx, 8(%rsp)
        0x48, 0x8b, 0x04, 0xfc, // mov (%rsp,%rdi,8), %rax
        0xe9, 0xd6, 0x1f, 0x00, 0x00, // jmp __x86_indirect_thunk_rax
        0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, // nopw
        0x89, 0xf7, 0xe8, 0xc9, 0x00, 0x00, 0x00, 0x89, 0xc3, // a: call g
        0x89, 0xdf, 0xe8, 0xc0, 0x01, 0x00, 0x00, // b: call h
        0x8d, 0x3c, 0x03, 0xe8, 0xb8, 0x00, 0x00, 0x00, // lea (%rbx,%rax), %edi; call g
        0x48, 0x83, 0xc4, 0x10, 0x83, 0xc0, 0x01, 0x5b, 0xc3, // add; add; pop; ret
    ];
    // call f at its end: add $8, %rsp; mov %rbx, %rax; pop %rbx; jmp __x86_indirect_thunk_rax
    const TAIL: [u8; 13] = [
        0x48, 0x83, 0xc4, 0x08, 0x48, 0x89, 0xd8, 0x5b, 0xe9, 0xf3, 0x1f, 0x00, 0x00,
    ];

    #[test]
    fn computed_goto_in_region() {
        let mut pretend = Pretend::of(&LOCAL);
        // mov %eax, %ebx; mov %ebx, %edi at b; call h
        pretend.build.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 0x37), Ok(9));
        pretend.build.indirect = retpolines();
        for offset in [0x00, 0x08, 0x30, 0x37, 0x48] {
            let refused = Err(Reason::IndirectJump.at(at(0x25)));
            assert_eq!(len(&pretend, offset), refused);
        }
        // As it is when the kernel begins on a CPU that needs no retpolines: jmp *%rax; nop
        let mut patched = LOCAL;
        patched[0x25..0x2a].copy_from_slice(&[0xff, 0xe0, 0x90, 0x90, 0x90]);
        let mut pretend = Pretend::of(&patched);
        pretend.build.indirect = retpolines();
        let refused = Err(Reason::IndirectJump.at(at(0x25)));
        assert_eq!(len(&pretend, 0x37), refused);
        // A direct jump, to an address that is no thunk.
        patched[0x25..0x2a].copy_from_slice(&[0xe9, 0x00, 0x1f, 0x00, 0x00]);
        let mut pretend = Pretend::of(&patched);
        pretend.build.indirect = retpolines();
        assert_eq!(len(&pretend, 0x37), Ok(9));
        // But what was split from it does.
        pretend.cold = &[0x90, 0xff, 0xe0];
        assert_eq!(
            len(&pretend, 0x37),
            Err(NotOptimized::from(Reason::SplitJump))
        );
    }

    #[test]
    fn calls_at_the_end_look_like_computed_gotos() {
        let mut pretend = Pretend::of(&TAIL);
        pretend.build.indirect = retpolines();
        assert_eq!(len(&pretend, 0), Err(Reason::IndirectJump.at(at(8))));
        pretend.build.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 0), Ok(7));
    }

    // push $START+0xa; iretq; nop; xor %ecx, %ecx; mov $7, %eax; ret: the label is that of MOV.
    const PUSHED: [u8; 16] = [
        0x68, 0x0a, 0x00, 0x00, 0x81, 0x48, 0xcf, 0x90, 0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xc3,
    ];
    // lea 0x0a(%rip), %rax, to 0x11; push %rax; nop * 7; xor %ecx, %ecx; mov $7, %eax; ret
    const LOADED: [u8; 23] = [
        0x48, 0x8d, 0x05, 0x0a, 0x00, 0x00, 0x00, 0x50, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xc3,
    ];

    #[test]
    fn label_taken_by_push_in_region() {
        let mut pretend = Pretend::of(&PUSHED);
        for indirect in [Indirect::Endbr, Indirect::Anywhere(None), retpolines()] {
            pretend.build.indirect = indirect;
            // xor; mov
            assert_eq!(len(&pretend, 8), Err(Reason::JumpInto.at(at(0))));
            // A label at the start of the region: a branch to it takes the jump.
            assert_eq!(len(&pretend, 10), Ok(5));
        }
    }

    #[test]
    fn label_taken_by_lea_in_region() {
        let mut pretend = Pretend::of(&LOADED);
        pretend.build.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 0x0f), Err(Reason::JumpInto.at(at(0))));
        assert_eq!(len(&pretend, 0x11), Ok(5));
        // Where it is taken nothing leads.
        assert_eq!(len(&pretend, 0), Ok(7));
        // Of another function, as all functions take addresses of others.
        let mut elsewhere = LOADED;
        elsewhere[5] = 0x10;
        let mut pretend = Pretend::of(&elsewhere);
        pretend.build.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 0x0f), Ok(7));
    }

    fn address(bytes: &[u8]) -> Option<u64> {
        let insn = decode(bytes).ok()?;
        address_taken(&insn, START).map(TextAddr::get)
    }

    #[test]
    fn addresses_in_instructions_are_found() {
        let label = Some(START.get() + 0x90);
        // push $label; lea label(%rip), %rax; lea label(%rip), %r9
        assert_eq!(address(&[0x68, 0x90, 0, 0, 0x81]), label);
        assert_eq!(address(&[0x48, 0x8d, 0x05, 0x89, 0, 0, 0]), label);
        assert_eq!(address(&[0x4c, 0x8d, 0x0d, 0x89, 0, 0, 0]), label);
        // In front of it.
        let before = Some(START.get() - 0x10);
        assert_eq!(address(&[0x48, 0x8d, 0x05, 0xe9, 0xff, 0xff, 0xff]), before);
    }

    #[test]
    fn numbers_and_memory_operands_are_not_taken() {
        let cases: [&[u8]; 7] = [
            // mov $number, %eax; cmp $number, %esi; movl $number, (%rsp): upper bits are 0.
            &[0xb8, 0x90, 0, 0, 0x81],
            &[0x81, 0xfe, 0x90, 0, 0, 0x81],
            &[0xc7, 0x04, 0x24, 0x90, 0, 0, 0x81],
            // mov table(,%rdi,8), %rax; mov number(%rip), %rax; add number(%rip), %rax
            &[0x48, 0x8b, 0x04, 0xfd, 0x90, 0, 0, 0x81],
            &[0x48, 0x8b, 0x05, 0x89, 0, 0, 0],
            &[0x48, 0x03, 0x05, 0x89, 0, 0, 0],
            // lea number(%rax), %eax
            &[0x8d, 0x80, 0x90, 0, 0, 0x81],
        ];
        for bytes in cases {
            assert!(decode(bytes).is_ok_and(|insn| insn.len() == bytes.len()));
            assert_eq!(address(bytes), None);
        }
    }

    #[test]
    fn targets_of_branches_are_not_taken() {
        // jmp +0x8b; je +0x8a; call +0x8b: all lead there.
        let cases: [&[u8]; 3] = [
            &[0xe9, 0x8b, 0, 0, 0],
            &[0x0f, 0x84, 0x8a, 0, 0, 0],
            &[0xe8, 0x8b, 0, 0, 0],
        ];
        for bytes in cases {
            assert_eq!(address(bytes), None);
        }
    }

    #[test]
    fn jumps_to_thunks_are_indirect() {
        let retpolines = retpolines();
        let leads = |kind: Indirect, bytes: &[u8]| {
            decode(bytes).is_ok_and(|insn| kind.leads_anywhere(&insn, START))
        };
        let jump = |to: i32| {
            let [a, b, c, d] = (to - 5).to_le_bytes();
            [0xe9, a, b, c, d]
        };
        for (to, expected) in [
            (0x10, false),
            (0x1fff, false),
            (0x2000, true),
            (0x21ff, true),
            (0x2200, false),
            (0x3000, true),
            (0x3100, false),
            (0x3fff, false),
            // In the module itself.
            (0x10_0800, false),
            // Thunks that were made when the kernel began.
            (0x4000, true),
            (-1, true),
        ] {
            assert_eq!(leads(retpolines, &jump(to)), expected);
            assert!(!leads(Indirect::Endbr, &jump(to)));
            assert!(!leads(Indirect::Anywhere(None), &jump(to)));
        }
        // je to a thunk, and call of it; jmp *%rax
        assert!(leads(retpolines, &[0x0f, 0x84, 0x00, 0x20, 0, 0]));
        assert!(!leads(retpolines, &[0xe8, 0x00, 0x20, 0, 0]));
        assert!(leads(retpolines, &[0xff, 0xe0]));
        assert!(leads(Indirect::Anywhere(None), &[0xff, 0xe0]));
        assert!(!leads(Indirect::Endbr, &[0xff, 0xe0]));
    }
}
