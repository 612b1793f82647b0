// SPDX-License-Identifier: GPL-2.0

//! Addresses that something leads to, ordered, four bytes each.
//!
//! A [`Landing`] packs the distance from an origin and what it is that leads there, so that
//! ordering the numbers orders the addresses, and finding those in a stretch of text takes a binary
//! search.

use super::addr::{
    TextAddr,
    TextRange, //
};

/// An address less than a GiB behind the origin, and what leads there.
pub(crate) type Landing = u32;

/// What leads to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A branch of another function.
    Branch = 0,
    /// A jump label.
    Label = 1,
    /// An exception, after it has been fixed up.
    Fixup = 2,
}

const KIND_BITS: u32 = 2;
const KIND_MASK: u32 = (1 << KIND_BITS) - 1;

/// That something of this kind leads to `to`; `None` where that cannot be said.
pub(crate) fn landing(origin: TextAddr, to: TextAddr, kind: Kind) -> Option<Landing> {
    let offset = to.get().checked_sub(origin.get())?;
    let offset = u32::try_from(offset).ok()?;
    (offset <= u32::MAX >> KIND_BITS).then_some(offset << KIND_BITS | kind as u32)
}

/// Is it of this kind?
pub(crate) fn is(landing: Landing, kind: Kind) -> bool {
    landing & KIND_MASK == kind as u32
}

/// The first address in these bytes that something of this kind leads to, by a list in order.
pub(crate) fn within(
    landings: &[Landing],
    origin: TextAddr,
    bytes: TextRange,
    kind: Kind,
) -> Option<TextAddr> {
    let first = landing(origin, bytes.start(), Kind::Branch)?;
    let before = landings.partition_point(|&one| one < first);
    let rest = landings.get(before..).unwrap_or_default();
    let to = |one: Landing| origin.after(u64::from(one >> KIND_BITS)).ok();
    let inside = rest
        .iter()
        .map_while(|&one| Some((one, to(one).filter(|&to| bytes.contains(to))?)));
    let mut of_kind = inside.filter(|&(one, _)| is(one, kind));
    of_kind.next().map(|(_, to)| to)
}

/// The pieces that addresses cut text into. They are in order, whatever leads there.
pub(crate) fn pieces(
    of: TextRange,
    starts: impl Iterator<Item = Landing>,
) -> impl Iterator<Item = TextRange> {
    let at = move |one: Landing| of.start().after(u64::from(one >> KIND_BITS)).ok();
    let ends = starts.filter_map(at).chain([of.end()]);
    let mut start = of.start();
    ends.filter_map(move |end| {
        let from = core::mem::replace(&mut start, end);
        (from < end).then(|| TextRange::new(from, end))
    })
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_landing))]
mod tests {
    use super::*;

    const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    fn at(offset: u64) -> TextAddr {
        TextAddr::new(ORIGIN.get().wrapping_add(offset))
    }

    #[test]
    fn what_leads_to_a_stretch_is_found_by_its_kind() {
        let all = [
            (16, Kind::Fixup),
            (20, Kind::Label),
            (64, Kind::Branch),
            (64, Kind::Label),
        ];
        let list = all.map(|(to, kind)| landing(ORIGIN, at(to), kind).unwrap_or_default());
        let found = |from, to, kind| {
            let found = within(&list, ORIGIN, TextRange::new(at(from), at(to)), kind);
            found.map(|to| to.get().wrapping_sub(ORIGIN.get()))
        };
        assert_eq!(found(0, 99, Kind::Label), Some(20));
        assert_eq!(found(0, 20, Kind::Label), None);
        assert_eq!(found(20, 21, Kind::Label), Some(20));
        assert_eq!(found(21, 64, Kind::Label), None);
        assert_eq!(found(21, 65, Kind::Label), Some(64));
        assert_eq!(found(64, 65, Kind::Branch), Some(64));
        assert_eq!(found(16, 17, Kind::Fixup), Some(16));
        assert_eq!(found(17, 99, Kind::Fixup), None);
        assert_eq!(found(65, 99, Kind::Branch), None);
    }

    #[test]
    fn pieces_reach_from_one_start_to_the_next() {
        let cut = |starts: &[u64], expected: &[(u64, u64)]| {
            let mut list = [0; 4];
            for (place, &start) in list.iter_mut().zip(starts) {
                *place = landing(ORIGIN, at(start), Kind::Branch).unwrap_or_default();
            }
            let starts = list.get(..starts.len()).unwrap_or_default();
            let range = |&(from, to): &(u64, u64)| TextRange::new(at(from), at(to));
            pieces(range(&(0, 64)), starts.iter().copied()).eq(expected.iter().map(range))
        };
        assert!(cut(&[0, 16, 32], &[(0, 16), (16, 32), (32, 64)]));
        // What is before the first one is a piece, and so is all if there is none.
        assert!(cut(&[16], &[(0, 16), (16, 64)]));
        assert!(cut(&[], &[(0, 64)]));
        // Two names for one place.
        assert!(cut(&[0, 16, 16, 48], &[(0, 16), (16, 48), (48, 64)]));
    }

    #[test]
    fn what_is_too_far_is_no_landing() {
        assert!(landing(ORIGIN, at((1 << 30) - 1), Kind::Fixup).is_some());
        assert!(landing(ORIGIN, at(1 << 30), Kind::Fixup).is_none());
        assert!(landing(ORIGIN, TextAddr::new(16), Kind::Fixup).is_none());
    }
}
