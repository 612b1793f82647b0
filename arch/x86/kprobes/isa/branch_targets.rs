// SPDX-License-Identifier: GPL-2.0

//! Where branches lead into a function.
//!
//! A jump in the place of a breakpoint is over bytes that a branch may lead to. So every branch has
//! to be known that leads anywhere into the function but to its start. Most are in the function
//! itself. Others are in what the compiler split from it (`f.cold`, `f.part.0`), which comes back
//! to where it left, or behind a label in assembler code that counts as a function of its own.
//!
//! [`into`] decodes the function and tells of them; who collects them puts them in order with
//! [`BranchTargets::in_order`], once for all probes in the function, and each probe costs a binary
//! search then. What leads into other functions takes a look at all text. It is little, so that is
//! done once and what was found is kept, for [`TextMetadata::branch_target`].
//!
//! It assumes that the text is read as it was compiled, as [`boundary`] does. Jump labels that are
//! NOPs now, and where exceptions are fixed up, stand in tables of the kernel and not in the bytes:
//! [`TextMetadata`] tells of these.
//!
//! An indirect jump tells nothing about where it leads; how the kernel is built does
//! ([`Indirect`]). Where it may lead anywhere in its function, or to what was split from it, a
//! function with one has no jumps, and neither has anything of its [`SplitGroup`].
//!
//! C counterpart: `can_optimize()` in
//! [`arch/x86/kernel/kprobes/opt.c`](srctree/arch/x86/kernel/kprobes/opt.c), which decodes the
//! function anew for each probe, and no other piece of it.

use super::{
    boundary,
    decode::decode,
    flow::Flow,
    indirect::{
        self,
        Indirect, //
    },
    insn::Insn, //
};
use crate::{
    contract::ReadText,
    model::text_metadata::TextMetadata,
    prelude::*, //
};

/// How the kernel is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// What indirect jumps are in it.
    pub(crate) indirect: Indirect,
    /// With checks of the targets of indirect calls.
    pub(crate) checks_calls: bool,
}

/// A branch that leads into a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Branch {
    /// Where it leads.
    to: TextAddr,
    /// Where it is.
    from: TextAddr,
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
impl Branch {
    /// What to fill a list with.
    pub(crate) const NONE: Self = Self {
        to: TextAddr::new(0),
        from: TextAddr::new(0),
    };

    /// Where it leads, for judges on the host.
    #[cfg(test)]
    pub(crate) fn to(&self) -> TextAddr {
        self.to
    }
}

/// Tells `found` of each branch of a function that leads into it, behind its start.
///
/// Says no if an indirect jump may lead there, one of its own or of its group, and while a
/// debugger has a breakpoint there: nobody can tell over what.
pub(crate) fn into(
    function: TextRange,
    group: SplitGroup,
    build: Build,
    metadata: &impl TextMetadata,
    read: ReadText<'_>,
    found: &mut dyn FnMut(Branch) -> Result<(), NotOptimized>,
) -> Result<(), NotOptimized> {
    each_insn(function, read, &mut |from, insn, bytes| {
        if insn.flow() == Flow::Breakpoint && is_debuggers(from, metadata) {
            return Err(NotOptimized::from(Reason::OfDebugger));
        }
        tell((insn, bytes), from, function, build, found)
    })?;
    led(metadata.jumps_in(group), build)
}

/// Says no if an indirect jump of another function of the group may lead anywhere in this one;
/// `others` tells whether there is one.
pub(crate) fn led(others: bool, build: Build) -> Result<(), NotOptimized> {
    match build.indirect {
        Indirect::Anywhere(_) if others => Err(NotOptimized::from(Reason::SplitJump)),
        Indirect::Anywhere(_) | Indirect::Marked => Ok(()),
    }
}

/// Tells `found` of each branch in `piece` that leads into `function`, behind its start.
///
/// `piece` is the function itself, or another one. What is refused is refused for all of the
/// function.
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
pub(crate) fn each(
    piece: TextRange,
    function: TextRange,
    build: Build,
    read: ReadText<'_>,
    found: &mut dyn FnMut(Branch) -> Result<(), NotOptimized>,
) -> Result<(), NotOptimized> {
    each_insn(piece, read, &mut |from, insn, bytes| {
        tell((insn, bytes), from, function, build, found)
    })
}

/// Tells `found` of the branch that an instruction is, if it leads into `function`. If it takes an
/// address of the function that it is in, somebody may go on there, by IRET or RET for instance, so
/// it counts as a branch.
fn tell(
    (insn, bytes): (&Insn, &[u8]),
    from: TextAddr,
    function: TextRange,
    build: Build,
    found: &mut dyn FnMut(Branch) -> Result<(), NotOptimized>,
) -> Result<(), NotOptimized> {
    if build.indirect.leads_anywhere(insn, from) {
        return Err(Reason::IndirectJump.at(from));
    }
    let taken = || indirect::taken(insn, bytes, from).filter(|_| function.contains(from));
    match insn.target(from).or_else(taken) {
        Some(to) if function.contains(to) && to != function.start() => found(Branch { to, from }),
        _ => Ok(()),
    }
}

