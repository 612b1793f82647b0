// SPDX-License-Identifier: GPL-2.0

//! Where a jump to what a register or memory says may lead, besides the starts of functions.
//!
//! How a kernel is built says what there may be of such jumps:
//!
//! * With IBT each place that one may lead to has its mark, which is seen where it is.
//! * With neither IBT nor retpolines, compilers make them for `switch`, from tables whose length
//!   nobody knows. So one may lead anywhere in its function.
//! * With retpolines there is no such table, but GCC makes them for computed gotos, and for calls
//!   at a function's end, where they leave it. They look alike: `jmp __x86_indirect_thunk_rax`, or
//!   what that was made into when the kernel began. But the address of a label has to be somewhere:
//!   in data, word for word, or in an instruction:
//!
//! ```text
//! 48 C7 04 24 imm32       movq $label, (%rsp)          immediate
//! 48 8D 05 disp32         lea  label(%rip), %rax       displacement, from the end
//! 48 8D 80 disp32         lea  label(%rax), %rax       displacement
//! 48 8B 04 FD disp32      mov  table(,%rdi,8), %rax    with the labels in data
//! E9 rel32                jmp  __x86_indirect_thunk_rax
//! ```
//!
//! To have an address it must have 64 bits of its own, or be extended to that by its sign. An
//! immediate of 32 bits, as ioctl numbers and those of MSRs are, is none, though it may look like
//! one of a module; and what is read or written where a displacement says is not an address that
//! anybody has then.
//!
//! A label in data is what it is. From one in an instruction others may be counted, so who has it
//! and such a jump may jump anywhere in its function. Of what jumps to thunks without a label of
//! its own in its text, each is known: it is a call, or its labels are in data.

use super::{
    flow::Flow,
    insn::{
        Field,
        Insn,
        Opcode, //
    },
};
use crate::model::addr::{
    TextAddr,
    TextRange, //
};

/// What indirect jumps there are in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indirect {
    /// They may lead anywhere in their function.
    Anywhere,
    /// They lead to labels whose address somebody has.
    Labels(Thunks),
    /// They lead to what has a mark.
    Marked,
}

/// Kinds of thunks.
pub(crate) const KINDS: usize = 4;

/// What a direct jump leads to that goes on where a register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thunks {
    /// The text of the kernel proper. Outside it are thunks as well, so any other jump from a
    /// module to outside counts with them.
    pub(crate) kernel: TextRange,
    /// Those in it.
    pub(crate) kinds: [TextRange; KINDS],
}

impl Thunks {
    fn may_be(&self, to: TextAddr) -> bool {
        !self.kernel.contains(to) || self.kinds.iter().any(|kind| kind.contains(to))
    }
}

impl Indirect {
    /// Do some lead to labels?
    pub(crate) fn leads_to_labels(&self) -> bool {
        matches!(self, Self::Labels(_))
    }

    /// May `insn` at `at`, for all that it says itself, lead to any place that has no mark? `out`
    /// says whether an address is outside its function.
    pub(super) fn leads(
        &self,
        insn: &Insn,
        at: TextAddr,
        out: impl FnOnce(TextAddr) -> bool,
    ) -> bool {
        match self {
            Self::Anywhere => is_indirect(insn),
            Self::Labels(thunks) => {
                is_indirect(insn)
                    || is_direct(insn)
                        && insn
                            .target(at)
                            .is_some_and(|to| out(to) && thunks.may_be(to))
            }
            Self::Marked => false,
        }
    }
}

/// May it lead anywhere in its function?
fn is_indirect(insn: &Insn) -> bool {
    matches!(insn.flow(), Flow::IndirectJump(_) | Flow::FarJump)
}

fn is_direct(insn: &Insn) -> bool {
    matches!(insn.flow(), Flow::Jump | Flow::ConditionalJump)
}

/// `PUSH imm32`, `LEA`.
const PUSH: u8 = 0x68;
const LEA: u8 = 0x8d;

/// Addresses that `insn`, whose bytes these are and which stands at `at`, may have of places that
/// it does not lead to.
pub(super) fn taken(insn: &Insn, bytes: &[u8], at: TextAddr) -> impl Iterator<Item = TextAddr> {
    let (is_push, is_lea) = match insn.opcode() {
        Opcode::Primary(opcode) | Opcode::Rex2Primary(opcode) => (opcode == PUSH, opcode == LEA),
        _ => (false, false),
    };
    let has_immediate = (insn.is_wide() || is_push) && insn.target(at).is_none();
    let immediate = has_immediate.then(|| insn.immediate() as u64);
    let displacement = insn
        .displacement_field()
        .filter(|_| is_lea && insn.is_wide());
    let displacement = displacement.and_then(|field| number(field, bytes));
    let base = match insn.rip_relative_field() {
        Some(_) => at.get().wrapping_add(insn.len() as u64),
        None => 0,
    };
    let displacement = displacement.map(|distance| base.wrapping_add(distance));
    [immediate, displacement]
        .into_iter()
        .flatten()
        .map(TextAddr::new)
}

