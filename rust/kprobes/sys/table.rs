// SPDX-License-Identifier: GPL-2.0

//! The kernel's memory under the table of [`table`](crate::table): pointers, published under RCU.
//!
//! A word of an array is a pointer to the header of an [`entry`]. The pointer to the array carries
//! in its low bits how far a hash is to be shifted to be the number of a word: one load gives both,
//! and the array is a power of two long, so nothing of what the allocator gives is wasted. The
//! allocator aligns what is a power of two long to its length, hence the bits are free.
//!
//! Atomics are `core`'s: the `kernel` crate's are calls into C that a probe could be on.

mod entry;
#[cfg(CONFIG_RUST_KPROBES_PLANTS)]
pub(crate) mod plant;

use crate::{
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::preempt::Pinned,
    table::{
        lookup,
        memory::{
            self,
            Memory,
            Slot, //
        },
        place::HASH_BITS,
        writer, //
    },
};
use core::{
    marker::PhantomData,
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        AtomicPtr,
        Ordering, //
    }, //
};
use entry::{
    word_of,
    Header,
    Seen,
    EMPTY,
    LEFT, //
};
use kernel::{
    bindings,
    prelude::*, //
};

pub(crate) use entry::{
    Owned,
    Retired, //
};

/// A word of an array.
///
/// # Invariants
///
/// [`EMPTY`], [`LEFT`], or the header of a [`Node<T>`](entry::Node) that is freed no sooner than a
/// grace period after it was replaced here.
#[repr(transparent)]
pub(crate) struct Word<T>(AtomicPtr<Header>, PhantomData<T>);

/// The length of the smallest array, which makes its alignment leave [`SHIFT_BITS`].
const SMALLEST: usize = 64;

/// The bits of a published pointer that tell the shift.
const SHIFT_BITS: usize = 63;

/// The array of a table that nothing was put into yet.
#[repr(align(512))]
#[expect(dead_code, reason = "it is read as an array of words, by its address")]
struct Nothing([AtomicPtr<Header>; SMALLEST]);

static NOTHING: Nothing = Nothing([const { AtomicPtr::new(word_of(&EMPTY)) }; SMALLEST]);

/// What is published for it.
const fn nothing() -> *mut u8 {
    (&raw const NOTHING)
        .cast::<u8>()
        .cast_mut()
        .wrapping_add(shift_for(SMALLEST) as usize)
}

/// How far a hash is shifted to be the number of a word, of `len` words.
const fn shift_for(len: usize) -> u32 {
    HASH_BITS - len.trailing_zeros()
}

/// A published array, as a lookup walks it.
///
/// # Invariants
///
/// There are as many words from `first` on as a hash has values after it was shifted by the lowest
/// six bits of `shift`, which are not zero. They stay for `'a`.
pub(crate) struct View<'a, T> {
    first: *const Word<T>,
    shift: u32,
    _of: PhantomData<&'a Word<T>>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> memory::View<'a, Word<T>> for View<'a, T> {
    #[inline(always)]
    fn home(self, hash: u64) -> Option<(usize, &'a Word<T>)> {
        let index = hash.wrapping_shr(self.shift) as usize;
        // SAFETY: By the invariant, there is a word of that number.
        Some((index, unsafe { &*self.first.wrapping_add(index) }))
    }

    #[inline(always)]
    fn after(self, index: usize) -> Option<(usize, &'a Word<T>)> {
        let mask = u64::MAX.wrapping_shr(self.shift) as usize;
        let index = index.wrapping_add(1) & mask;
        // SAFETY: With the mask, it is the number of a word.
        Some((index, unsafe { &*self.first.wrapping_add(index) }))
    }
}

/// An array that is not published.
pub(crate) struct Array<T>(KVVec<*mut Header>, PhantomData<T>);

/// Evidence of the right to write to a table.
pub(crate) struct Key(());

/// The arrays of one table.
///
/// # Invariants
///
/// The address of an array of words, freed no sooner than a grace period after it was replaced
/// here, plus the shift for its length, which is less than its alignment.
pub(crate) struct Published<T>(AtomicPtr<u8>, PhantomData<T>);

/// A table in the kernel's memory.
pub(crate) struct Table<T: Send + Sync + 'static> {
    table: lookup::Table<Published<T>>,
    /// Has it a writer that has put something into it?
    has_writer: AtomicBool,
}

