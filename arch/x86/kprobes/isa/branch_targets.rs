// SPDX-License-Identifier: GPL-2.0

//! Finds the branches that lead into a function.
//!
//! A jump that replaces a breakpoint overwrites bytes that a branch may lead to, so every branch
//! into the function, except to its start, must be known. Most of these branches are in the
//! function itself. Others are in code that the compiler split from the function (`f.cold`,
//! `f.part.0`) and that jumps back, or in assembler code whose label has a symbol.
//!
//! [`branches_into`] decodes a function once for all its probes; each probe then costs a binary
//! search in the sorted [`Branch`]es ([`leading_to`]). [`branches_out_of`] finds the branches into
//! other functions; it covers all text once, for [`TextMetadata::branch_target`].
//!
//! The text must be read as it was compiled ([`boundary`]). Jump labels that are NOPs now and the
//! fixups of the exception table are not in the bytes: [`TextMetadata`] knows them from the
//! kernel's tables.
//!
//! An indirect jump does not contain its target. If an indirect jump may lead anywhere in its
//! function or in code that was split from the function, no function of that [`SplitGroup`] is
//! optimized. The configuration of the kernel decides where an indirect jump may lead, besides the
//! starts of functions ([`Indirect`]):
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
//!
//! C counterpart: `can_optimize()` in
//! [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c), which decodes the
//! function again for each probe, and no other function.

use super::{
    boundary,
    decode::decode,
    flow::Flow,
    insn::{
        Insn,
        Opcode, //
    }, //
};
use crate::{
    contract::ReadText,
    model::text_metadata::TextMetadata,
    prelude::*, //
};

/// The possible targets of indirect jumps in this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indirect {
    /// Anywhere in their function. With retpolines, jumps to thunks are indirect jumps.
    Anywhere(Option<Thunks>),
    /// Only to ENDBR.
    Endbr,
}

/// The retpoline thunks. A jump to a thunk leads to the address in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thunks {
    /// The text of vmlinux, and the text of the image that contains the jump. A jump out of both
    /// may lead to a thunk.
    pub(crate) images: [TextRange; 2],
    /// The thunks in vmlinux, by kind.
    pub(crate) kinds: [TextRange; 4],
}

impl Thunks {
    fn may_be(&self, to: TextAddr) -> bool {
        let is_in = |ranges: &[TextRange]| ranges.iter().any(|range| range.contains(to));
        is_in(&self.kinds) || !is_in(&self.images)
    }
}

impl Indirect {
    /// Returns whether `insn` at `at` is a jump that may lead anywhere in its function, which
    /// begins at `start`.
    pub(super) fn leads_anywhere(&self, insn: &Insn, at: TextAddr, start: TextAddr) -> bool {
        let Self::Anywhere(thunks) = self else {
            return false;
        };
        match (insn.flow(), thunks) {
            (Flow::IndirectJump | Flow::FarJump, _) => true,
            // At the start, ftrace may have a jump to a BPF trampoline.
            (Flow::Jump | Flow::ConditionalJump, Some(thunks)) if at != start => {
                insn.target(at).is_some_and(|to| thunks.may_be(to))
            }
            _ => false,
        }
    }
}

/// A branch that leads into a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Branch {
    /// Its target.
    to: TextAddr,
    /// The address of the branch.
    from: TextAddr,
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
impl Branch {
    /// An unused element of a list.
    pub(crate) const EMPTY: Self = Self {
        to: TextAddr::new(0),
        from: TextAddr::new(0),
    };

    /// Returns the target, for the tests that compare with another decoder.
    #[cfg(test)]
    pub(crate) fn to(&self) -> TextAddr {
        self.to
    }
}

