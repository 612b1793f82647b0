// SPDX-License-Identifier: GPL-2.0

//! Indirect jumps: where they may lead, besides the starts of functions.
//!
//! The configuration of the kernel decides:
//!
//! * With IBT, each place that an indirect jump may lead to starts with ENDBR, which is seen where
//!   it is.
//! * Without IBT, an indirect jump may lead anywhere in its function. With neither IBT nor
//!   retpolines, compilers make one of a `switch`, from a table whose length nobody knows. With
//!   retpolines there are no such tables, but GCC makes one of a computed goto. A call of a
//!   function pointer at the end of a function looks the same.
//!
//! With retpolines an indirect jump is a direct jump to a thunk, or what the kernel has made of
//! that at boot:
//!
//! ```text
//! E9 rel32    jmp  __x86_indirect_thunk_rax
//! FF E0       jmp  *%rax
//! E9 rel32    jmp  to a thunk that was allocated at boot, outside of all images
//! ```

use super::{
    flow::Flow,
    insn::Insn, //
};
use crate::model::addr::{
    TextAddr,
    TextRange, //
};

/// Where indirect jumps may lead in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indirect {
    /// Anywhere in their function. With retpolines, jumps to thunks are such.
    Anywhere(Option<Thunks>),
    /// Only to ENDBR.
    Marked,
}

/// Kinds of thunks.
pub(crate) const KINDS: usize = 4;

/// Thunks: jumping there is jumping to where a register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thunks {
    /// The text of the kernel proper, and that of the image that the jump is in. A jump that leads
    /// out of both may lead to a thunk.
    pub(crate) images: [TextRange; 2],
    /// The thunks in the kernel proper.
    pub(crate) kinds: [TextRange; KINDS],
}

impl Thunks {
    fn may_be(&self, to: TextAddr) -> bool {
        let is_in = |ranges: &[TextRange]| ranges.iter().any(|range| range.contains(to));
        is_in(&self.kinds) || !is_in(&self.images)
    }
}

impl Indirect {
    /// May `insn` at `at` lead anywhere in its function?
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
    use crate::model::not_optimized::{
        NotOptimized,
        Reason, //
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
        pretend.build.indirect = Indirect::Marked;
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
        // What jumps to no thunk.
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
        pretend.build.indirect = Indirect::Marked;
        assert_eq!(len(&pretend, 0), Ok(7));
    }

    #[test]
    fn jumps_to_thunks_are_told_from_others() {
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
            assert!(!leads(Indirect::Marked, &jump(to)));
            assert!(!leads(Indirect::Anywhere(None), &jump(to)));
        }
        // je to a thunk, and call of it; jmp *%rax
        assert!(leads(retpolines, &[0x0f, 0x84, 0x00, 0x20, 0, 0]));
        assert!(!leads(retpolines, &[0xe8, 0x00, 0x20, 0, 0]));
        assert!(leads(retpolines, &[0xff, 0xe0]));
        assert!(leads(Indirect::Anywhere(None), &[0xff, 0xe0]));
        assert!(!leads(Indirect::Marked, &[0xff, 0xe0]));
    }
}