/// The signed number of 32 bits in a field.
fn number(field: Field, bytes: &[u8]) -> Option<u64> {
    let rest = bytes.get(usize::from(field.offset)..)?;
    let number = rest.first_chunk().filter(|_| field.size == 4)?;
    Some(i64::from(i32::from_le_bytes(*number)) as u64)
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
                ELSEWHERE,
                START, //
            }, //
        },
        *, //
    };
    use crate::model::not_optimized::NotOptimized;

    const AT: TextAddr = START;

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
        Indirect::Labels(Thunks {
            kernel: range(0, 0x4000),
            kinds,
        })
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
    // And of the same with labels that are static and never change. They are at 0x18 and 0x21.
    const TABLE: [u8; 0x35] = [
        0x48, 0x63, 0xff, 0x53, 0x89, 0xf3, // movslq %edi, %rdi; push %rbx; mov %esi, %ebx
        0x48, 0x8b, 0x04, 0xfd, 0x00, 0x00, 0x80, 0x81, // mov labels(,%rdi,8), %rax
        0xe9, 0xed, 0x1f, 0x00, 0x00, // jmp __x86_indirect_thunk_rax
        0x0f, 0x1f, 0x44, 0x00, 0x00, // nopl
        0x89, 0xf7, 0xe8, 0x81, 0x00, 0x00, 0x00, 0x89, 0xc3, // a: call g
        0x89, 0xdf, 0xe8, 0x78, 0x01, 0x00, 0x00, // b: call h
        0x8d, 0x3c, 0x03, 0xe8, 0x70, 0x00, 0x00, 0x00, // lea (%rbx,%rax), %edi; call g
        0x5b, 0x83, 0xc0, 0x01, 0xc3, // pop; add; ret
    ];
    // call f at its end: add $8, %rsp; mov %rbx, %rax; pop %rbx; jmp __x86_indirect_thunk_rax
    const TAIL: [u8; 13] = [
        0x48, 0x83, 0xc4, 0x08, 0x48, 0x89, 0xd8, 0x5b, 0xe9, 0xf3, 0x1f, 0x00, 0x00,
    ];

    #[test]
    fn computed_goto_in_region() {
        let mut pretend = Pretend::of(&LOCAL);
        // mov %eax, %ebx; mov %ebx, %edi at b; call h
        pretend.build.indirect = Indirect::Marked;
        assert_eq!(len(&pretend, 0x37), Ok(9));
        pretend.build.indirect = retpolines();
        for offset in [0x00, 0x08, 0x30, 0x37, 0x48] {
            let refused = Err(NotOptimized::ComputedGoto(at(1)));
            assert_eq!(len(&pretend, offset), refused);
        }
        // As it is when the kernel begins on a CPU that needs no retpolines: jmp *%rax; nop
        let mut patched = LOCAL;
        patched[0x25..0x2a].copy_from_slice(&[0xff, 0xe0, 0x90, 0x90, 0x90]);
        let mut pretend = Pretend::of(&patched);
        pretend.build.indirect = retpolines();
        assert_eq!(len(&pretend, 0x37), Err(NotOptimized::ComputedGoto(at(1))));
        // What has the address of a place in itself, and jumps to no thunk.
        patched[0x25..0x2a].copy_from_slice(&[0xe9, 0x00, 0x1f, 0x00, 0x00]);
        let mut pretend = Pretend::of(&patched);
        pretend.build.indirect = retpolines();
        assert_eq!(len(&pretend, 0x37), Ok(9));
        // But what was split from it does.
        pretend.cold = &[0x90, 0xff, 0xe0];
        assert_eq!(len(&pretend, 0x37), Err(NotOptimized::ComputedGoto(at(1))));
    }

    #[test]
    fn computed_goto_by_a_table_in_region() {
        let mut pretend = Pretend::of(&TABLE);
        pretend.build.indirect = retpolines();
        for (label, expected) in [
            (0x1f, Ok(9)),
            (0x20, Err(NotOptimized::AddressInData(at(0x20)))),
            (0x21, Err(NotOptimized::AddressInData(at(0x21)))),
            (0x23, Err(NotOptimized::AddressInData(at(0x23)))),
            (0x24, Ok(9)),
        ] {
            pretend.taken = Some(label);
            assert_eq!(len(&pretend, 0x1f), expected);
        }
        // Elsewhere in the function nothing is in the way.
        pretend.taken = Some(0x21);
        assert_eq!(len(&pretend, 0x06), Ok(8));
        assert_eq!(len(&pretend, 0x18), Ok(7));
    }

    #[test]
    fn calls_at_the_end_are_in_nobodys_way() {
        let mut pretend = Pretend::of(&TAIL);
        pretend.build.indirect = retpolines();
        assert_eq!(len(&pretend, 0), Ok(7));
        assert_eq!(len(&pretend, 4), Ok(9));
    }

    #[test]
    fn labels_that_another_function_has_are_ways_in() {
        let mut pretend = Pretend::of(&LOCAL);
        pretend.build.indirect = retpolines();
        // lea from 0x39 of the function, as it is for both
        let mut whole = LOCAL;
        whole[1..8].copy_from_slice(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]);
        whole[13..20].copy_from_slice(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]);
        pretend.text = &whole;
        assert_eq!(len(&pretend, 0x37), Ok(9));
        let [a, b, c, d] = (0x39 - (ELSEWHERE as i32 + 8)).to_le_bytes();
        let cold = [0x90, 0x48, 0x8d, 0x05, a, b, c, d, 0xc3];
        pretend.cold = &cold;
        assert_eq!(len(&pretend, 0x37), Err(NotOptimized::Entered(at(0x39))));
        pretend.build.indirect = Indirect::Marked;
        assert_eq!(len(&pretend, 0x37), Ok(9));
    }

    fn addresses(bytes: &[u8]) -> [Option<u64>; 2] {
        let Ok(insn) = decode(bytes) else {
            return [None; 2];
        };
        let mut taken = taken(&insn, bytes, AT).map(TextAddr::get);
        [taken.next(), taken.next()]
    }

    #[test]
    fn addresses_in_instructions_are_found() {
        let label = AT.get() + 0x90;
        let cases: &[(&[u8], u64)] = &[
            // movq $label, (%rsp); mov $label, %rdi; push $label; add $label, %rax
            (&[0x48, 0xc7, 0x04, 0x24, 0x90, 0, 0, 0x81], label),
            (&[0x48, 0xc7, 0xc7, 0x90, 0, 0, 0x81], label),
            (&[0x68, 0x90, 0, 0, 0x81], label),
            (&[0x48, 0x05, 0x90, 0, 0, 0x81], label),
            // movabs $label, %rax
            (
                &[0x48, 0xb8, 0x90, 0, 0, 0x81, 0xff, 0xff, 0xff, 0xff],
                label,
            ),
            // lea label(%rip), %rax; lea label(%rax), %rax; lea label(,%rdi,8), %r16
            (&[0x48, 0x8d, 0x05, 0x89, 0, 0, 0], label),
            (&[0x48, 0x8d, 0x80, 0x90, 0, 0, 0x81], label),
            (&[0xd5, 0x48, 0x8d, 0x04, 0xfd, 0x90, 0, 0, 0x81], label),
        ];
        for &(bytes, expected) in cases {
            assert!(addresses(bytes).contains(&Some(expected)));
        }
    }

    #[test]
    fn numbers_and_what_is_read_are_not_taken() {
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
        let label = AT.get() + 0x90;
        for bytes in cases {
            assert!(decode(bytes).is_ok_and(|insn| insn.len() == bytes.len()));
            assert!(!addresses(bytes).contains(&Some(label)));
        }
    }

    #[test]
    fn where_a_branch_leads_is_not_taken() {
        // jmp +0x8b; je +0x8a; call +0x8b: all lead there.
        let cases: [&[u8]; 3] = [
            &[0xe9, 0x8b, 0, 0, 0],
            &[0x0f, 0x84, 0x8a, 0, 0, 0],
            &[0xe8, 0x8b, 0, 0, 0],
        ];
        for bytes in cases {
            assert_eq!(addresses(bytes), [None; 2]);
        }
    }

    #[test]
    fn jumps_to_thunks_are_told_from_others() {
        let labels = retpolines();
        let leads = |kind: Indirect, bytes: &[u8]| {
            let out = |to| !range(0, 0x100).contains(to);
            decode(bytes).is_ok_and(|insn| kind.leads(&insn, AT, out))
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
            // Thunks that were made when the kernel began.
            (0x4000, true),
            (-1, true),
        ] {
            assert_eq!(leads(labels, &jump(to)), expected);
            assert!(!leads(Indirect::Marked, &jump(to)));
            assert!(!leads(Indirect::Anywhere, &jump(to)));
        }
        // je to a thunk, and call of it; jmp *%rax
        assert!(leads(labels, &[0x0f, 0x84, 0x00, 0x20, 0, 0]));
        assert!(!leads(labels, &[0xe8, 0x00, 0x20, 0, 0]));
        assert!(leads(labels, &[0xff, 0xe0]));
        assert!(leads(Indirect::Anywhere, &[0xff, 0xe0]));
        assert!(!leads(Indirect::Marked, &[0xff, 0xe0]));
    }
}