/// Calls `found` for each branch of a function that leads into it, except to its start.
///
/// Refuses the function if an indirect jump of its split-function group may lead there. Refuses the
/// function, too, while a debugger has a breakpoint there, which hides an unknown instruction.
pub(crate) fn branches_into(
    function: TextRange,
    group: SplitGroup,
    indirect: Indirect,
    metadata: &impl TextMetadata,
    read: ReadText<'_>,
    found: &mut dyn FnMut(Branch) -> Result<(), NoJump>,
) -> Result<(), NoJump> {
    each_insn(function, false, read, &mut |from, insn| {
        let debuggers = NoJumpReason::Debugger.at(from);
        let is_debuggers = |byte| metadata.reserved_by(byte) == Some(debuggers);
        let byte = TextRange::with_len(from, 1);
        if insn.flow() == Flow::Breakpoint && byte.is_ok_and(is_debuggers) {
            return Err(debuggers);
        }
        report(insn, from, function, indirect, found)
    })?;
    check_group(metadata.has_indirect_jump_into(group), indirect)
}

/// Refuses a function if `others` in its group have an indirect jump that may lead there.
pub(crate) fn check_group(others: bool, indirect: Indirect) -> Result<(), NoJump> {
    if others && indirect != Indirect::Endbr {
        return Err(NoJump::from(NoJumpReason::SplitJump));
    }
    Ok(())
}

/// Calls `found` for each branch of `piece`, which is `function` or another function, that leads
/// into `function`, except to its start.
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
pub(crate) fn each(
    piece: TextRange,
    function: TextRange,
    indirect: Indirect,
    read: ReadText<'_>,
    found: &mut dyn FnMut(Branch) -> Result<(), NoJump>,
) -> Result<(), NoJump> {
    each_insn(piece, false, read, &mut |from, insn| {
        report(insn, from, function, indirect, found)
    })
}

/// Calls `found` if the instruction at `from` is a branch into `function`.
///
/// An instruction of the function that takes an address in the function counts as a branch: IRET or
/// RET may use that address.
fn report(
    insn: &Insn,
    from: TextAddr,
    function: TextRange,
    indirect: Indirect,
    found: &mut dyn FnMut(Branch) -> Result<(), NoJump>,
) -> Result<(), NoJump> {
    if indirect.leads_anywhere(insn, from, function.start()) {
        return Err(NoJumpReason::IndirectJump.at(from));
    }
    let taken = || address_taken(insn, from).filter(|_| function.contains(from));
    match insn.target(from).or_else(taken) {
        Some(to) if function.contains(to) && to != function.start() => found(Branch { to, from }),
        _ => Ok(()),
    }
}

/// PUSH imm32.
const PUSH: u8 = 0x68;
const LEA: u8 = 0x8d;

