// SPDX-License-Identifier: GPL-2.0

//! Short stretches of text, ordered by address, four bytes each.
//!
//! A [`Span`] packs the distance from an origin and the length in bytes into one number, so that
//! ordering the numbers orders the stretches, and finding the one that an address is in takes a
//! binary search.

use super::addr::TextAddr;

/// A stretch of up to seven bytes, less than 512 MiB after the origin. One of no bytes says that
/// something starts there.
pub(crate) type Span = u32;

/// Bits of a span that are its length.
const LEN_BITS: u32 = 3;
const MAX_LEN: u64 = (1 << LEN_BITS) - 1;

/// How far behind the origin a stretch may start.
pub(crate) const REACH: u64 = 1 << (Span::BITS - LEN_BITS);

/// The `len` bytes at `at`; `None` where that cannot be said.
pub(crate) fn span(origin: TextAddr, at: TextAddr, len: u64) -> Option<Span> {
    let offset = at.get().checked_sub(origin.get())?;
    let offset = u32::try_from(offset).ok()?;
    let len = u32::try_from(len)
        .ok()
        .filter(|&len| u64::from(len) <= MAX_LEN)?;
    (offset <= u32::MAX >> LEN_BITS).then_some(offset << LEN_BITS | len)
}

/// How long the span is that an address is in, by spans that are in order.
pub(crate) fn len_at(spans: &[Span], origin: TextAddr, at: TextAddr) -> Option<u64> {
    let limit = span(origin, at, MAX_LEN)?;
    let before = spans.partition_point(|&span| span <= limit);
    // As for `ask`.
    let &last = before.checked_sub(1).and_then(|last| spans.get(last))?;
    let len = last & MAX_LEN as u32;
    ((limit >> LEN_BITS) - (last >> LEN_BITS) < len).then_some(len.into())
}

/// What spans say of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is in one of them.
    Covered,
    /// It is not; the last one before it starts here, if there is one.
    After(Option<TextAddr>),
}

/// What the spans, which are in order, say of an address.
pub(crate) fn ask(spans: &[Span], origin: TextAddr, at: TextAddr) -> Said {
    // All that begin at or before the address come before this one.
    let Some(limit) = span(origin, at, MAX_LEN) else {
        return Said::After(None);
    };
    let before = spans.partition_point(|&span| span <= limit);
    // A stretch is shorter than eight bytes, and no two of them overlap.
    let last = before.checked_sub(1).and_then(|last| spans.get(last));
    let Some(&last) = last else {
        return Said::After(None);
    };
    if (limit >> LEN_BITS) - (last >> LEN_BITS) < last & MAX_LEN as u32 {
        return Said::Covered;
    }
    Said::After(origin.after(u64::from(last >> LEN_BITS)).ok())
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_span_index))]
mod tests {
    use super::*;

    const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn at(offset: u64) -> TextAddr {
        TextAddr::new(ORIGIN.get().wrapping_add(offset))
    }

    /// Spans at these offsets, of these lengths, in order.
    fn spans<const N: usize>(of: [(u64, u64); N]) -> [Span; N] {
        let spans = of.map(|(offset, len)| span(ORIGIN, at(offset), len).unwrap_or_default());
        assert!(spans.is_sorted());
        spans
    }

    #[test]
    fn an_address_is_in_a_span_or_not() {
        let spans = spans([(16, 5), (21, 1), (64, 0), (64, 2)]);
        let inside = |offset| ask(&spans, ORIGIN, at(offset)) == Said::Covered;
        for offset in [16, 17, 20, 21, 64, 65] {
            assert!(inside(offset));
        }
        for offset in [0, 15, 22, 63, 66, 1 << 28, 1 << 40] {
            assert!(!inside(offset));
        }
        assert_eq!(ask(&[], ORIGIN, at(16)), Said::After(None));
    }

    #[test]
    fn the_length_tells_whose_a_span_is() {
        let spans = spans([(16, 5), (21, 1), (64, 2)]);
        let len = |offset| len_at(&spans, ORIGIN, at(offset));
        assert_eq!(
            [15, 16, 20, 21, 22].map(len),
            [None, Some(5), Some(5), Some(1), None]
        );
        assert_eq!([63, 65, 66, 1 << 40].map(len), [None, Some(2), None, None]);
    }

    #[test]
    fn the_last_start_before_an_address_is_told() {
        let spans = spans([(16, 5), (32, 0), (40, 1)]);
        let last = |offset| ask(&spans, ORIGIN, at(offset));
        for (offset, start) in [
            (21, 16),
            (31, 16),
            (32, 32),
            (39, 32),
            (41, 40),
            (1 << 28, 40),
        ] {
            assert_eq!(last(offset), Said::After(Some(at(start))));
        }
        assert_eq!(last(15), Said::After(None));
        // Where a span cannot say.
        assert_eq!(last(1 << 40), Said::After(None));
        assert_eq!(ask(&spans, ORIGIN, TextAddr::new(16)), Said::After(None));
    }

    #[test]
    fn what_is_too_far_or_too_long_is_no_span() {
        assert!(span(ORIGIN, at((1 << 29) - 1), 7).is_some());
        assert!(span(ORIGIN, at(1 << 29), 7).is_none());
        assert!(span(ORIGIN, at(0), 8).is_none());
        assert!(span(ORIGIN, TextAddr::new(16), 1).is_none());
    }
}
