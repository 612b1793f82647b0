// SPDX-License-Identifier: GPL-2.0

//! What the table stands on: words that others read, arrays of them, and their end.
//!
//! The table's algorithm decides which word means what; an implementer of [`Memory`] makes the
//! words, and has all that is atomic, all pointers and all of RCU. In the kernel a word is a
//! pointer to an entry: to a static one for [`NOWHERE`] if it is empty, to another if it was left.
//!
//! What each method orders is part of its contract. All of it is what RCU gives anyway: a release
//! where a pointer is published, and loads through a pointer after the load of the pointer. No
//! read-modify-write is needed, since there is one writer, and no barrier on the reader's side.
//!
//! The implementer in turn may rely on what [`Writer`](super::writer::Writer) does: between
//! [`allocate`](Memory::allocate) and [`publish`](Memory::publish) it carries every live word of
//! the current array exactly once.

use super::place::HASH_BITS;
use crate::model::{
    addr::TextAddr,
    refusal::Refusal, //
};

/// An address at which nothing can be: no entry in a table is for it, and no lookup finds one.
pub(crate) const NOWHERE: TextAddr = TextAddr::new(u64::MAX);

/// What a word of an array says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot<T> {
    /// Nothing, and no entry is behind it on the way from its first word.
    Empty,
    /// Nothing any more, but there may be entries behind it.
    Left,
    /// Here is an entry.
    Live(T),
}

/// The words of an array, as a lookup walks them.
pub(crate) trait View<'a, W: 'a>: Copy {
    /// The first word on the way of an address with that hash, and its number.
    fn home(self, hash: u64) -> Option<(usize, &'a W)>;

    /// The word after number `index`, and its number; after the last comes the first.
    fn after(self, index: usize) -> Option<(usize, &'a W)>;
}

/// A slice will do, of a power of two of words; an implementer of [`Memory`] may know a shorter
/// way.
impl<'a, W: 'a> View<'a, W> for &'a [W] {
    fn home(self, hash: u64) -> Option<(usize, &'a W)> {
        let bits = self.len().trailing_zeros();
        let index = hash.checked_shr(HASH_BITS.wrapping_sub(bits)).unwrap_or(0) as usize;
        self.get(index).map(|word| (index, word))
    }

    fn after(self, index: usize) -> Option<(usize, &'a W)> {
        let index = index.wrapping_add(1) & self.len().wrapping_sub(1);
        self.get(index).map(|word| (index, word))
    }
}

/// Arrays of words, each of which one CPU writes while any number read.
pub(crate) trait Memory {
    /// The length of the smallest array; a power of two.
    const SMALLEST: usize;

    /// Evidence of a read-side section: what is published or in a word while it lasts is not freed
    /// before it ends.
    type Reading;
    /// The right to write; there is one.
    type Key;
    /// One of the words that readers and the writer share.
    type Word;
    /// An array as a lookup walks it.
    type View<'a>: View<'a, Self::Word>
    where
        Self: 'a;
    /// An entry as one sees it during a section, or as long as the right to write is not used.
    type Entry<'a>: Copy
    where
        Self: 'a;
    /// An entry as its owner has it, before it is in the table and after.
    ///
    /// When it is dropped after it was in the table, readers may still see it: dropping it must
    /// free it no sooner than a grace period later.
    type Owned;
    /// An array that no one else sees yet. When it is dropped, its entries stay.
    type Array;

    /// The array that is published; empty before any was.
    ///
    /// What was stored before the array was published must be seen in it. A load that is ordered
    /// before those through the pointer it gives will do (`rcu_dereference()`).
    fn current<'a>(&'a self, reading: &'a Self::Reading) -> Self::View<'a>;

    /// The same for the writer. It needs no order, as only the writer publishes.
    fn held<'a>(&'a self, key: &'a Self::Key) -> &'a [Self::Word];

    /// What a lookup must know of a word: its entry, if it has one. If it is empty or was left by
    /// one, some entry for [`NOWHERE`], so that lookups need not ask before they compare.
    ///
    /// What was stored in the entry before it was put in the word must be seen in the entry. A load
    /// that is ordered before those through the pointer it gives will do (`rcu_dereference()`); it
    /// must be a single one. Between words no order is needed.
    fn look<'a>(&'a self, word: &'a Self::Word) -> Self::Entry<'a>;

    /// Is it what [`look`](Memory::look) gives for an empty word?
    fn is_nothing(&self, entry: Self::Entry<'_>) -> bool;

    /// What a word says, for the writer: it needs no order.
    fn read<'a>(&'a self, word: &'a Self::Word) -> Slot<Self::Entry<'a>>;

    /// The address that an entry is for. It never changes.
    fn address(&self, entry: Self::Entry<'_>) -> TextAddr;

    /// Looks at an entry that is not in the table.
    fn entry<'a>(&'a self, owned: &'a Self::Owned) -> Self::Entry<'a>;

    /// A new array of `len` words, a power of two, all of them empty. May sleep.
    fn allocate(&self, len: usize) -> Result<Self::Array, Refusal>;

    /// The words of a new array.
    fn words<'a>(&'a self, array: &'a Self::Array) -> &'a [Self::Word];

    /// Puts what word number `from` of the current array says into word number `to` of a new one.
    /// It needs no order, as publishing the array has it.
    fn carry(&self, key: &Self::Key, from: usize, array: &mut Self::Array, to: usize);

    /// Makes a new array the current one; frees the one before after a grace period that begins no
    /// sooner than that (`rcu_assign_pointer()`, then `kvfree_rcu()`). Must not fail.
    ///
    /// All that this CPU has stored before is seen by who sees the array: a release store.
    fn publish(&self, key: &mut Self::Key, array: Self::Array);

    /// Puts `slot` into word number `index` of the current array; gives what was there.
    ///
    /// One store, of the whole word. All that this CPU has stored before is seen by who sees the
    /// new word: a release store. What was there needs no order.
    fn swap(&self, key: &mut Self::Key, index: usize, slot: Slot<Self::Owned>)
        -> Slot<Self::Owned>;
}