impl<T: Send + Sync> Table<T> {
    /// Nothing is in it.
    pub(crate) const fn empty() -> Self {
        // INVARIANT: An array of empty words, which is never freed.
        let nothing = Published(AtomicPtr::new(nothing()), PhantomData);
        Self {
            table: lookup::Table::new(nothing),
            has_writer: AtomicBool::new(false),
        }
    }

    /// What is at an address, while the caller stays on the CPU.
    #[inline(always)]
    pub(crate) fn find<'a>(&'a self, at: TextAddr, pinned: &'a Pinned) -> Option<&'a T> {
        self.table.find(at, pinned).map(Seen::entry)
    }

    /// Where there are entries, in no order, while the caller stays on the CPU.
    pub(crate) fn places<'a>(&'a self, pinned: &'a Pinned) -> impl Iterator<Item = TextAddr> + 'a {
        self.table.each(pinned).map(|seen| seen.header().at)
    }
}

/// Everything in a table, with its address; nothing if the table is another writer's.
pub(crate) struct Places<'a, T: Send + Sync + 'static>(Option<writer::Entries<'a, Published<T>>>);

impl<'a, T: Send + Sync> Iterator for Places<'a, T> {
    type Item = (TextAddr, &'a T);

    fn next(&mut self) -> Option<(TextAddr, &'a T)> {
        let seen = self.0.as_mut()?.next()?;
        Some((seen.header().at, seen.entry()))
    }
}

/// The right to change a table: it is the first writer's that wants to put something into it. To
/// others the table is empty, and stays so.
///
/// # Invariants
///
/// If it is `ours`, no other writer's is.
pub(crate) struct Writer<T: Send + Sync + 'static> {
    table: &'static Table<T>,
    writer: writer::Writer<'static, Published<T>>,
    ours: bool,
}

impl<T: Send + Sync> Writer<T> {
    /// A writer for a table in which nothing was put yet.
    pub(crate) const fn of(table: &'static Table<T>) -> Self {
        // INVARIANT: It is nobody's by this.
        Self {
            table,
            writer: writer::Writer::new(&table.table, Key(())),
            ours: false,
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.writer.len()
    }

    /// What is at an address.
    pub(crate) fn get(&self, at: TextAddr) -> Option<&T> {
        let seen = self.ours().and_then(|writer| writer.get(at));
        seen.map(Seen::entry)
    }

    /// Everything, in no order, with its address.
    pub(crate) fn iter(&self) -> Places<'_, T> {
        Places(self.ours().map(writer::Writer::iter))
    }

    /// Puts an entry into the table, unless its address has one, or the table another writer.
    pub(crate) fn insert(&mut self, owned: Owned<T>) -> Result<(), Refusal> {
        if !self.ours {
            // INVARIANT: One finds that there was none.
            self.ours = !self.table.has_writer.swap(true, Ordering::Relaxed);
        }
        self.ours_to_change()?.insert(owned)
    }

    /// Puts an entry in the place of the one for the same address, which it gives back.
    pub(crate) fn replace(&mut self, owned: Owned<T>) -> Result<Owned<T>, Refusal> {
        self.ours_to_change()?.replace(owned)
    }

    /// Takes the entry for an address out of the table.
    pub(crate) fn remove(&mut self, at: TextAddr) -> Result<Owned<T>, Refusal> {
        self.ours_to_change()?.remove(at)
    }

    /// Takes all entries that are not wanted out of the table, looking at each once.
    #[cfg(CONFIG_MODULES)]
    pub(crate) fn remove_all(&mut self, unwanted: impl Fn(&T) -> bool, retired: &mut Retired<T>) {
        let unwanted = |seen: Seen<'_, T>| unwanted(seen.entry());
        if let Ok(writer) = self.ours_to_change() {
            writer.remove_all(unwanted, |owned| retired.push(owned));
        }
    }

    /// Gives back memory that so few entries do not need.
    pub(crate) fn tidy(&mut self) {
        if let Ok(writer) = self.ours_to_change() {
            writer.tidy();
        }
    }

    /// The table, if it is ours.
    fn ours(&self) -> Option<&writer::Writer<'static, Published<T>>> {
        self.ours.then_some(&self.writer)
    }

    /// The same, to change it.
    fn ours_to_change(&mut self) -> Result<&mut writer::Writer<'static, Published<T>>, Refusal> {
        if self.ours {
            Ok(&mut self.writer)
        } else {
            Err(Refusal::NotRegistered)
        }
    }
}

