// SPDX-License-Identifier: GPL-2.0

//! The sorted index of an image: what the kernel's tables and the branches say of each address.
//!
//! A binary search finds a [`TextEntry`] in a list. An entry is eight bytes long; its address is
//! an offset from the start of the image. Symbols cut the text into [`pieces`].

use crate::prelude::*;

/// The kinds of text metadata at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    /// The start of an instruction.
    Start,
    /// A jump label, enabled or not.
    JumpLabel,
    /// A call whose target changes.
    StaticCall,
    /// An instruction that BUG() or WARN() traps on.
    Bug,
    /// The target of a jump label, enabled or not.
    LabelTarget,
    /// The fixup of an exception.
    FixupTarget,
    /// The target of a branch of another function.
    BranchTarget,
}

impl EntryKind {
    /// Returns why no jump may overwrite these bytes, if other code changes or reads them.
    fn reserved_by(self) -> Option<NoJumpReason> {
        match self {
            Self::JumpLabel => Some(NoJumpReason::JumpLabel),
            Self::StaticCall => Some(NoJumpReason::StaticCall),
            Self::Bug => Some(NoJumpReason::Bug),
            _ => None,
        }
    }

    fn is_target(self) -> bool {
        self >= Self::LabelTarget
    }
}

/// An address, and the kind of text metadata there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextEntry {
    offset: u32,
    pub(super) kind: EntryKind,
    /// The number of bytes that other code changes or reads.
    len: u8,
}

/// The most bytes that an entry may describe.
const MOST: u64 = 8;

impl TextEntry {
    /// Makes an entry for the `len` bytes at `at`; `None` if an entry cannot hold these numbers.
    pub(crate) fn new(origin: TextAddr, at: TextAddr, kind: EntryKind, len: usize) -> Option<Self> {
        let offset = at.get().checked_sub(origin.get())?;
        let len = u8::try_from(len).ok();
        Some(Self {
            offset: u32::try_from(offset).ok()?,
            kind,
            len: len.filter(|&len| u64::from(len) <= MOST)?,
        })
    }

    fn start(&self) -> u64 {
        u64::from(self.offset)
    }

    fn end(&self) -> u64 {
        self.start().wrapping_add(u64::from(self.len))
    }
}

/// Entries in order, and the start of their image.
#[derive(Clone, Copy)]
pub(crate) struct Index<'a> {
    pub(crate) origin: TextAddr,
    pub(crate) entries: &'a [TextEntry],
}

impl<'a> Index<'a> {
    /// Refuses if other code changes or reads `at`. Otherwise returns the last start of an
    /// instruction that an entry has at or before `at`.
    pub(crate) fn start_unless_reserved(self, at: TextAddr) -> Result<Option<TextAddr>, Refusal> {
        let Some(offset) = at.get().checked_sub(self.origin.get()) else {
            return Ok(None);
        };
        let count = self
            .entries
            .partition_point(|entry| entry.start() <= offset);
        let before = self.entries.get(..count).unwrap_or_default().iter().rev();
        let mut before = before.filter(|entry| !entry.kind.is_target());
        let near = before.clone();
        let mut near = near.take_while(|entry| offset.wrapping_sub(entry.start()) < MOST);
        if near.any(|entry| offset < entry.end()) {
            return Err(Refusal::Reserved);
        }
        let last = before.next();
        Ok(last.and_then(|entry| self.origin.after(entry.start()).ok()))
    }

    /// Returns the first reason why other code changes or reads any of these bytes.
    pub(crate) fn reserved_by(self, within: TextRange) -> Option<NoJump> {
        let start = within.start().get().checked_sub(self.origin.get())?;
        let mut near = self.between(start.saturating_sub(MOST), within.end());
        near.find_map(|entry| {
            let reason = entry.kind.reserved_by().filter(|_| start < entry.end());
            let at = self.origin.get().wrapping_add(entry.start());
            reason.map(|reason| reason.at(TextAddr::new(at)))
        })
    }

    /// Returns the first address in this text with an entry of that kind.
    pub(crate) fn first(self, within: TextRange, kind: EntryKind) -> Option<TextAddr> {
        let start = within.start().get().checked_sub(self.origin.get())?;
        let mut inside = self.between(start, within.end());
        let found = inside.find(|entry| entry.kind == kind)?;
        self.origin.after(found.start()).ok()
    }

