// SPDX-License-Identifier: GPL-2.0

//! The table as everybody sees it: finding the entry for an address.
//!
//! On the hit path: a few loads in a row, no lock, no call, no way to panic; on x86 eight
//! instructions for each word on the way. Any number of CPUs may be in it while one writes, the
//! writer itself included, which a breakpoint may interrupt.

use super::{
    memory::{
        self,
        Memory,
        View, //
    },
    place, //
};
use crate::model::addr::TextAddr;

/// A table of entries by address.
pub(crate) struct Table<M: Memory> {
    memory: M,
}

impl<M: Memory> Table<M> {
    /// An empty table.
    pub(crate) const fn new(memory: M) -> Self {
        Self { memory }
    }

    /// What the table stands on.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// The entry for an address.
    ///
    /// Finds every entry whose insertion happened before this call, and whose removal did not
    /// happen before its return.
    #[inline]
    pub(crate) fn find<'a>(
        &'a self,
        at: TextAddr,
        reading: &'a M::Reading,
    ) -> Option<M::Entry<'a>> {
        if at == memory::NOWHERE {
            return None;
        }
        let words = self.memory.current(reading);
        seek_somewhere(&self.memory, words, at).map(|(_, entry)| entry)
    }

    /// All entries, in no order; without those that come or go meanwhile, or with them.
    pub(crate) fn each<'a>(
        &'a self,
        reading: &'a M::Reading,
    ) -> impl Iterator<Item = M::Entry<'a>> {
        let words = self.memory.current(reading);
        let after = move |&(index, _): &(usize, _)| {
            let next = words.after(index);
            next.filter(|&(index, _)| index != 0)
        };
        // The least hash is that of the first word.
        core::iter::successors(words.home(0), after)
            .map(|(_, word)| self.memory.look(word))
            .filter(|&entry| self.memory.address(entry) != memory::NOWHERE)
    }
}

/// The entry for an address in an array, and the number of its word.
#[inline(always)]
pub(super) fn seek<'a, M: Memory>(
    memory: &'a M,
    words: impl View<'a, M::Word>,
    at: TextAddr,
) -> Option<(usize, M::Entry<'a>)> {
    if at == memory::NOWHERE {
        return None;
    }
    seek_somewhere(memory, words, at)
}

/// The same, for an address that is not [`NOWHERE`](memory::NOWHERE).
#[inline(always)]
fn seek_somewhere<'a, M: Memory>(
    memory: &'a M,
    words: impl View<'a, M::Word>,
    at: TextAddr,
) -> Option<(usize, M::Entry<'a>)> {
    let (index, word) = words.home(place::hash(at))?;
    let entry = memory.look(word);
    if memory.address(entry) == at {
        return Some((index, entry));
    }
    seek_behind(memory, words, at, index, entry)
}

/// The same, in the words behind number `index`, in which `entry` is; out of the way of what mostly
/// needs one word.
#[inline(never)]
fn seek_behind<'a, M: Memory>(
    memory: &'a M,
    words: impl View<'a, M::Word>,
    at: TextAddr,
    mut index: usize,
    mut entry: M::Entry<'a>,
) -> Option<(usize, M::Entry<'a>)> {
    // It ends: more than half of the words are empty.
    while !memory.is_nothing(entry) {
        let word;
        (index, word) = words.after(index)?;
        entry = memory.look(word);
        if memory.address(entry) == at {
            return Some((index, entry));
        }
    }
    None
}