/// Returns the address that `insn` at `at` takes, by PUSH of an immediate or LEA relative to RIP.
fn address_taken(insn: &Insn, at: TextAddr) -> Option<TextAddr> {
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

/// Calls `found` with the target of each branch that leads out of `piece`. Returns whether `piece`
/// has an indirect jump that may lead anywhere in its group.
///
/// If `piece` has bytes that cannot be decoded, an instruction may start at each of its bytes.
pub(crate) fn branches_out_of(
    piece: TextRange,
    indirect: Indirect,
    read: ReadText<'_>,
    found: &mut dyn FnMut(TextAddr) -> Result<(), NoJump>,
) -> Result<bool, NoJump> {
    let mut jumps = false;
    let mut look = |from: TextAddr, insn: &Insn| {
        jumps |= indirect.leads_anywhere(insn, from, piece.start());
        match insn.target(from) {
            Some(to) if !piece.contains(to) => found(to),
            _ => Ok(()),
        }
    };
    match each_insn(piece, false, read, &mut look) {
        Err(no) if no.reason == NoJumpReason::CannotDecode => {
            each_insn(piece, true, read, &mut look)
        }
        done => done,
    }?;
    Ok(jumps)
}

/// The number of bytes that are read at once.
const AHEAD: usize = 128;

/// Calls `look` with the address of each instruction in `piece`, and the instruction.
///
/// The first instruction starts `piece`; the space between functions consists of breakpoints. With
/// `every_byte`, an instruction is looked for at each byte.
fn each_insn(
    piece: TextRange,
    every_byte: bool,
    read: ReadText<'_>,
    look: &mut dyn FnMut(TextAddr, &Insn) -> Result<(), NoJump>,
) -> Result<(), NoJump> {
    let mut at = piece.start();
    // The first `len` bytes of the buffer are the text from `start` on.
    let (mut buffer, mut start, mut len) = ([0; AHEAD], at, 0);
    while at < piece.end() {
        let left = distance(at, piece.end());
        if distance(start, at).saturating_add(left.min(boundary::WINDOW)) > len {
            (start, len) = (at, left.min(AHEAD));
            let ahead = buffer.get_mut(..len).and_then(|ahead| read(at, ahead));
            ahead.ok_or(NoJumpReason::CannotRead.at(at))?;
        }
        let bytes = buffer.get(distance(start, at)..len).unwrap_or_default();
        let prefix = match every_byte {
            true => 0,
            false => boundary::emulate_prefix_len(bytes),
        };
        let cannot_decode = |_| NoJumpReason::CannotDecode.at(at);
        let from = at.after(prefix as u64).map_err(cannot_decode)?;
        let insn = decode(bytes.get(prefix..).unwrap_or_default());
        if let Ok(insn) = &insn {
            look(from, insn)?;
        }
        let next = match insn {
            _ if every_byte => from.after(1),
            Ok(insn) => from.after(insn.len() as u64),
            Err(refusal) => Err(refusal),
        };
        at = next.map_err(cannot_decode)?;
    }
    Ok(())
}

/// Returns the number of bytes from one address to another that is not before it.
fn distance(from: TextAddr, to: TextAddr) -> usize {
    to.get().saturating_sub(from.get()) as usize
}

/// Returns the address of a branch whose target is one of `bytes`, if any. `branches` is sorted.
pub(super) fn leading_to(branches: &[Branch], bytes: TextRange) -> Option<TextAddr> {
    let before = branches.partition_point(|branch| branch.to < bytes.start());
    let branch = branches.get(before)?;
    bytes.contains(branch.to).then_some(branch.from)
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_branches))]
mod tests {
    use super::*;

    const START: u64 = 0xffff_ffff_8100_0000;
    const PLAIN: Indirect = Indirect::Anywhere(None);
    const MARKED: Indirect = Indirect::Endbr;

    fn at(offset: u64) -> TextAddr {
        TextAddr::new(START + offset)
    }

    fn range(from: u64, to: u64) -> TextRange {
        TextRange::new(at(from), at(to))
    }