    fn between(self, start: u64, end: TextAddr) -> impl Iterator<Item = &'a TextEntry> {
        let end = end.get().saturating_sub(self.origin.get());
        let before = self.entries.partition_point(|entry| entry.start() < start);
        let rest = self.entries.get(before..).unwrap_or_default().iter();
        rest.take_while(move |entry| entry.start() < end)
    }
}

/// A symbol: its address, and the split-function group of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Symbol {
    pub(crate) at: TextAddr,
    pub(crate) group: SplitGroup,
}

/// Groups sorted symbols by their addresses.
pub(crate) fn by_address(symbols: &[Symbol]) -> impl Iterator<Item = &[Symbol]> {
    symbols.chunk_by(|one, next| one.at == next.at)
}

/// Cuts text at its sorted symbols. Returns each piece, and the symbols at its start.
pub(crate) fn pieces(
    text: TextRange,
    symbols: &[Symbol],
) -> impl Iterator<Item = (TextRange, &[Symbol])> {
    let (mut start, mut names) = (text.start(), &[][..]);
    let ends = by_address(symbols).chain([&[][..]]);
    let pieces = ends.map(move |next| {
        let end = next.first().map_or(text.end(), |symbol| symbol.at);
        let piece = TextRange::new(core::mem::replace(&mut start, end), end);
        (piece, core::mem::replace(&mut names, next))
    });
    pieces.filter(|(piece, _)| piece.start() < piece.end())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_text_index))]
mod tests {
    use super::*;

    const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn at(offset: u64) -> TextAddr {
        TextAddr::new(ORIGIN.get().wrapping_add(offset))
    }

    /// Entries at these offsets, in order.
    fn entries<const N: usize>(of: [(u64, EntryKind, usize); N]) -> [TextEntry; N] {
        const NONE: TextEntry = TextEntry {
            offset: 0,
            kind: EntryKind::Start,
            len: 0,
        };
        let entries = of.map(|(offset, kind, len)| {
            TextEntry::new(ORIGIN, at(offset), kind, len).unwrap_or(NONE)
        });
        assert!(entries.is_sorted());
        entries
    }