fn is_debuggers(at: TextAddr, metadata: &impl TextMetadata) -> bool {
    let byte = TextRange::with_len(at, 1);
    byte.is_ok_and(|byte| metadata.owner(byte) == Some(Reason::OfDebugger))
}

/// Tells `found` where each branch in `piece` leads that leads out of it. If there is anything in
/// it that cannot be decoded, an instruction may start at each of its bytes. Returns whether it has
/// an indirect jump that may lead anywhere in its group.
pub(crate) fn leaving(
    piece: TextRange,
    build: Build,
    read: ReadText<'_>,
    found: &mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>,
) -> Result<bool, NotOptimized> {
    let mut jumps = false;
    let mut look = |from: TextAddr, insn: &Insn, _: &[u8]| {
        jumps |= build.indirect.leads_anywhere(insn, from);
        match insn.target(from) {
            Some(to) if !piece.contains(to) => found(to),
            _ => Ok(()),
        }
    };
    match each_insn(piece, read, &mut look) {
        Err(no) if no.reason == Reason::CannotDecode => each_byte(piece, read, &mut look),
        done => done,
    }?;
    Ok(jumps)
}

/// Is told where an instruction starts, and of the instruction and its bytes.
type Look<'a> = &'a mut dyn FnMut(TextAddr, &Insn, &[u8]) -> Result<(), NotOptimized>;

/// Shows each instruction in `piece`, the first of which starts it. What is between functions is
/// breakpoints.
fn each_insn(piece: TextRange, read: ReadText<'_>, look: Look<'_>) -> Result<(), NotOptimized> {
    let mut window = Window::EMPTY;
    let mut at = piece.start();
    while at < piece.end() {
        let bytes = window.at(at, piece.end(), read)?;
        let before = boundary::request(bytes);
        let no = |_| Reason::CannotDecode.at(at);
        let bytes = bytes.get(before..).unwrap_or_default();
        let insn = decode(bytes).map_err(no)?;
        let from = at.after(before as u64).map_err(no)?;
        look(from, &insn, bytes)?;
        at = from.after(insn.len() as u64).map_err(no)?;
    }
    Ok(())
}

/// Shows each instruction that there may be in `piece`, wherever it may start.
fn each_byte(piece: TextRange, read: ReadText<'_>, look: Look<'_>) -> Result<(), NotOptimized> {
    let mut window = Window::EMPTY;
    let mut at = piece.start();
    while at < piece.end() {
        let bytes = window.at(at, piece.end(), read)?;
        if let Ok(insn) = decode(bytes) {
            look(at, &insn, bytes)?;
        }
        at = at.after(1).map_err(|_| Reason::CannotDecode.at(at))?;
    }
    Ok(())
}

/// The branches that lead into a function, in the order of where they lead.
#[derive(Clone, Copy)]
pub(crate) struct BranchTargets<'a>(&'a [Branch]);

impl<'a> BranchTargets<'a> {
    /// The branches that [`into`] has found, in the order of their targets.
    pub(crate) fn in_order(found: &'a [Branch]) -> Self {
        Self(found)
    }

    /// Where a branch is that leads to one of these bytes, if there is one.
    pub(super) fn leading_to(&self, bytes: TextRange) -> Option<TextAddr> {
        let before = self.0.partition_point(|branch| branch.to < bytes.start());
        let branch = self.0.get(before)?;
        bytes.contains(branch.to).then_some(branch.from)
    }
}

/// How many bytes are read at once.
const AHEAD: usize = 128;

/// Text that has been read.
struct Window {
    bytes: [u8; AHEAD],
    start: TextAddr,
    len: usize,
}

impl Window {
    const EMPTY: Self = Self {
        bytes: [0; AHEAD],
        start: TextAddr::new(0),
        len: 0,
    };

    /// The bytes from `at` on, up to `end` or at least as many as an instruction can have.
    fn at(
        &mut self,
        at: TextAddr,
        end: TextAddr,
        read: ReadText<'_>,
    ) -> Result<&[u8], NotOptimized> {
        let wanted = distance(at, end).min(boundary::WINDOW);
        if distance(self.start, at).saturating_add(wanted) > self.len {
            self.fill(at, end, read).ok_or(Reason::CannotRead.at(at))?;
        }
        let from = distance(self.start, at);
        Ok(self.bytes.get(from..self.len).unwrap_or_default())
    }

    fn fill(&mut self, at: TextAddr, end: TextAddr, read: ReadText<'_>) -> Option<()> {
        self.len = 0;
        let most = distance(at, end).min(AHEAD);
        read(at, self.bytes.get_mut(..most)?)?;
        self.start = at;
        self.len = most;
        Some(())
    }
}

/// From one address up to another that is not before it.
fn distance(from: TextAddr, to: TextAddr) -> usize {
    to.get().saturating_sub(from.get()) as usize
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_x86_branches))]
mod tests {
    use super::*;