impl<T> Published<T> {
    /// The array that is published.
    #[inline(always)]
    fn view(&self, ordering: Ordering) -> View<'_, T> {
        let published = self.0.load(ordering);
        // INVARIANT: By that of `self`; whoever asks is in a read-side section or keeps it from
        // being replaced.
        View {
            first: published.map_addr(|addr| addr & !SHIFT_BITS).cast(),
            shift: published.addr() as u32,
            _of: PhantomData,
        }
    }

    /// The same for the writer, as a slice.
    fn array(&self) -> &[Word<T>] {
        if self.0.load(Ordering::Relaxed) == nothing() {
            // It is all tables', so nobody may write to it.
            return &[];
        }
        let View { first, shift, .. } = self.view(Ordering::Relaxed);
        let len = (u64::MAX.wrapping_shr(shift) as usize).wrapping_add(1);
        // SAFETY: By its invariant.
        unsafe { core::slice::from_raw_parts(first, len) }
    }

    /// What a word leads to.
    #[inline(always)]
    fn seen<'a>(word: &'a Word<T>, ordering: Ordering) -> Seen<'a, T> {
        let header = word.0.load(ordering);
        // INVARIANT: By that of `Word`, a header, which stays while the reader's section lasts, or
        // while it cannot be replaced.
        // SAFETY: So it is not NULL.
        Seen(unsafe { NonNull::new_unchecked(header) }, PhantomData)
    }
}

