// SPDX-License-Identifier: GPL-2.0

//! Memory for tests: two arrays of a fixed size, and numbers as entries.
//!
//! It needs nothing but `core`, so it serves on the host and in the kernel. Two arrays will do
//! because its users read and write in one thread: an array that was published before the current
//! one is free.

use super::{
    lookup::Table,
    memory::{
        self,
        Memory,
        Slot, //
    },
    writer::Writer, //
};
use crate::model::{
    addr::TextAddr,
    refusal::Refusal, //
};
use core::sync::atomic::{
    AtomicBool,
    AtomicUsize,
    Ordering::Relaxed, //
};

/// An entry: a multiple of 16, its address, and a number below 16 that tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tagged(pub(crate) usize);

impl Tagged {
    /// What lookups see in an empty word.
    const NOTHING: Self = Self(0);
    /// What they see in one that was left.
    const LEFT: Self = Self(1);

    pub(crate) fn at(self) -> TextAddr {
        if self == Self::NOTHING || self == Self::LEFT {
            return memory::NOWHERE;
        }
        TextAddr::new(self.0 as u64 & !15)
    }
}

/// The right to write: evidence for tests, which run in one thread.
pub(crate) struct Key(());

/// An array that is not published.
pub(crate) struct Unpublished(usize);

/// Two arrays of up to `LEN` words.
pub(crate) struct Fixed<const LEN: usize> {
    arrays: [[AtomicUsize; LEN]; 2],
    lens: [AtomicUsize; 2],
    current: AtomicUsize,
    exhausted: AtomicBool,
    looks: AtomicUsize,
    reads: AtomicUsize,
}

impl<const LEN: usize> Fixed<LEN> {
    pub(crate) const fn new() -> Self {
        Self {
            arrays: [const { [const { AtomicUsize::new(0) }; LEN] }; 2],
            lens: [const { AtomicUsize::new(0) }; 2],
            current: AtomicUsize::new(0),
            exhausted: AtomicBool::new(false),
            looks: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
        }
    }

    /// From now on there is, or is no, memory.
    pub(crate) fn exhaust(&self, exhausted: bool) {
        self.exhausted.store(exhausted, Relaxed);
    }

    /// The length of the current array.
    pub(crate) fn len(&self) -> usize {
        self.published().len()
    }

    /// The number of words in the current array that are not empty.
    pub(crate) fn used(&self) -> usize {
        let words = self.published().iter();
        words.filter(|word| word.load(Relaxed) != 0).count()
    }

    /// How many words lookups have looked at since this was last asked.
    pub(crate) fn looks(&self) -> usize {
        self.looks.swap(0, Relaxed)
    }

    /// The same of the writer, apart from its lookups.
    pub(crate) fn reads(&self) -> usize {
        self.reads.swap(0, Relaxed)
    }

    fn published(&self) -> &[AtomicUsize] {
        self.array(self.current.load(Relaxed))
    }

    fn array(&self, number: usize) -> &[AtomicUsize] {
        let words = self.arrays.get(number).map_or(&[][..], |all| &all[..]);
        let len = self.lens.get(number).map_or(0, |len| len.load(Relaxed));
        words.get(..len).unwrap_or_default()
    }
}

impl<const LEN: usize> Table<Fixed<LEN>> {
    /// Forgets what an earlier run has left; the right to write.
    pub(crate) fn begin(&self) -> Writer<'_, Fixed<LEN>> {
        for len in &self.memory().lens {
            len.store(0, Relaxed);
        }
        self.memory().exhaust(false);
        Writer::new(self, Key(()))
    }
}

fn decode(word: usize) -> Slot<Tagged> {
    match word {
        0 => Slot::Empty,
        1 => Slot::Left,
        entry => Slot::Live(Tagged(entry)),
    }
}

fn encode(slot: Slot<Tagged>) -> usize {
    match slot {
        Slot::Empty => 0,
        Slot::Left => 1,
        Slot::Live(Tagged(entry)) => entry,
    }
}

impl<const LEN: usize> Memory for Fixed<LEN> {
    const SMALLEST: usize = 8;

    type Reading = ();
    type Key = Key;
    type Word = AtomicUsize;
    type View<'a> = &'a [AtomicUsize];
    type Entry<'a> = Tagged;
    type Owned = Tagged;
    type Array = Unpublished;

    fn current<'a>(&'a self, _reading: &'a ()) -> &'a [AtomicUsize] {
        self.published()
    }

    fn held<'a>(&'a self, _key: &'a Key) -> &'a [AtomicUsize] {
        self.published()
    }

    fn look<'a>(&'a self, word: &'a AtomicUsize) -> Tagged {
        self.looks.fetch_add(1, Relaxed);
        match decode(word.load(Relaxed)) {
            Slot::Empty => Tagged::NOTHING,
            Slot::Left => Tagged::LEFT,
            Slot::Live(entry) => entry,
        }
    }

    fn is_nothing(&self, entry: Tagged) -> bool {
        entry == Tagged::NOTHING
    }

    fn read<'a>(&'a self, word: &'a AtomicUsize) -> Slot<Tagged> {
        self.reads.fetch_add(1, Relaxed);
        decode(word.load(Relaxed))
    }

    fn address(&self, entry: Tagged) -> TextAddr {
        entry.at()
    }

    fn entry<'a>(&'a self, owned: &'a Tagged) -> Tagged {
        *owned
    }

    fn allocate(&self, len: usize) -> Result<Unpublished, Refusal> {
        if len > LEN || self.exhausted.load(Relaxed) {
            return Err(Refusal::NoMemory);
        }
        let number = self.current.load(Relaxed) ^ 1;
        let own = self.lens.get(number).ok_or(Refusal::NoMemory)?;
        own.store(len, Relaxed);
        for word in self.array(number) {
            word.store(0, Relaxed);
        }
        Ok(Unpublished(number))
    }

    fn words<'a>(&'a self, array: &'a Unpublished) -> &'a [AtomicUsize] {
        self.array(array.0)
    }

    fn carry(&self, _key: &Key, from: usize, array: &mut Unpublished, to: usize) {
        let from = self.published().get(from);
        if let (Some(from), Some(to)) = (from, self.array(array.0).get(to)) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    fn publish(&self, _key: &mut Key, array: Unpublished) {
        self.current.store(array.0, Relaxed);
    }

    fn swap(&self, _key: &mut Key, index: usize, slot: Slot<Tagged>) -> Slot<Tagged> {
        let word = self.published().get(index);
        word.map_or(Slot::Empty, |word| decode(word.swap(encode(slot), Relaxed)))
    }
}
