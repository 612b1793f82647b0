// SPDX-License-Identifier: GPL-2.0

//! From an address to the entry for it, in constant time.
//!
//! A breakpoint's handler looks up which probe point it has hit, in a context like an NMI's: it
//! takes no lock and cannot wait, and a writer may be at work on another CPU or below it. If the
//! lookup fails, the kernel takes the breakpoint for a bug. So a lookup finds an entry at every
//! instant between its insertion and its removal.
//!
//! The table is an array of words with open addressing and linear probing. A word points to the
//! header of an entry, to [`EMPTY`], or to [`LEFT`] where an entry was removed. The headers of the
//! latter two are for [`NOWHERE`], so a lookup compares the address before it asks what the word
//! is.
//!
//! - A removed entry leaves [`LEFT`], as other entries may lie behind it; if the next word is
//!   empty there are none, and the word becomes empty.
//! - An entry never moves within an array. When too few words are empty, the writer copies all
//!   pointers to a new array and publishes it with one store. A reader of the old array finds there
//!   every entry that has been in the table since the reader began.
//! - Insertion, removal and replacement are one store each. Arrays and entries are freed a grace
//!   period of RCU after that.
//!
//! At most three sixteenths of the words are in use, and an eighth in a new array. Of 30,000
//! entries one in twenty is then found behind its first word, and hardly one at the fourth or
//! later. An entry takes between 43 and 85 bytes of the array. Words that held the address as well
//! would save the look at a foreign entry in one of twenty lookups, but take twice the memory and
//! an order between two stores.
//!
//! The pointer to the array carries in its low bits how far a hash is shifted to be the number of
//! a word, so one load gives both.
//!
//! C counterpart: `kprobe_table` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c), which has 64
//! chains whatever the number of probes.

mod entry;

pub(crate) use entry::{
    Owned,
    Retired,
    NOWHERE, //
};