    /// The branches in `text`, which stands at `from`, that lead into a function at the offsets
    /// `to`: where they lead and where they are.
    fn found(
        text: &[u8],
        from: u64,
        to: TextRange,
        indirect: Indirect,
    ) -> Result<[Option<(u64, u64)>; 4], NoJump> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let start = at.get().checked_sub(START + from)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let mut targets = [None; 4];
        let mut count = 0;
        let piece = range(from, from + text.len() as u64);
        each(piece, to, indirect, &mut read, &mut |branch| {
            let place = targets.get_mut(count).ok_or(NoJumpReason::NoMemory)?;
            *place = Some((branch.to.get() - START, branch.from.get() - START));
            count += 1;
            Ok(())
        })?;
        Ok(targets)
    }

    #[test]
    fn branches_of_all_kinds_are_found() {
        // jmp +1; nop; call -2; loop -4; jrcxz +0
        let text = [
            0xeb, 0x01, 0x90, 0xe8, 0xfe, 0xff, 0xff, 0xff, 0xe2, 0xfc, 0xe3, 0x00,
        ];
        let targets = found(&text, 0, range(0, 13), PLAIN);
        let expected = [Some((3, 0)), Some((6, 3)), Some((6, 8)), Some((12, 10))];
        assert_eq!(targets, Ok(expected));
        // je +2 and jne -12, in 32 bits, xbegin +0: from outside
        let text = [
            0x0f, 0x84, 2, 0, 0, 0, 0x0f, 0x85, 0xf4, 0xff, 0xff, 0xff, 0xc7, 0xf8, 0, 0, 0, 0,
        ];
        let targets = found(&text, 16, range(15, 40), PLAIN);
        let expected = [Some((24, 16)), Some((16, 22)), Some((34, 28)), None];
        assert_eq!(targets, Ok(expected));
    }

    #[test]
    fn branches_elsewhere_or_to_the_start_are_ignored() {
        // jmp -2; jmp +1; nop
        let text = [0xeb, 0xfe, 0xeb, 0x01, 0x90];
        let none = Ok([None; 4]);
        assert_eq!(found(&text, 0, range(0, 5), PLAIN), none);
        assert_eq!(found(&text, 0, range(2, 5), PLAIN), none);
        let targets = found(&text, 0, range(4, 6), PLAIN);
        assert_eq!(targets, Ok([Some((5, 2)), None, None, None]));
    }

    #[test]
    fn indirect_jumps_are_refused_where_there_are_jump_tables() {
        // nop; jmp *%rax; then jmp *0(,%rax,8)
        let texts: [&[u8]; 2] = [&[0x90, 0xff, 0xe0], &[0x90, 0xff, 0x24, 0xc5, 0, 0, 0, 0]];
        for text in texts {
            let refused = Err(NoJumpReason::IndirectJump.at(at(1)));
            assert_eq!(found(text, 0, range(0, 8), PLAIN), refused);
            assert_eq!(found(text, 0, range(0, 8), MARKED), Ok([None; 4]));
        }
        // A call comes back to behind itself.
        let call = found(&[0xff, 0xd0], 0, range(0, 8), PLAIN);
        assert_eq!(call, Ok([None; 4]));
    }

    #[test]
    fn branches_out_of_a_piece_are_reported() {
        // jmp +1; nop; call -2; jmp *%rax; je +16; jmp -16
        let text = [
            0xeb, 0x01, 0x90, 0xe8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xe0, 0x74, 0x10, 0xeb, 0xf0,
        ];
        let mut read = |from: TextAddr, into: &mut [u8]| {
            let start = from.get().checked_sub(START)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let (mut reported, mut count) = ([0; 3], 0);
        let done = branches_out_of(range(0, 14), PLAIN, &mut read, &mut |to| {
            reported[count] = to.get().wrapping_sub(START);
            count += 1;
            Ok(())
        });
        assert_eq!(done, Ok(true));
        assert_eq!(reported, [28, 0u64.wrapping_sub(2), 0]);
        assert_eq!(count, 2);
    }

    /// Where a piece of text leads that starts at [`START`], as offsets.
    fn left(text: &[u8]) -> Result<[Option<u64>; 4], NoJump> {
        let mut read = |from: TextAddr, into: &mut [u8]| {
            let start = from.get().checked_sub(START)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let (mut reported, mut count) = ([None; 4], 0);
        branches_out_of(range(0, text.len() as u64), PLAIN, &mut read, &mut |to| {
            let place = reported.get_mut(count).ok_or(NoJumpReason::NoMemory)?;
            *place = Some(to.get().wrapping_sub(START));
            count += 1;
            Ok(())
        })?;
        Ok(reported)
    }

    #[test]
    fn pieces_with_undecodable_bytes_are_searched_bytewise() {
        // nop, then a byte that is none; jmp +16 behind it.
        let bytes = [0x90, 0x06, 0xeb, 0x10];
        assert_eq!(left(&bytes), Ok([Some(20), None, None, None]));
        // mov $.., %eax hides a jmp +16 unless the piece has such a byte, behind it as well.
        let hidden = [0xb8, 0xeb, 0x10, 0x00, 0x00, 0x90];
        assert_eq!(left(&hidden), Ok([None; 4]));
        let found = left(&[0xb8, 0xeb, 0x10, 0x00, 0x00, 0x06]);
        assert_eq!(found, Ok([Some(19), None, None, None]));
    }

    #[test]
    fn indirect_jumps_are_reported_where_there_are_jump_tables() {
        // jmp *%rax; then behind a byte that is none; a call; nop.
        let texts: [(&[u8], bool); 4] = [
            (&[0xff, 0xe0], true),
            (&[0x06, 0xff, 0xe0], true),
            (&[0xff, 0xd0], false),
            (&[0x90], false),
        ];
        for (text, expected) in texts {
            let mut read = |from: TextAddr, into: &mut [u8]| {
                let start = from.get().checked_sub(START)? as usize;
                into.copy_from_slice(text.get(start..start + into.len())?);
                Some(())
            };
            let piece = range(0, text.len() as u64);
            let mut jumps = |indirect| branches_out_of(piece, indirect, &mut read, &mut |_| Ok(()));
            assert_eq!(jumps(PLAIN), Ok(expected));
            assert_eq!(jumps(MARKED), Ok(false));
        }
    }

    #[test]
    fn unreadable_text_gives_cannot_read() {
        let mut none = |_: TextAddr, _: &mut [u8]| None;
        let reported = branches_out_of(range(0, 4), PLAIN, &mut none, &mut |_| Ok(()));
        assert_eq!(reported, Err(NoJumpReason::CannotRead.at(at(0))));
    }

    #[test]
    fn bytes_that_are_no_instruction_are_refused() {
        let refused = |offset| Err(NoJumpReason::CannotDecode.at(at(offset)));
        assert_eq!(found(&[0x90, 0x06], 0, range(0, 2), PLAIN), refused(1));
        // The last instruction is not all there.
        assert_eq!(found(&[0x90, 0xe8, 0], 0, range(0, 3), PLAIN), refused(1));
    }

    #[test]
    fn forced_emulation_prefix_is_not_taken_for_a_branch() {
        // As instructions, the letters would be js +0x65.
        let text = [0x0f, 0x0b, b'x', b'e', b'n', 0x0f, 0xa2, 0xeb, 0xfe];
        let targets = found(&text, 0, range(0, 200), PLAIN);
        assert_eq!(targets, Ok([Some((7, 7)), None, None, None]));
    }

    #[test]
    fn pieces_longer_than_what_is_read_at_once_are_read_to_the_end() {
        // Instructions of three bytes, which do not fill a window.
        let mut text = [0x90; 3 * AHEAD + 2];
        for insn in text.chunks_exact_mut(3) {
            insn.copy_from_slice(&[0x48, 0x89, 0xe5]);
        }
        let last = text.len() as u64 - 2;
        if let Some(jump) = text.last_chunk_mut() {
            *jump = [0xeb, 0xfe];
        }
        let targets = found(&text, 0, range(0, last + 2), PLAIN);
        assert_eq!(targets, Ok([Some((last, last)), None, None, None]));
    }

    #[test]
    fn branches_are_searched_by_their_target() {
        let branch = |to, from| Branch {
            to: at(to),
            from: at(from),
        };
        let list = [branch(3, 2), branch(3, 8), branch(9, 1), branch(30, 4)];
        assert!(list.is_sorted());
        let leading = |from, to| {
            let branch = leading_to(&list, range(from, to));
            branch.map(|at| at.get() - START)
        };
        assert_eq!(leading(0, 3), None);
        assert_eq!(leading(0, 4), Some(2));
        assert_eq!(leading(3, 4), Some(2));
        assert_eq!(leading(4, 9), None);
        assert_eq!(leading(4, 10), Some(1));
        assert_eq!(leading(10, 30), None);
        assert_eq!(leading(10, 31), Some(4));
        assert_eq!(leading(31, 99), None);
        assert_eq!(leading_to(&[], range(0, 99)), None);
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_indirect))]
mod indirect_tests {
    use super::{
        super::{
            decode::decode,
            test_function::{
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

    /// Returns the length of the region of a probe at `offset`, or the reason for no jump.
    fn len(pretend: &Pretend<'_>, offset: u64) -> Result<usize, NoJump> {
        let region = pretend.region(offset)?;
        Ok(region.bytes().len())
    }

    // The code that GCC 12 generates for this with retpolines; its labels are at 0x30 and 0x39:
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
        pretend.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 0x37), Ok(9));
        pretend.indirect = retpolines();
        for offset in [0x00, 0x08, 0x30, 0x37, 0x48] {
            let refused = Err(NoJumpReason::IndirectJump.at(at(0x25)));
            assert_eq!(len(&pretend, offset), refused);
        }
        // As it is when the kernel begins on a CPU that needs no retpolines: jmp *%rax; nop
        let mut patched = LOCAL;
        patched[0x25..0x2a].copy_from_slice(&[0xff, 0xe0, 0x90, 0x90, 0x90]);
        let mut pretend = Pretend::of(&patched);
        pretend.indirect = retpolines();
        let refused = Err(NoJumpReason::IndirectJump.at(at(0x25)));
        assert_eq!(len(&pretend, 0x37), refused);
        // A direct jump, to an address that is no thunk.
        patched[0x25..0x2a].copy_from_slice(&[0xe9, 0x00, 0x1f, 0x00, 0x00]);
        let mut pretend = Pretend::of(&patched);
        pretend.indirect = retpolines();
        assert_eq!(len(&pretend, 0x37), Ok(9));
        // But what was split from it does.
        pretend.cold = &[0x90, 0xff, 0xe0];
        assert_eq!(len(&pretend, 0x37), Err(NoJumpReason::SplitJump.into()));
    }