    fn index(entries: &[TextEntry]) -> Index<'_> {
        Index {
            origin: ORIGIN,
            entries,
        }
    }

    #[test]
    fn addresses_inside_entries_are_reserved() {
        let entries = entries([
            (16, EntryKind::StaticCall, 5),
            (18, EntryKind::BranchTarget, 0),
            (21, EntryKind::Bug, 1),
            (64, EntryKind::Start, 0),
            (64, EntryKind::JumpLabel, 2),
            (64, EntryKind::LabelTarget, 0),
        ]);
        let check = |offset| index(&entries).start_unless_reserved(at(offset));
        for offset in [16, 17, 20, 21, 64, 65] {
            assert_eq!(check(offset), Err(Refusal::Reserved));
        }
        for offset in [0, 15, 22, 63, 66, 1 << 28, 1 << 40] {
            assert!(check(offset).is_ok());
        }
        assert_eq!(index(&[]).start_unless_reserved(at(16)), Ok(None));
    }

    #[test]
    fn reserved_by_names_the_first_owner() {
        let entries = entries([
            (16, EntryKind::StaticCall, 5),
            (21, EntryKind::Bug, 1),
            (23, EntryKind::FixupTarget, 0),
            (64, EntryKind::JumpLabel, 2),
        ]);
        let reason = |from, to| index(&entries).reserved_by(TextRange::new(at(from), at(to)));
        let of = |offset| reason(offset, offset + 1);
        let (call, bug) = (
            NoJumpReason::StaticCall.at(at(16)),
            NoJumpReason::Bug.at(at(21)),
        );
        assert_eq!([15, 22, 23, 63, 66, 1 << 40].map(of), [None; 6]);
        assert_eq!([16, 20].map(of), [Some(call); 2]);
        assert_eq!(of(21), Some(bug));
        let label = NoJumpReason::JumpLabel.at(at(64));
        assert_eq!([64, 65].map(of), [Some(label); 2]);
        // The first one counts.
        assert_eq!(reason(20, 30), Some(call));
        assert_eq!(reason(21, 99), Some(bug));
        assert_eq!(reason(22, 64), None);
    }

    #[test]
    fn start_unless_reserved_returns_the_last_start_before() {
        let entries = entries([
            (16, EntryKind::JumpLabel, 5),
            (32, EntryKind::Start, 0),
            (40, EntryKind::Bug, 1),
            (50, EntryKind::FixupTarget, 0),
        ]);
        let last = |offset| index(&entries).start_unless_reserved(at(offset));
        for (offset, start) in [
            (21, 16),
            (31, 16),
            (32, 32),
            (39, 32),
            (41, 40),
            (60, 40),
            (1 << 28, 40),
        ] {
            assert_eq!(last(offset), Ok(Some(at(start))));
        }
        assert_eq!(last(15), Ok(None));
        let before = TextAddr::new(16);
        assert_eq!(index(&entries).start_unless_reserved(before), Ok(None));
    }

    #[test]
    fn first_finds_a_target_in_a_range_by_kind() {
        let entries = entries([
            (16, EntryKind::FixupTarget, 0),
            (20, EntryKind::LabelTarget, 0),
            (64, EntryKind::LabelTarget, 0),
            (64, EntryKind::BranchTarget, 0),
        ]);
        let found = |from, to, kind| {
            let found = index(&entries).first(TextRange::new(at(from), at(to)), kind);
            found.map(|to| to.get().wrapping_sub(ORIGIN.get()))
        };
        assert_eq!(found(0, 99, EntryKind::LabelTarget), Some(20));
        assert_eq!(found(0, 20, EntryKind::LabelTarget), None);
        assert_eq!(found(20, 21, EntryKind::LabelTarget), Some(20));
        assert_eq!(found(21, 64, EntryKind::LabelTarget), None);
        assert_eq!(found(21, 65, EntryKind::LabelTarget), Some(64));
        assert_eq!(found(64, 65, EntryKind::BranchTarget), Some(64));
        assert_eq!(found(16, 17, EntryKind::FixupTarget), Some(16));
        assert_eq!(found(17, 99, EntryKind::FixupTarget), None);
        assert_eq!(found(65, 99, EntryKind::BranchTarget), None);
    }

    #[test]
    fn entry_that_is_too_far_or_too_long_is_refused() {
        let origin = 1 << 40;
        let entry = |at, len| {
            let at = TextAddr::new(at);
            TextEntry::new(TextAddr::new(origin), at, EntryKind::JumpLabel, len)
        };
        assert!(entry(origin + u64::from(u32::MAX), 8).is_some());
        assert!(entry(origin + (1 << 32), 5).is_none());
        assert!(entry(origin, 9).is_none());
        assert!(entry(16, 1).is_none());
    }

    /// The pieces that starts cut 64 bytes into, and how many names each has.
    fn are_cut(starts: &[u64], expected: &[(u64, u64, usize)]) -> bool {
        let mut symbols = [Symbol {
            at: at(0),
            group: SplitGroup::of_test(7),
        }; 4];
        for (symbol, &start) in symbols.iter_mut().zip(starts) {
            symbol.at = at(start);
        }
        let symbols = symbols.get(..starts.len()).unwrap_or_default();
        let pieces = pieces(TextRange::new(at(0), at(64)), symbols);
        let expected = expected.iter();
        let expected = expected.map(|&(from, to, names)| (TextRange::new(at(from), at(to)), names));
        pieces
            .map(|(piece, names)| (piece, names.len()))
            .eq(expected)
    }

    #[test]
    fn pieces_reach_from_one_start_to_the_next() {
        assert!(are_cut(
            &[0, 16, 32],
            &[(0, 16, 1), (16, 32, 1), (32, 64, 1)]
        ));
        // What is before the first one is a piece, and so is all if there is none.
        assert!(are_cut(&[16], &[(0, 16, 0), (16, 64, 1)]));
        assert!(are_cut(&[], &[(0, 64, 0)]));
        // Two names for one place.
        assert!(are_cut(
            &[0, 16, 16, 48],
            &[(0, 16, 1), (16, 48, 2), (48, 64, 1)]
        ));
    }
}