use crate::{
    atomics::{
        AtomicPtr,
        Ordering, //
    },
    prelude::*,
    sys::preempt::Pinned, //
};
use core::marker::PhantomData;
use entry::{
    entry,
    pointer,
    Header,
    EMPTY,
    LEFT, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A word of an array: [`EMPTY`], [`LEFT`], or the header of a entry.
type Word = AtomicPtr<Header>;

/// The length of the smallest array, which makes its alignment leave [`SHIFT_BITS`].
const SMALLEST: usize = 64;

/// The bits of a published pointer that hold the shift.
const SHIFT_BITS: usize = 63;

/// The array of a table that has had no entry. All tables share it.
#[repr(align(512))]
#[expect(dead_code, reason = "it is read as an array of words, by its address")]
struct Nothing([Word; SMALLEST]);

static NOTHING: Nothing = Nothing([const { Word::new(pointer(&EMPTY)) }; SMALLEST]);

/// The pointer to an array of `len` words, with its shift.
const fn with_shift(first: *const Word, len: usize) -> *mut u8 {
    let shift = u64::BITS - len.trailing_zeros();
    first.cast_mut().cast::<u8>().wrapping_add(shift as usize)
}

const fn nothing() -> *mut u8 {
    with_shift((&raw const NOTHING).cast(), SMALLEST)
}

/// The hash of an address, whose top bits are the number of its first word.
///
/// It is a multiplication by 2^64 divided by the golden ratio. Addresses a fixed distance apart,
/// such as stubs, would fill the same stretch of the array for some distances; folding the address
/// onto itself first prevents that. Of 3 to 23 bits, 7 do best.
#[inline(always)]
pub(crate) fn hash(at: TextAddr) -> u64 {
    let folded = at.get() ^ (at.get() >> 7);
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// How many of `len` words may be in use or left.
fn limit(len: usize) -> usize {
    (len / 4).wrapping_sub(len / 16)
}

/// The length of a new array for `entries`.
fn length(entries: usize) -> Result<usize, Refusal> {
    let len = entries.checked_mul(8).ok_or(Refusal::NoMemory)?;
    len.max(SMALLEST)
        .checked_next_power_of_two()
        .ok_or(Refusal::NoMemory)
}

/// An array.
///
/// # Invariants
///
/// The address of an array of words plus its shift, as [`with_shift`] gives it. The words, and the
/// headers that they point to or pointed to when a read-side section began, stay for `'a`.
#[derive(Clone, Copy)]
struct Array<'a>(*mut u8, PhantomData<&'a Word>);

// SAFETY: It is a shared reference to words, which are atomics.
unsafe impl Send for Array<'_> {}
// SAFETY: As above.
unsafe impl Sync for Array<'_> {}

impl<'a> Array<'a> {
    /// The number of the last word.
    #[inline(always)]
    fn last(self) -> usize {
        u64::MAX.wrapping_shr(self.0.addr() as u32) as usize
    }

    /// The word of a number, and the header that it points to.
    ///
    /// # Safety
    ///
    /// The number is at most [`last`](Array::last).
    #[inline(always)]
    unsafe fn at(self, index: usize) -> (usize, &'a Word, &'a Header) {
        let first = self.0.map_addr(|addr| addr & !SHIFT_BITS).cast::<Word>();
        // SAFETY: By the invariant and the precondition there is such a word.
        let word = unsafe { &*first.wrapping_add(index) };
        // SAFETY: By the invariant it points to a header, which stays.
        (index, word, unsafe { &*word.load(Ordering::Acquire) })
    }

    /// The first word on the way of an address.
    #[inline(always)]
    fn home(self, at: TextAddr) -> (usize, &'a Word, &'a Header) {
        let index = hash(at).wrapping_shr(self.0.addr() as u32) as usize;
        // SAFETY: The last word's number is the greatest one shifted by as much.
        unsafe { self.at(index) }
    }

    /// The word of a number; beyond the last one comes the first.
    #[inline(always)]
    fn get(self, index: usize) -> (usize, &'a Word, &'a Header) {
        // SAFETY: With the mask, it is the number of a word.
        unsafe { self.at(index & self.last()) }
    }

    /// The entry for an address, and the number of its word.
    #[inline(always)]
    fn seek(self, at: TextAddr) -> Option<(usize, &'a Header)> {
        if at == NOWHERE {
            return None;
        }
        let (index, _, header) = self.home(at);
        if header.at == at {
            return Some((index, header));
        }
        self.seek_behind(at, index, header)
    }

    /// The same in the words behind number `index`, which points to `header`. Out of line, as most
    /// lookups end at the first word.
    #[inline(never)]
    fn seek_behind(
        self,
        at: TextAddr,
        mut index: usize,
        mut header: &'a Header,
    ) -> Option<(usize, &'a Header)> {
        // It ends: more than half of the words are empty.
        while !core::ptr::eq(header, &EMPTY) {
            (index, _, header) = self.get(index.wrapping_add(1));
            if header.at == at {
                return Some((index, header));
            }
        }
        None
    }

    /// Everything from word number `index` on.
    fn each(self, index: usize) -> Each<'a> {
        Each { array: self, index }
    }
}

/// The entries in an array, with the numbers of their words.
//
// A named type: with those of adapters, symbols would be longer than objtool and kallsyms take.
struct Each<'a> {
    array: Array<'a>,
    index: usize,
}

impl<'a> Iterator for Each<'a> {
    type Item = (usize, &'a Header);

    fn next(&mut self) -> Option<(usize, &'a Header)> {
        while self.index <= self.array.last() {
            let (index, _, header) = self.array.get(self.index);
            self.index = self.index.wrapping_add(1);
            if header.at != NOWHERE {
                return Some((index, header));
            }
        }
        None
    }
}

/// A table, as everybody sees it.
///
/// # Invariants
///
/// The pointer is an [`Array`] whose words point to [`EMPTY`], [`LEFT`] and headers of entries of
/// type `T`. An array and a header are freed no sooner than a grace period after they were replaced
/// here.
pub(crate) struct Table<T: Send + Sync + 'static>(AtomicPtr<u8>, PhantomData<T>);

impl<T: Send + Sync> Table<T> {
    /// A table without entries.
    pub(crate) const fn empty() -> Self {
        // INVARIANT: An array of empty words, which is never freed.
        Self(AtomicPtr::new(nothing()), PhantomData)
    }