impl<T: Send + Sync + 'static> Memory for Published<T> {
    const SMALLEST: usize = SMALLEST;

    type Reading = Pinned;
    type Key = Key;
    type Word = Word<T>;
    type View<'a> = View<'a, T>;
    type Entry<'a> = Seen<'a, T>;
    type Owned = Owned<T>;
    type Array = Array<T>;

    #[inline(always)]
    fn current<'a>(&'a self, _reading: &'a Pinned) -> View<'a, T> {
        self.view(Ordering::Acquire)
    }

    fn held<'a>(&'a self, _key: &'a Key) -> &'a [Word<T>] {
        self.array()
    }

    #[inline(always)]
    fn look<'a>(&'a self, word: &'a Word<T>) -> Seen<'a, T> {
        Self::seen(word, Ordering::Acquire)
    }

    fn is_nothing(&self, entry: Seen<'_, T>) -> bool {
        entry.header().is(&EMPTY)
    }

    fn read<'a>(&'a self, word: &'a Word<T>) -> Slot<Seen<'a, T>> {
        match Self::seen(word, Ordering::Relaxed) {
            seen if seen.header().is(&EMPTY) => Slot::Empty,
            seen if seen.header().is(&LEFT) => Slot::Left,
            seen => Slot::Live(seen),
        }
    }

    #[inline(always)]
    fn address(&self, entry: Seen<'_, T>) -> TextAddr {
        entry.header().at
    }

    fn entry<'a>(&'a self, owned: &'a Owned<T>) -> Seen<'a, T> {
        owned.seen()
    }

    fn allocate(&self, len: usize) -> Result<Array<T>, Refusal> {
        let array = KVVec::from_elem(word_of(&EMPTY), len, GFP_KERNEL);
        let array = array.map_err(|_| Refusal::NoMemory)?;
        Ok(Array(array, PhantomData))
    }

    fn words<'a>(&'a self, array: &'a Array<T>) -> &'a [Word<T>] {
        let first = array.0.as_ptr().cast::<Word<T>>();
        // SAFETY: So many pointers there are, and a word is laid out as one.
        unsafe { core::slice::from_raw_parts(first, array.0.len()) }
    }

    fn carry(&self, _key: &Key, from: usize, array: &mut Array<T>, to: usize) {
        let from = self.array().get(from);
        if let (Some(from), Some(to)) = (from, self.words(array).get(to)) {
            // INVARIANT: As of the word that it is copied from.
            to.0.store(from.0.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn publish(&self, _key: &mut Key, array: Array<T>) {
        let (first, len, _) = array.0.into_raw_parts();
        // INVARIANT: It is an array of that length. The allocator aligns a power of two of words
        // to its size, of which 64 words are the least.
        let published = first.cast::<u8>().wrapping_add(shift_for(len) as usize);
        let before = self.0.swap(published, Ordering::Release);
        if before != nothing() {
            let before = before.wrapping_sub(before.addr() & SHIFT_BITS);
            // SAFETY: It came from the allocator of `KVVec`, and nobody finds it any more; the
            // function frees it after a grace period, and may sleep, as writing may.
            unsafe { bindings::kvfree_call_rcu(core::ptr::null_mut(), before.cast()) };
        }
    }

    fn swap(&self, _key: &mut Key, index: usize, slot: Slot<Owned<T>>) -> Slot<Owned<T>> {
        let after = match slot {
            Slot::Empty => word_of(&EMPTY),
            Slot::Left => word_of(&LEFT),
            Slot::Live(owned) => owned.into_header().as_ptr(),
        };
        let Some(word) = self.array().get(index) else {
            return Slot::Empty;
        };
        // INVARIANT: `Owned` frees it as the invariant wants.
        let before = word.0.swap(after, Ordering::Release);
        match NonNull::new(before) {
            Some(header) if before != word_of(&EMPTY) && before != word_of(&LEFT) => {
                // INVARIANT: It came from an `Owned`, and no word has it any more.
                Slot::Live(Owned {
                    header,
                    _owns: PhantomData,
                })
            }
            _ if before == word_of(&LEFT) => Slot::Left,
            _ => Slot::Empty,
        }
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_sys_table)]
mod tests {
    use super::*;
    use crate::table::memory::NOWHERE;

    static ONE: Table<u64> = Table::empty();
    static OTHER: Table<u64> = Table::empty();

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    /// What a table says of an address.
    fn found(table: &Table<u64>, at: TextAddr) -> Option<u64> {
        table.find(at, &Pinned::new()).copied()
    }

    #[test]
    fn tables_share_nothing() {
        let mut writer = Writer::of(&ONE);
        assert_eq!(found(&ONE, AT), None);
        assert!(Owned::new(AT, 7)
            .and_then(|owned| writer.insert(owned))
            .is_ok());
        assert_eq!(found(&ONE, AT), Some(7));
        assert_eq!(found(&OTHER, AT), None);
        assert!(Writer::of(&OTHER).get(AT).is_none());

        assert!(Owned::new(AT, 8).is_ok_and(|owned| writer.insert(owned).is_err()));
        assert!(writer.remove(AT).is_ok_and(|owned| *owned.get() == 7));
        assert_eq!(found(&ONE, AT), None);
    }

    #[test]
    fn a_table_is_its_first_writers() {
        static ALONE: Table<u64> = Table::empty();
        let (mut first, mut second) = (Writer::of(&ALONE), Writer::of(&ALONE));
        let put = |writer: &mut Writer<u64>, number| {
            let owned = Owned::new(AT, number);
            owned.and_then(|owned| writer.insert(owned)).is_ok()
        };
        assert!(put(&mut first, 7));
        assert!(!put(&mut second, 8));
        assert!(second.get(AT).is_none() && second.iter().next().is_none());
        assert!(second.remove(AT).is_err());
        second.tidy();
        assert_eq!(found(&ALONE, AT), Some(7));
        assert!(first.remove(AT).is_ok());
        assert!(!put(&mut second, 8));
    }

    #[test]
    fn entries_are_found_while_the_array_grows_and_shrinks() {
        static MANY: Table<u64> = Table::empty();
        let at = |number: u64| AT.after(16 * number).unwrap_or(NOWHERE);
        let mut writer = Writer::of(&MANY);
        for number in 0..500 {
            let owned = Owned::new(at(number), number);
            assert!(owned.and_then(|owned| writer.insert(owned)).is_ok());
        }
        assert!((0..500).all(|number| found(&MANY, at(number)) == Some(number)));
        assert_eq!(found(&MANY, at(500)), None);
        let mut retired = Retired::new();
        for number in 0..499 {
            if let Ok(owned) = writer.remove(at(number)) {
                retired.push(owned);
            }
        }
        writer.tidy();
        assert_eq!(writer.len(), 1);
        assert_eq!(found(&MANY, at(499)), Some(499));
        assert_eq!(found(&MANY, at(498)), None);
        drop((writer.remove(at(499)), retired));
    }
}