    #[test]
    fn jump_at_the_start_is_taken_for_that_of_ftrace() {
        // jmp to a BPF trampoline; xor %ecx, %ecx; mov $7, %eax; ret
        let text = [0xe9, 0, 0, 0x40, 0, 0x31, 0xc9, 0xb8, 7, 0, 0, 0, 0xc3];
        let mut pretend = Pretend::of(&text);
        pretend.indirect = retpolines();
        assert_eq!(len(&pretend, 5), Ok(7));
    }

    #[test]
    fn indirect_tail_calls_are_refused_without_ibt() {
        let mut pretend = Pretend::of(&TAIL);
        pretend.indirect = retpolines();
        assert_eq!(len(&pretend, 0), Err(NoJumpReason::IndirectJump.at(at(8))));
        pretend.indirect = Indirect::Endbr;
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
            pretend.indirect = indirect;
            // xor; mov
            assert_eq!(len(&pretend, 8), Err(NoJumpReason::LocalBranch.at(at(0))));
            // A label at the start of the region: a branch to it takes the jump.
            assert_eq!(len(&pretend, 10), Ok(5));
        }
    }

    #[test]
    fn label_taken_by_lea_in_region() {
        let mut pretend = Pretend::of(&LOADED);
        pretend.indirect = Indirect::Endbr;
        assert_eq!(len(&pretend, 15), Err(NoJumpReason::LocalBranch.at(at(0))));
        assert_eq!(len(&pretend, 0x11), Ok(5));
        // Where it is taken nothing leads.
        assert_eq!(len(&pretend, 0), Ok(7));
        // Of another function, as all functions take addresses of others.
        let mut elsewhere = LOADED;
        elsewhere[5] = 0x10;
        let mut pretend = Pretend::of(&elsewhere);
        pretend.indirect = Indirect::Endbr;
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
    fn numbers_and_memory_operands_take_no_label_address() {
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
    fn branches_take_no_label_address() {
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
            decode(bytes).is_ok_and(|insn| kind.leads_anywhere(&insn, START, at(1)))
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