    #[inline(always)]
    fn array<'a>(&'a self, _pinned: &'a Pinned) -> Array<'a> {
        // INVARIANT: By that of the table: while preemption is off, no grace period ends that
        // began later.
        Array(self.0.load(Ordering::Acquire), PhantomData)
    }

    /// The entry for an address, while the caller stays on the CPU.
    ///
    /// It finds every entry that was inserted before the call and is not removed before its return.
    #[inline(always)]
    pub(crate) fn find<'a>(&'a self, at: TextAddr, pinned: &'a Pinned) -> Option<&'a T> {
        let (_, header) = self.array(pinned).seek(at)?;
        // SAFETY: By the invariant of the table; those that are none are for `NOWHERE`.
        Some(unsafe { entry(header) })
    }

    /// The addresses that have entries, in no order, while the caller stays on the CPU.
    pub(crate) fn places<'a>(&'a self, pinned: &'a Pinned) -> impl Iterator<Item = TextAddr> + 'a {
        self.array(pinned).each(0).map(|(_, header)| header.at)
    }
}

/// The right to change a table. It belongs to the first writer that inserts an entry; to others
/// the table is empty, and stays so.
///
/// # Invariants
///
/// The array is [`NOTHING`], or one that this writer has published in the table. In it,
///
/// - `live` words point to an entry, no two for the same address, and `left` to [`LEFT`];
/// - no word on the way from the first word of an address to its entry is empty;
/// - `live + left` is at most [`limit`] of its length.
pub(crate) struct Writer<T: Send + Sync + 'static> {
    table: &'static Table<T>,
    array: Array<'static>,
    live: usize,
    left: usize,
}