    const START: u64 = 0xffff_ffff_8100_0000;
    const PLAIN: Build = Build {
        indirect: Indirect::Anywhere(None),
        checks_calls: false,
    };
    const MARKED: Build = Build {
        indirect: Indirect::Marked,
        checks_calls: false,
    };

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
        build: Build,
    ) -> Result<[Option<(u64, u64)>; 4], NotOptimized> {
        let mut read = |at: TextAddr, into: &mut [u8]| {
            let start = at.get().checked_sub(START + from)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let mut targets = [None; 4];
        let mut count = 0;
        let piece = range(from, from + text.len() as u64);
        each(piece, to, build, &mut read, &mut |branch| {
            let place = targets.get_mut(count).ok_or(Reason::NoMemory)?;
            *place = Some((branch.to.get() - START, branch.from.get() - START));
            count += 1;
            Ok(())
        })?;
        Ok(targets)
    }

    #[test]
    fn branches_of_all_kinds_are_ways() {
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
    fn branches_elsewhere_and_to_the_start_are_none() {
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
            let refused = Err(Reason::IndirectJump.at(at(1)));
            assert_eq!(found(text, 0, range(0, 8), PLAIN), refused);
            assert_eq!(found(text, 0, range(0, 8), MARKED), Ok([None; 4]));
        }
        // A call comes back to behind itself.
        let call = found(&[0xff, 0xd0], 0, range(0, 8), PLAIN);
        assert_eq!(call, Ok([None; 4]));
    }

    #[test]
    fn branches_out_of_a_piece_are_told_of() {
        // jmp +1; nop; call -2; jmp *%rax; je +16; jmp -16
        let text = [
            0xeb, 0x01, 0x90, 0xe8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xe0, 0x74, 0x10, 0xeb, 0xf0,
        ];
        let mut read = |from: TextAddr, into: &mut [u8]| {
            let start = from.get().checked_sub(START)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let (mut told, mut count) = ([0; 3], 0);
        let done = leaving(range(0, 14), PLAIN, &mut read, &mut |to| {
            told[count] = to.get().wrapping_sub(START);
            count += 1;
            Ok(())
        });
        assert_eq!(done, Ok(true));
        assert_eq!(told, [28, 0u64.wrapping_sub(2), 0]);
        assert_eq!(count, 2);
    }

    /// Where a piece of text leads that starts at [`START`], as offsets.
    fn left(text: &[u8]) -> Result<[Option<u64>; 4], NotOptimized> {
        let mut read = |from: TextAddr, into: &mut [u8]| {
            let start = from.get().checked_sub(START)? as usize;
            into.copy_from_slice(text.get(start..start + into.len())?);
            Some(())
        };
        let (mut told, mut count) = ([None; 4], 0);
        leaving(range(0, text.len() as u64), PLAIN, &mut read, &mut |to| {
            let place = told.get_mut(count).ok_or(Reason::NoMemory)?;
            *place = Some(to.get().wrapping_sub(START));
            count += 1;
            Ok(())
        })?;
        Ok(told)
    }

    #[test]
    fn what_cannot_be_decoded_may_lead_where_any_of_its_bytes_do() {
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
    fn indirect_jumps_are_told_of_where_there_are_jump_tables() {
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
            let mut jumps = |build| leaving(piece, build, &mut read, &mut |_| Ok(()));
            assert_eq!(jumps(PLAIN), Ok(expected));
            assert_eq!(jumps(MARKED), Ok(false));
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let mut none = |_: TextAddr, _: &mut [u8]| None;
        let told = leaving(range(0, 4), PLAIN, &mut none, &mut |_| Ok(()));
        assert_eq!(told, Err(Reason::CannotRead.at(at(0))));
    }

    #[test]
    fn bytes_that_are_no_instruction_are_refused() {
        let refused = |offset| Err(Reason::CannotDecode.at(at(offset)));
        assert_eq!(found(&[0x90, 0x06], 0, range(0, 2), PLAIN), refused(1));
        // The last instruction is not all there.
        assert_eq!(found(&[0x90, 0xe8, 0], 0, range(0, 3), PLAIN), refused(1));
    }

    #[test]
    fn requests_to_emulate_are_no_branches() {
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
    fn a_way_is_found_by_where_it_leads() {
        let branch = |to, from| Branch {
            to: at(to),
            from: at(from),
        };
        let list = [branch(3, 2), branch(3, 8), branch(9, 1), branch(30, 4)];
        assert!(list.is_sorted());
        let targets = BranchTargets::in_order(&list);
        let leading = |from, to| {
            targets
                .leading_to(range(from, to))
                .map(|at| at.get() - START)
        };
        assert_eq!(leading(0, 3), None);
        assert_eq!(leading(0, 4), Some(2));
        assert_eq!(leading(3, 4), Some(2));
        assert_eq!(leading(4, 9), None);
        assert_eq!(leading(4, 10), Some(1));
        assert_eq!(leading(10, 30), None);
        assert_eq!(leading(10, 31), Some(4));
        assert_eq!(leading(31, 99), None);
        assert_eq!(BranchTargets::in_order(&[]).leading_to(range(0, 99)), None);
    }
}
