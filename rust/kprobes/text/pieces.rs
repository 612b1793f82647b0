// SPDX-License-Identifier: GPL-2.0

//! The pieces that symbols cut text into.

use crate::prelude::*;

/// Where a symbol is, and the group of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Symbol {
    pub(crate) at: TextAddr,
    pub(crate) group: SplitGroup,
}

/// Symbols, which are in order, by their addresses.
pub(crate) fn by_address(symbols: &[Symbol]) -> impl Iterator<Item = &[Symbol]> {
    symbols.chunk_by(|one, next| one.at == next.at)
}

/// From one symbol to the next: each piece of text, and the symbols at its start.
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
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_text_pieces))]
mod tests {
    use super::*;

    fn at(offset: u64) -> TextAddr {
        TextAddr::new(0xffff_ffff_8100_0000 + offset)
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