impl<T: Send + Sync> Writer<T> {
    /// A writer for a table that has had no entry.
    pub(crate) const fn of(table: &'static Table<T>) -> Self {
        // INVARIANT: It has published nothing.
        Self {
            table,
            array: Array(nothing(), PhantomData),
            live: 0,
            left: 0,
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// The entry for an address.
    pub(crate) fn get(&self, at: TextAddr) -> Option<&T> {
        let (_, header) = self.array.seek(at)?;
        // SAFETY: By the invariant of the table, and nobody takes it out while `self` is borrowed.
        Some(unsafe { entry(header) })
    }

    /// All entries, in no order, with their addresses.
    pub(crate) fn iter(&self) -> Entries<'_, T> {
        Entries(self.array.each(0), PhantomData)
    }

    /// Inserts an entry, unless its address has one, or the table another writer.
    pub(crate) fn insert(&mut self, owned: Owned<T>) -> Result<(), Refusal> {
        let at = owned.header().at;
        if at == NOWHERE {
            return Err(Refusal::OutOfText);
        }
        if self.array.seek(at).is_some() {
            return Err(Refusal::AddressTaken);
        }
        self.reserve(1)?;
        // INVARIANT: The words before it on the way are not empty, and `reserve` has seen to the
        // limit.
        let (index, was_left) = vacancy(self.array, at);
        self.store(index, owned.into_raw());
        self.left = self.left.wrapping_sub(usize::from(was_left));
        self.live = self.live.wrapping_add(1);
        Ok(())
    }

    /// Replaces the entry for the same address, and returns the one before. At no instant does the
    /// address have none.
    pub(crate) fn replace(&mut self, owned: Owned<T>) -> Result<Owned<T>, Refusal> {
        let found = self.array.seek(owned.header().at);
        let (index, before) = found.ok_or(Refusal::NotRegistered)?;
        self.store(index, owned.into_raw());
        Ok(Owned::of(before))
    }

    /// Removes the entry for an address. Readers may see it for a grace period.
    pub(crate) fn remove(&mut self, at: TextAddr) -> Result<Owned<T>, Refusal> {
        let (index, before) = self.array.seek(at).ok_or(Refusal::NotRegistered)?;
        self.vacate(index);
        Ok(Owned::of(before))
    }

    /// Removes all entries that are not wanted, with one look at each.
    pub(crate) fn remove_all(&mut self, unwanted: impl Fn(&T) -> bool, retired: &mut Retired<T>) {
        // From the end: where a word becomes empty, the one before it may, too.
        for index in (0..=self.array.last()).rev() {
            let (_, _, header) = self.array.get(index);
            // SAFETY: As for `get`.
            if header.at != NOWHERE && unwanted(unsafe { entry(header) }) {
                self.vacate(index);
                retired.push(Owned::of(header));
            }
        }
    }

    /// Gives back memory that so few entries do not need. Does nothing while there is no memory for
    /// a smaller array.
    pub(crate) fn tidy(&mut self) {
        if length(self.live.saturating_mul(2)).is_ok_and(|len| len < self.words()) {
            // What is there still serves.
            let _ = length(self.live).and_then(|len| self.rebuild(len));
        }
    }

    /// The number of words that this writer may use.
    fn words(&self) -> usize {
        match self.array.0 == nothing() {
            true => 0,
            false => self.array.last().wrapping_add(1),
        }
    }

    /// Makes room for `more` insertions.
    fn reserve(&mut self, more: usize) -> Result<(), Refusal> {
        let used = self.live.wrapping_add(self.left).checked_add(more);
        if used.is_some_and(|used| used <= limit(self.words())) {
            return Ok(());
        }
        let entries = self.live.checked_add(more).ok_or(Refusal::NoMemory)?;
        self.rebuild(length(entries)?)
    }

    /// Copies all entries to a new array, which is long enough for them, and publishes it.
    fn rebuild(&mut self, len: usize) -> Result<(), Refusal> {
        let no_memory = |_| Refusal::NoMemory;
        let mut words = KVVec::with_capacity(len, GFP_KERNEL).map_err(no_memory)?;
        for _ in 0..len {
            let word = Word::new(pointer(&EMPTY));
            words.push(word, GFP_KERNEL).map_err(no_memory)?;
        }
        // INVARIANT: The allocator aligns a power of two of words to its size. Nobody frees it
        // before it is replaced.
        let array = Array(with_shift(words.as_ptr(), len), PhantomData);
        for (_, header) in self.array.each(0) {
            let (index, _) = vacancy(array, header.at);
            let (_, word, _) = array.get(index);
            word.store(core::ptr::from_ref(header).cast_mut(), Ordering::Relaxed);
        }
        // The release makes readers see what the words say.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let exchanged = self
            .table
            .0
            .compare_exchange(self.array.0, array.0, success, failure);
        // Otherwise the table is another writer's.
        let before = exchanged.map_err(|_| Refusal::NotRegistered)?;
        let _ = words.into_raw_parts();
        if before != nothing() {
            let before = before.map_addr(|addr| addr & !SHIFT_BITS);
            // SAFETY: It came from the allocator of `KVVec`, and nobody finds it any more; the
            // function frees it after a grace period, and may sleep, as writing may.
            unsafe { bindings::kvfree_call_rcu(core::ptr::null_mut(), before.cast()) };
        }
        // INVARIANT: Each entry is in the first free word on its way, and no word was left.
        self.array = array;
        self.left = 0;
        Ok(())
    }

    /// Takes the entry of a word out of it, in one store.
    fn vacate(&mut self, mut index: usize) {
        self.live = self.live.wrapping_sub(1);
        let (_, _, next) = self.array.get(index.wrapping_add(1));
        if !core::ptr::eq(next, &EMPTY) {
            self.left = self.left.wrapping_add(1);
            return self.store(index, pointer(&LEFT));
        }
        // INVARIANT: No way leads over a word whose next one is empty.
        self.store(index, pointer(&EMPTY));
        loop {
            let (before, _, header) = self.array.get(index.wrapping_sub(1));
            if !core::ptr::eq(header, &LEFT) {
                return;
            }
            self.store(before, pointer(&EMPTY));
            self.left = self.left.wrapping_sub(1);
            index = before;
        }
    }

    /// The release makes readers see what the header says.
    fn store(&self, index: usize, header: *mut Header) {
        let (_, word, _) = self.array.get(index);
        word.store(header, Ordering::Release);
    }
}

/// The number of the first word on the way of an address that has no entry, and whether one was
/// removed from it. There is such a word.
fn vacancy(array: Array<'_>, at: TextAddr) -> (usize, bool) {
    let (mut index, _, mut header) = array.home(at);
    while header.at != NOWHERE {
        (index, _, header) = array.get(index.wrapping_add(1));
    }
    (index, core::ptr::eq(header, &LEFT))
}

/// The entries of a table, with their addresses.
pub(crate) struct Entries<'a, T>(Each<'a>, PhantomData<&'a T>);

impl<'a, T> Iterator for Entries<'a, T> {
    type Item = (TextAddr, &'a T);

    fn next(&mut self) -> Option<(TextAddr, &'a T)> {
        let (_, header) = self.0.next()?;
        // SAFETY: By the invariant of the table, whose writer is borrowed.
        Some((header.at, unsafe { entry(header) }))
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_table))]
mod tests {
    use crate::{
        prelude::*,
        sys::preempt::Pinned,
        table::{
            hash,
            length,
            limit,
            nothing,
            Array,
            Owned,
            Retired,
            Table,
            Writer,
            EMPTY,
            NOWHERE, //
        }, //
    };
    use core::marker::PhantomData;

    const BASE: usize = 0xc010_0000;

    /// Address number `number` of those that the tests use.
    fn at(number: usize) -> TextAddr {
        TextAddr::new((BASE + 16 * number) as u64)
    }

    fn insert(writer: &mut Writer<usize>, number: usize, mark: usize) -> Result<(), Refusal> {
        writer.insert(Owned::new(at(number), mark)?)
    }

    /// The mark of the entry that was removed.
    fn mark(owned: Result<Owned<usize>, Refusal>) -> Result<usize, Refusal> {
        owned.map(|owned| *owned.get())
    }

    fn found(table: &Table<usize>, at: TextAddr) -> Option<usize> {
        table.find(at, &Pinned::new()).copied()
    }

    /// Does a reader find exactly these, of the first `marks.len()` addresses? 0 stands for none.
    fn holds(table: &Table<usize>, marks: &[usize]) -> bool {
        marks.iter().enumerate().all(|(number, &mark)| {
            let expected = (mark != 0).then_some(mark);
            found(table, at(number)) == expected
        })
    }

    /// Addresses whose first word is the same: their numbers.
    fn neighbours<const N: usize>(writer: &Writer<usize>) -> [usize; N] {
        let home = |number| writer.array.home(at(number)).0;
        let mut same = (0..).filter(|&number| home(number) == home(0));
        core::array::from_fn(|_| same.next().unwrap_or_default())
    }

    /// The number of words that a lookup looks at.
    fn way(array: Array<'_>, at: TextAddr) -> usize {
        let (first, _, _) = array.home(at);
        let ends = |&index: &usize| {
            let (_, _, header) = array.get(index);
            header.at == at || core::ptr::eq(header, &EMPTY)
        };
        (first..).position(|index| ends(&index)).unwrap_or_default() + 1
    }

    /// The number of words that are not empty.
    fn used(writer: &Writer<usize>) -> usize {
        let is_used = |&index: &usize| !core::ptr::eq(writer.array.get(index).2, &EMPTY);
        (0..=writer.array.last()).filter(is_used).count()
    }

    /// Is what the writer knows about the array what is in it?
    fn is_sound(writer: &Writer<usize>) -> bool {
        let pinned = Pinned::new();
        let places = writer.table.places(&pinned);
        writer.iter().count() == writer.live
            && used(writer) == writer.live + writer.left
            && used(writer) <= limit(writer.words())
            && writer.iter().all(|(at, one)| writer.get(at) == Some(one))
            && writer.iter().map(|(at, _)| at).eq(places)
    }

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        assert_eq!(found(&TABLE, at(1)), None);
        insert(&mut writer, 1, 5)?;
        insert(&mut writer, 2, 6)?;
        assert!(holds(&TABLE, &[0, 5, 6, 0]));
        assert_eq!(writer.len(), 2);
        assert_eq!(mark(writer.remove(at(1))), Ok(5));
        assert!(holds(&TABLE, &[0, 0, 6, 0]));
        assert_eq!(mark(writer.remove(at(1))), Err(Refusal::NotRegistered));
        assert_eq!(writer.len(), 1);
        mark(writer.remove(at(2))).map(drop)
    }

    #[test]
    fn an_address_has_one_entry() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        let replaced = writer.replace(Owned::new(at(3), 1)?);
        assert_eq!(mark(replaced), Err(Refusal::NotRegistered));
        insert(&mut writer, 3, 1)?;
        assert_eq!(insert(&mut writer, 3, 2), Err(Refusal::AddressTaken));
        assert_eq!(mark(writer.replace(Owned::new(at(3), 2)?)), Ok(1));
        assert!(holds(&TABLE, &[0, 0, 0, 2]));
        assert_eq!(writer.len(), 1);
        mark(writer.remove(at(3))).map(drop)
    }

    #[test]
    fn lookups_end_at_an_empty_word() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(&writer);
        insert(&mut writer, a, 1)?;
        insert(&mut writer, b, 1)?;
        for (number, words) in [(a, 1), (b, 2), (c, 3)] {
            assert_eq!(way(writer.array, at(number)), words);
            assert_eq!(found(&TABLE, at(number)).is_some(), words < 3);
        }
        writer.remove_all(|_| true, &mut Retired::new());
        Ok(())
    }

    #[test]
    fn nothing_is_nowhere() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        assert_eq!(found(&TABLE, NOWHERE), None);
        let nowhere = Owned::new(NOWHERE, 0)?;
        assert_eq!(writer.insert(nowhere), Err(Refusal::OutOfText));
        // Where an entry has left, there is one for this address.
        writer.reserve(6)?;
        let [a, b] = neighbours::<2>(&writer);
        insert(&mut writer, a, 1)?;
        insert(&mut writer, b, 1)?;
        mark(writer.remove(at(a)))?;
        assert_eq!(found(&TABLE, NOWHERE), None);
        assert_eq!(mark(writer.remove(NOWHERE)), Err(Refusal::NotRegistered));
        mark(writer.remove(at(b))).map(drop)
    }

    #[test]
    fn entries_behind_a_removed_one_are_found() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(&writer);
        for number in [a, b, c] {
            insert(&mut writer, number, 1)?;
        }
        mark(writer.remove(at(a)))?;
        assert!(found(&TABLE, at(b)).is_some() && found(&TABLE, at(c)).is_some());
        // The word that was left is used again, and not twice.
        insert(&mut writer, a, 2)?;
        assert_eq!(used(&writer), 3);
        assert!(is_sound(&writer));
        writer.remove_all(|_| true, &mut Retired::new());
        Ok(())
    }

    #[test]
    fn words_at_the_end_of_a_way_become_empty_again() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(&writer);
        for number in [a, b, c] {
            insert(&mut writer, number, 1)?;
        }
        mark(writer.remove(at(a)))?;
        mark(writer.remove(at(b)))?;
        assert_eq!(used(&writer), 3);
        mark(writer.remove(at(c)))?;
        assert_eq!(used(&writer), 0);
        assert!(is_sound(&writer));
        Ok(())
    }

    #[test]
    fn nobody_has_memory_for_everything() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        insert(&mut writer, 0, 1)?;
        assert_eq!(writer.reserve(usize::MAX), Err(Refusal::NoMemory));
        assert!(holds(&TABLE, &[1, 0]) && is_sound(&writer));
        mark(writer.remove(at(0))).map(drop)
    }

    #[test]
    fn arrays_grow_and_shrink() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        for number in 0..256 {
            insert(&mut writer, number, 1)?;
        }
        assert_eq!(writer.words(), 2048);
        assert!(is_sound(&writer) && holds(&TABLE, &[1; 256]));
        let mut retired = Retired::new();
        for number in 9..256 {
            retired.push(writer.remove(at(number))?);
        }
        assert_eq!(writer.words(), 2048);
        writer.tidy();
        assert_eq!(writer.words(), 128);
        assert!(is_sound(&writer) && holds(&TABLE, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 0]));
        writer.remove_all(|_| true, &mut retired);
        Ok(())
    }

    #[test]
    fn many_are_removed_together() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        for number in 0..64 {
            insert(&mut writer, number, 1 + number % 2)?;
        }
        let mut retired = Retired::new();
        writer.remove_all(|one| one % 2 == 0, &mut retired);
        assert_eq!(writer.len(), 32);
        assert!((0..64).all(|number| {
            let expected = (number % 2 == 0).then_some(1);
            found(&TABLE, at(number)) == expected
        }));
        assert!(is_sound(&writer));
        writer.remove_all(|_| true, &mut retired);
        assert_eq!((writer.len(), used(&writer)), (0, 0));
        Ok(())
    }

    #[test]
    fn random_changes_are_those_of_a_map() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        let (mut marks, mut random) = ([0; 40], 1u32);
        let mut retired = Retired::new();
        for _ in 0..4000 {
            // Numerical Recipes' generator; its high bits are good.
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (random >> 8) as usize % marks.len();
            let mark = (random >> 28) as usize % 15 + 1;
            let before = marks[number];
            match (random >> 24) % 8 {
                0..=2 if before == 0 => {
                    insert(&mut writer, number, mark)?;
                    marks[number] = mark;
                }
                3..=5 if before == 0 => assert!(writer.remove(at(number)).is_err()),
                3..=5 => {
                    let removed = writer.remove(at(number))?;
                    assert_eq!(*removed.get(), before);
                    retired.push(removed);
                    marks[number] = 0;
                }
                6 if before != 0 => {
                    let replaced = writer.replace(Owned::new(at(number), mark)?)?;
                    assert_eq!(*replaced.get(), before);
                    retired.push(replaced);
                    marks[number] = mark;
                }
                0..=2 => assert!(writer.get(at(number)).is_some()),
                _ => writer.tidy(),
            }
            assert!(holds(&TABLE, &marks));
            assert!(is_sound(&writer));
        }
        writer.remove_all(|_| true, &mut retired);
        Ok(())
    }

    #[test]
    fn tables_share_nothing() -> Result<(), Refusal> {
        static ONE: Table<usize> = Table::empty();
        static OTHER: Table<usize> = Table::empty();
        let mut writer = Writer::of(&ONE);
        assert_eq!(found(&ONE, at(0)), None);
        insert(&mut writer, 0, 7)?;
        assert_eq!(found(&ONE, at(0)), Some(7));
        assert_eq!(found(&OTHER, at(0)), None);
        assert!(Writer::of(&OTHER).get(at(0)).is_none());
        assert!(insert(&mut writer, 0, 8).is_err());
        assert_eq!(mark(writer.remove(at(0))), Ok(7));
        assert_eq!(found(&ONE, at(0)), None);
        Ok(())
    }

    #[test]
    fn a_table_is_its_first_writers() -> Result<(), Refusal> {
        static ALONE: Table<usize> = Table::empty();
        let (mut first, mut second) = (Writer::of(&ALONE), Writer::of(&ALONE));
        insert(&mut first, 0, 7)?;
        assert!(insert(&mut second, 0, 8).is_err());
        assert!(second.get(at(0)).is_none() && second.iter().next().is_none());
        assert!(second.remove(at(0)).is_err());
        second.tidy();
        assert_eq!(found(&ALONE, at(0)), Some(7));
        assert_eq!(mark(first.remove(at(0))), Ok(7));
        assert!(insert(&mut second, 0, 8).is_err());
        Ok(())
    }

    #[test]
    fn entries_are_found_while_the_array_grows_and_shrinks() -> Result<(), Refusal> {
        static MANY: Table<usize> = Table::empty();
        let mut writer = Writer::of(&MANY);
        for number in 0..500 {
            insert(&mut writer, number, number)?;
        }
        assert!((0..500).all(|number| found(&MANY, at(number)) == Some(number)));
        assert_eq!(found(&MANY, at(500)), None);
        let mut retired = Retired::new();
        for number in 0..499 {
            retired.push(writer.remove(at(number))?);
        }
        writer.tidy();
        assert_eq!(writer.len(), 1);
        assert_eq!(found(&MANY, at(499)), Some(499));
        assert_eq!(found(&MANY, at(498)), None);
        retired.push(writer.remove(at(499))?);
        Ok(())
    }

    #[test]
    fn way_visits_each_word_once() {
        let array = Array(nothing(), PhantomData);
        for at in [0, 1, 0x1000, u64::MAX] {
            let mut seen = [0; 64];
            let (first, _, _) = array.home(TextAddr::new(at));
            for step in 0..64 {
                seen[array.get(first + step).0] += 1;
            }
            assert!(seen == [1; 64]);
        }
    }

    /// How many words lie on the ways to `count` addresses, `stride` bytes apart, in `LEN` words.
    fn words_visited<const LEN: usize>(count: usize, stride: u64) -> usize {
        let (mut used, mut visited) = ([false; LEN], 0);
        for number in 0..count as u64 {
            let hash = hash(TextAddr::new(BASE as u64 + number * stride));
            let mut index = (hash >> (u64::BITS - LEN.trailing_zeros())) as usize;
            visited += 1;
            while used[index] {
                index = (index + 1) % LEN;
                visited += 1;
            }
            used[index] = true;
        }
        visited
    }

    #[test]
    fn no_distance_between_addresses_is_bad() {
        let count = limit(1024);
        for stride in 1..=512 {
            // 1.3 words a way are what chance gives; the worst distance has 1.7.
            assert!(words_visited::<1024>(count, stride) <= count * 7 / 4);
        }
    }

    #[test]
    fn there_is_always_an_empty_word() {
        for bits in 1..20 {
            assert!(limit(1 << bits) < 1 << bits);
        }
        assert_eq!(limit(0), 0);
    }

    #[test]
    fn new_arrays_have_room() {
        assert_eq!(length(0), Ok(64));
        assert_eq!(length(8), Ok(64));
        assert_eq!(length(9), Ok(128));
        assert_eq!(length(30_000), Ok(262_144));
        assert_eq!(length(usize::MAX / 8), Err(Refusal::NoMemory));
        assert_eq!(length(usize::MAX), Err(Refusal::NoMemory));
        for entries in 0..1000 {
            assert!(length(entries).is_ok_and(|len| entries < limit(len)));
        }
    }
}

/// KASAN checks each access of this crate, see `check-kasan.py`. Here is what it has to know.
#[cfg(all(CONFIG_KASAN_GENERIC, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[kernel::macros::kunit_tests(rust_kprobes_kasan)]
mod kasan {
    use super::*;

    const AT: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    /// May anybody read there?
    fn is_accessible<T>(at: *const T) -> bool {
        // SAFETY: The function reads what KASAN knows of the address, which was memory before.
        unsafe { kernel::bindings::kasan_byte_accessible(at.cast()) }
    }

    #[test]
    fn freed_entries_and_arrays_are_poisoned() -> Result<(), Refusal> {
        static TABLE: Table<u64> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        writer.insert(Owned::new(AT, 0)?)?;
        let entry = core::ptr::from_ref(writer.get(AT).ok_or(Refusal::NotRegistered)?);
        let (_, word, _) = writer.array.home(AT);
        let word = core::ptr::from_ref(word);
        assert!(is_accessible(entry) && is_accessible(word));
        // More entries than the smallest array takes.
        for number in 1..40 {
            writer.insert(Owned::new(AT.after(number)?, number)?)?;
        }
        // SAFETY: It may sleep, as a test may.
        unsafe { kernel::bindings::kvfree_rcu_barrier() };
        assert!(is_accessible(entry) && !is_accessible(word));
        drop(writer.remove(AT)?);
        assert!(!is_accessible(entry));
        Ok(())
    }
}
