// SPDX-License-Identifier: GPL-2.0

//! Finds the entry for an address in constant time.
//!
//! The handler of a breakpoint looks up the probe point that was hit. It may run in an NMI: it
//! takes no lock and cannot wait, and a writer may be running on another CPU, or may have been
//! interrupted on this CPU. If the lookup fails, the kernel takes the breakpoint for a bug. So a
//! lookup finds an entry at every instant between the insertion and the removal of the entry.
//!
//! The table is an array of words with open addressing and linear probing. A word points to the
//! address at the start of an [`Entry`], to [`EMPTY`], or to [`REMOVED`] if an entry was removed.
//! [`EMPTY`] and [`REMOVED`] are the address [`NOWHERE`], so a lookup compares addresses before it
//! compares pointers.
//!
//! - A removed entry leaves [`REMOVED`], as other entries may follow. If the next word is empty,
//!   none follows, and the word becomes empty.
//! - An entry never moves within an array. When too few words are empty, the writer copies all
//!   pointers to a new array and publishes the array with one store. A reader of the old array
//!   finds there every entry that has been in the table since the reader began.
//! - Insertion, removal and replacement are one store each; a removal may store again, to make the
//!   word empty. Arrays and entries are freed a grace period of RCU after that.
//!
//! At most three sixteenths of the words are in use, and an eighth in a new array: of 30,000
//! entries, 95 % are found at their first word. In a growing table an entry takes 43 to 85 bytes of
//! the array. The kernel's rhashtable would not do: the lookup in a table that has grown without
//! memory for a large array calls `__rht_bucket_nested()`, which may be probed.
//!
//! The low bits of the pointer to the array have the shift that makes a hash the number of a word,
//! so one load gives both.
//!
//! C counterpart: `kprobe_table` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c), which has 64
//! chains for any number of probes.

use crate::{
    atomics::{
        AtomicPtr,
        Ordering, //
    },
    sys::prelude::*, //
};
use core::marker::PhantomData;
use kernel::sync::rcu;

/// The address for which there is no entry.
pub(crate) const NOWHERE: TextAddr = TextAddr::new(u64::MAX);

/// The target of an empty word.
static EMPTY: TextAddr = NOWHERE;

/// The target of a word from which an entry was removed.
static REMOVED: TextAddr = NOWHERE;

/// A word of an array: points to [`EMPTY`], to [`REMOVED`], or to the address of an [`Entry`].
type Word = AtomicPtr<TextAddr>;

const fn pointer(at: &TextAddr) -> *mut TextAddr {
    core::ptr::from_ref(at).cast_mut()
}

/// An entry in its own memory. Its address comes first, as a word points to the address.
#[repr(C)]
pub(crate) struct Entry<T> {
    /// The address.
    pub(crate) at: TextAddr,
    /// The next entry that waits for the same grace period.
    next: AtomicPtr<Entry<T>>,
    /// The value for the address.
    pub(crate) value: T,
}

impl<T> Entry<T> {
    /// Makes an entry for an address. The caller inserts it.
    pub(crate) fn new(at: TextAddr, value: T) -> Result<KBox<Self>, Refusal> {
        let next = AtomicPtr::new(core::ptr::null_mut());
        Ok(KBox::new(Self { at, next, value }, GFP_KERNEL)?)
    }

    /// Returns the value of the entry whose address this is.
    ///
    /// # Safety
    ///
    /// `at` is the address of an `Entry<T>` that is not freed during `'a`.
    #[inline(always)]
    unsafe fn value_of<'a>(at: *const TextAddr) -> &'a T {
        // SAFETY: By the precondition an entry begins at `at`, as its address comes first.
        let value = unsafe { &raw const (*at.cast::<Self>()).value };
        #[cfg_attr(miri, expect(unused_mut))]
        let mut value = value.expose_provenance();
        // The compiler would otherwise keep both `at` and `value` in a register as long as either
        // is used. Miri runs no assembly.
        #[cfg(not(miri))]
        // SAFETY: The template has no instruction.
        unsafe {
            core::arch::asm!("/* {} */", inout(reg) value,
                options(pure, nomem, nostack, preserves_flags))
        };
        // SAFETY: `value` is in the memory of an entry, so it is not NULL.
        unsafe { core::hint::assert_unchecked(value != 0) };
        // SAFETY: By the precondition the entry is not freed during `'a`.
        unsafe { &*core::ptr::with_exposed_provenance(value) }
    }
}

/// The length of the smallest array. Its alignment leaves room for [`SHIFT_BITS`].
const SMALLEST: usize = 64;

/// The bits of a published pointer that hold the shift.
const SHIFT_BITS: usize = 63;

/// The array of a table that never had an entry. All tables share it.
#[repr(align(512))]
#[expect(dead_code, reason = "it is read as an array of words, by its address")]
struct Nothing([Word; SMALLEST]);

static EMPTY_WORDS: Nothing = Nothing([const { Word::new(pointer(&EMPTY)) }; SMALLEST]);

/// The pointer to the shared array.
const NOTHING: *mut u8 = with_shift((&raw const EMPTY_WORDS).cast(), SMALLEST);

/// Returns the pointer to an array of `len` words, with its shift.
const fn with_shift(first: *const Word, len: usize) -> *mut u8 {
    let shift = u64::BITS - len.trailing_zeros();
    first.cast_mut().cast::<u8>().wrapping_add(shift as usize)
}

/// Returns the hash of an address. The top bits are the number of its first word.
///
/// The hash is the product of the address and 2^64 divided by the golden ratio. Addresses at some
/// fixed distances, such as stubs, would fill the same stretch of the array. Folding the address
/// onto itself first prevents that. Of shifts by 3 to 23 bits, the one by 7 leaves the fewest words
/// to look at.
#[inline(always)]
pub(crate) fn hash(at: TextAddr) -> u64 {
    let folded = at.get() ^ (at.get() >> 7);
    folded.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns how many of `len` words may be in use or removed.
fn limit(len: usize) -> usize {
    (len / 4).wrapping_sub(len / 16)
}

/// Returns the length of a new array for `entries`.
fn length(entries: usize) -> Result<usize, Refusal> {
    let words = entries.checked_mul(8).map(|words| words.max(SMALLEST));
    let len = words.and_then(usize::checked_next_power_of_two);
    len.ok_or(Refusal::NoMemory)
}

/// An array.
///
/// # Invariants
///
/// The address of an array of words plus its shift, from [`with_shift`]. The words outlive `'a`,
/// and so do the entries that they point to, or pointed to when a read-side section began.
#[derive(Clone, Copy)]
struct Array<'a>(*mut u8, PhantomData<&'a Word>);

/// The number of a word, and the address that the word points to.
type Found<'a> = (usize, &'a TextAddr);

impl<'a> Array<'a> {
    /// Returns the number of the last word.
    #[inline(always)]
    fn last(self) -> usize {
        u64::MAX.wrapping_shr(self.0.addr() as u32) as usize
    }

    /// Returns the word of a number. After the last word comes the first one.
    #[inline(always)]
    fn word(self, index: usize) -> &'a Word {
        let first = self.0.map_addr(|addr| addr & !SHIFT_BITS).cast::<Word>();
        // SAFETY: By the invariant there are words up to number `last()`, and the masked number is
        // no greater.
        unsafe { &*first.wrapping_add(index & self.last()) }
    }

    /// Returns the address that the word of a number points to.
    #[inline(always)]
    fn at(self, index: usize) -> &'a TextAddr {
        // SAFETY: By the invariant the word points to an address that is not freed during `'a`.
        unsafe { &*self.word(index).load(Ordering::Acquire) }
    }

    /// Returns the number of the first word that may have the entry for an address.
    #[inline(always)]
    fn home(self, at: TextAddr) -> usize {
        hash(at).wrapping_shr(self.0.addr() as u32) as usize
    }

    /// Returns the entry for an address.
    #[inline(always)]
    fn seek(self, at: TextAddr) -> Option<Found<'a>> {
        if at == NOWHERE {
            return None;
        }
        let index = self.home(at);
        let found = self.at(index);
        if *found == at {
            return Some((index, found));
        }
        self.seek_further(at, index, found)
    }

    /// Continues [`seek`](Self::seek) after word number `index`, which points to `found`. Out of
    /// line, as most lookups end at the first word.
    #[inline(never)]
    fn seek_further(
        self,
        at: TextAddr,
        index: usize,
        mut found: &'a TextAddr,
    ) -> Option<Found<'a>> {
        let mut next = index;
        // The loop ends: more than half of the words are empty.
        while !core::ptr::eq(found, &EMPTY) {
            next = next.wrapping_add(1) & self.last();
            found = self.at(next);
            if *found == at {
                return Some((next, found));
            }
        }
        None
    }

    /// Makes a word point to `entry`, and returns its previous pointer. The release makes readers
    /// see the address of the entry, and its value. Only the writer calls this.
    fn store(self, index: usize, entry: *mut TextAddr) -> *mut TextAddr {
        let word = self.word(index);
        let before = word.load(Ordering::Relaxed);
        word.store(entry, Ordering::Release);
        before
    }

    /// Returns the number of the first word without an entry, from the first word of an address on.
    /// There is such a word, as more than half of the words are empty.
    fn vacancy(self, at: TextAddr) -> usize {
        let mut index = self.home(at);
        while *self.at(index) != NOWHERE {
            index = index.wrapping_add(1);
        }
        index
    }
}

/// A table, for its readers.
///
/// # Invariants
///
/// The pointer is an [`Array`] whose words point to [`EMPTY`], [`REMOVED`] and entries of type
/// `Entry<T>`. An array and an entry are freed no sooner than a grace period after they were
/// replaced here.
pub(crate) struct Table<T: Send + Sync + 'static>(AtomicPtr<u8>, PhantomData<T>);

impl<T: Send + Sync> Table<T> {
    /// Makes a table without entries.
    pub(crate) const fn empty() -> Self {
        // INVARIANT: The shared array has only empty words, and is never freed.
        Self(AtomicPtr::new(NOTHING), PhantomData)
    }

    #[inline(always)]
    fn array<'a>(&'a self, _no_preempt: &'a PreemptOff) -> Array<'a> {
        // INVARIANT: By the invariant of the table. While preemption is off, no grace period ends
        // that began later.
        Array(self.0.load(Ordering::Acquire), PhantomData)
    }

    /// Returns the entry for an address. The caller stays on the CPU.
    ///
    /// A lookup finds every entry that was inserted before the call and is not removed before the
    /// return.
    #[inline(always)]
    pub(crate) fn find<'a>(&'a self, at: TextAddr, no_preempt: &'a PreemptOff) -> Option<&'a T> {
        let (_, found) = self.array(no_preempt).seek(at)?;
        // SAFETY: `seek` never finds the address `NOWHERE`, so by the invariant of the table this
        // is the address of an entry, which is not freed while preemption is off.
        Some(unsafe { Entry::value_of(found) })
    }

    /// Returns all entries, in no order. The caller stays on the CPU.
    pub(crate) fn iter<'a>(&'a self, no_preempt: &'a PreemptOff) -> Entries<'a, T> {
        Entries(self.array(no_preempt), 0, PhantomData)
    }
}

/// The entries of a table: the array of a `Table<T>`, and the number of the next word.
//
// A named type: with the types of adapters, symbols would be longer than objtool and kallsyms take.
pub(crate) struct Entries<'a, T>(Array<'a>, usize, PhantomData<&'a T>);

impl<'a, T> Iterator for Entries<'a, T> {
    type Item = &'a Entry<T>;

    fn next(&mut self) -> Option<&'a Entry<T>> {
        while self.1 <= self.0.last() {
            let target = self.0.word(self.1).load(Ordering::Acquire);
            self.1 = self.1.wrapping_add(1);
            // Most words are empty: nothing is read from their target.
            if ![pointer(&EMPTY), pointer(&REMOVED)].contains(&target) {
                // SAFETY: The entries of the table have this type, and are not freed during `'a`.
                return Some(unsafe { &*target.cast() });
            }
        }
        None
    }
}

/// The right to change a table. The first writer that inserts an entry gets it. Other writers see
/// an empty table from then on.
///
/// # Invariants
///
/// `words` is zero, or the length of the array that this writer has published in the table, in
/// which
///
/// - `live` words point to an entry, no two for the same address;
/// - no word from the first one of an address up to its entry is empty;
/// - [`limit`] of `words` less `room` words are not empty.
pub(crate) struct Writer<T: Send + Sync + 'static> {
    table: &'static Table<T>,
    words: usize,
    live: usize,
    room: usize,
}

impl<T: Send + Sync> Writer<T> {
    /// Makes a writer for a table that never had an entry.
    pub(crate) const fn of(table: &'static Table<T>) -> Self {
        // INVARIANT: This writer has published nothing.
        Self {
            table,
            words: 0,
            live: 0,
            room: 0,
        }
    }

    /// Returns the array that this writer may change, or an array without entries.
    fn array(&self) -> Array<'_> {
        let array = match self.words {
            0 => NOTHING,
            _ => self.table.0.load(Ordering::Relaxed),
        };
        // INVARIANT: Only this writer removes or frees what it has published, and it is borrowed.
        Array(array, PhantomData)
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Returns the entry for an address.
    pub(crate) fn get(&self, at: TextAddr) -> Option<&T> {
        let (_, found) = self.array().seek(at)?;
        // SAFETY: `seek` never finds the address `NOWHERE`, so by the invariant of the table this
        // is the address of an entry, which no code removes while the writer is borrowed.
        Some(unsafe { Entry::value_of(found) })
    }

    /// Returns all entries, in no order.
    pub(crate) fn iter(&self) -> Entries<'_, T> {
        Entries(self.array(), 0, PhantomData)
    }

    /// Inserts an entry. Fails if its address has an entry, or the table has another writer.
    pub(crate) fn insert(&mut self, entry: KBox<Entry<T>>) -> Result<(), Refusal> {
        let at = entry.at;
        match at {
            NOWHERE => return Err(Refusal::OutOfText),
            _ if self.array().seek(at).is_some() => return Err(Refusal::AddressTaken),
            _ if self.room == 0 => self.rebuild(length(self.live.wrapping_add(1))?)?,
            _ => (),
        }
        // INVARIANT: The words before the vacancy are not empty, and there is room.
        let index = self.array().vacancy(at);
        let before = self.array().store(index, KBox::into_raw(entry).cast());
        self.room = self.room.wrapping_sub(core::ptr::eq(before, &EMPTY).into());
        self.live = self.live.wrapping_add(1);
        Ok(())
    }

    /// Replaces the entry for the same address, and returns the old entry. The address has an entry
    /// at every instant.
    pub(crate) fn replace(&mut self, entry: KBox<Entry<T>>) -> Result<Retired<T>, Refusal> {
        let (index, _) = self.array().seek(entry.at).ok_or(Refusal::NotRegistered)?;
        let before = self.array().store(index, KBox::into_raw(entry).cast());
        // INVARIANT: The word pointed to an entry, and no word points to it any more.
        Ok(Retired(before.cast()))
    }

    /// Removes the entry for an address. Readers may see it for a grace period.
    pub(crate) fn remove(&mut self, at: TextAddr) -> Result<Retired<T>, Refusal> {
        let (index, _) = self.array().seek(at).ok_or(Refusal::NotRegistered)?;
        Ok(self.vacate(index))
    }

    /// Removes all entries that are not wanted, in one pass over the array.
    pub(crate) fn remove_all(&mut self, unwanted: impl Fn(&T) -> bool, retired: &mut Retired<T>) {
        // From the end: if a word becomes empty, the previous word may become empty, too.
        for index in (0..self.words).rev() {
            let found = self.array().at(index);
            // SAFETY: By the invariant of the table, an address other than `NOWHERE` is the address
            // of an entry, which no code removes while the writer is borrowed.
            if *found != NOWHERE && unwanted(unsafe { Entry::value_of(found) }) {
                retired.push(self.vacate(index));
            }
        }
    }

    /// Publishes a smaller array if the entries need far less. Does nothing if there is no memory.
    pub(crate) fn shrink(&mut self) {
        if length(self.live.saturating_mul(2)).is_ok_and(|len| len < self.words) {
            // If this fails, the old array is still in use.
            let _ = length(self.live).and_then(|len| self.rebuild(len));
        }
    }

    /// Copies all entries to a new array, which is long enough for them, and publishes the array.
    fn rebuild(&mut self, len: usize) -> Result<(), Refusal> {
        let mut words = KVVec::with_capacity(len, GFP_KERNEL)?;
        for _ in 0..len {
            words.push(Word::new(pointer(&EMPTY)), GFP_KERNEL)?;
        }
        // INVARIANT: The allocator aligns an array of this length to 64 bytes or more. No code
        // frees the array before it is replaced.
        let array = Array(with_shift(words.as_ptr(), len), PhantomData);
        for entry in self.iter().take(self.live) {
            let word = array.word(array.vacancy(entry.at));
            word.store(
                core::ptr::from_ref(entry).cast_mut().cast(),
                Ordering::Relaxed,
            );
        }
        let old = self.array().0;
        // The release makes readers see the words of the new array.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let published = &self.table.0;
        let exchanged = published.compare_exchange(old, array.0, success, failure);
        // The exchange fails if the table has another writer.
        exchanged.map_err(|_| Refusal::NotRegistered)?;
        let _ = words.into_raw_parts();
        if self.words != 0 {
            let old = old.map_addr(|addr| addr & !SHIFT_BITS);
            // SAFETY: The old array came from the allocator of `KVVec`, and no lookup finds it any
            // more. The function frees it after a grace period, and may sleep, as writers may.
            unsafe { bindings::kvfree_call_rcu(core::ptr::null_mut(), old.cast()) };
        }
        // INVARIANT: Each entry is in the first vacancy for it, and no other word is in use.
        self.words = len;
        self.room = limit(len).wrapping_sub(self.live);
        Ok(())
    }

    /// Removes the entry that a word points to.
    fn vacate(&mut self, mut index: usize) -> Retired<T> {
        let (array, mut room) = (self.array(), self.room);
        let entry = array.store(index, pointer(&REMOVED));
        let points_to = |index, to| core::ptr::eq(array.at(index), to);
        while points_to(index.wrapping_add(1), &EMPTY) && points_to(index, &REMOVED) {
            // INVARIANT: No entry follows a word whose next word is empty.
            array.store(index, pointer(&EMPTY));
            room = room.wrapping_add(1);
            index = index.wrapping_sub(1);
        }
        self.room = room;
        self.live = self.live.wrapping_sub(1);
        // INVARIANT: The word pointed to an entry, and no word points to it any more.
        Retired(entry.cast())
    }
}

/// Entries that were removed from their tables, to be freed together after one grace period.
///
/// # Invariants
///
/// The pointer is NULL, or leads to an entry that came from a [`KBox`] and that no other code
/// frees; so does the `next` of each entry. Only readers in sections that began before the removal
/// use the entries.
pub(crate) struct Retired<T>(*mut Entry<T>);

impl<T> Retired<T> {
    /// Makes a list without entries.
    pub(crate) const fn new() -> Self {
        // INVARIANT: The pointer is NULL.
        Self(core::ptr::null_mut())
    }

    /// Returns the first entry.
    pub(crate) fn first(&self) -> Option<&Entry<T>> {
        // SAFETY: By the invariant the pointer is NULL, or leads to an entry that is not freed
        // before this value.
        unsafe { self.0.as_ref() }
    }

    /// Adds entries. Cannot fail, as an entry has room for the link.
    pub(crate) fn push(&mut self, mut removed: Self) {
        while let Some(entry) = removed.pop() {
            entry.next.store(self.0, Ordering::Relaxed);
            // INVARIANT: The entry came from `removed`, and is not in that list any more.
            self.0 = KBox::into_raw(entry);
        }
    }

    fn pop(&mut self) -> Option<KBox<Entry<T>>> {
        let entry = self.0;
        self.0 = self.first()?.next.load(Ordering::Relaxed);
        // SAFETY: By the invariant the entry came from a `KBox`, and no other code frees it: it is
        // not in the list any more.
        Some(unsafe { KBox::from_raw(entry) })
    }

    /// Waits for a grace period, even without entries, and frees the entries.
    pub(crate) fn wait(self) {
        if self.0.is_null() {
            rcu::synchronize_rcu();
        }
        // With entries, `drop()` waits.
    }
}

impl<T> Drop for Retired<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            rcu::synchronize_rcu();
            while self.pop().is_some() {}
        }
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_table))]
mod tests {
    use crate::{
        sys::prelude::*,
        table::{
            hash,
            length,
            limit,
            Array,
            Entry,
            Retired,
            Table,
            Word,
            Writer,
            EMPTY,
            NOTHING,
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
        writer.insert(Entry::new(at(number), mark)?)
    }

    /// The mark of the entry that was removed.
    fn mark(removed: Result<Retired<usize>, Refusal>) -> Result<usize, Refusal> {
        removed.map(|removed| removed.first().map_or(0, |entry| entry.value))
    }

    fn found(table: &Table<usize>, at: TextAddr) -> Option<usize> {
        table.find(at, &PreemptOff::new()).copied()
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
        let home = |number| writer.array().home(at(number));
        let mut same = (0..).filter(|&number| home(number) == home(0));
        core::array::from_fn(|_| same.next().unwrap_or_default())
    }

    /// The number of words that a lookup looks at.
    fn way(array: Array<'_>, at: TextAddr) -> usize {
        let first = array.home(at);
        let ends = |&index: &usize| {
            let found = array.at(index);
            *found == at || core::ptr::eq(found, &EMPTY)
        };
        (first..).position(|index| ends(&index)).unwrap_or_default() + 1
    }

    /// The number of words that are not empty.
    fn used(writer: &Writer<usize>) -> usize {
        let is_used = |&index: &usize| !core::ptr::eq(writer.array().at(index), &EMPTY);
        (0..=writer.array().last()).filter(is_used).count()
    }

    /// Returns whether the counts of the writer match the array.
    fn is_sound(writer: &Writer<usize>) -> bool {
        let no_preempt = PreemptOff::new();
        let places = writer.table.iter(&no_preempt).map(|one| one.at);
        writer.iter().count() == writer.live
            && used(writer) >= writer.live
            && used(writer) + writer.room == limit(writer.words)
            && writer
                .iter()
                .all(|one| writer.get(one.at) == Some(&one.value))
            && writer.iter().map(|one| one.at).eq(places)
    }

    #[test]
    fn entries_are_found_from_insert_to_remove() -> Result<(), Refusal> {
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
        let replaced = writer.replace(Entry::new(at(3), 1)?);
        assert_eq!(mark(replaced), Err(Refusal::NotRegistered));
        insert(&mut writer, 3, 1)?;
        assert_eq!(insert(&mut writer, 3, 2), Err(Refusal::AddressTaken));
        assert_eq!(mark(writer.replace(Entry::new(at(3), 2)?)), Ok(1));
        assert!(holds(&TABLE, &[0, 0, 0, 2]));
        assert_eq!(writer.len(), 1);
        mark(writer.remove(at(3))).map(drop)
    }

    #[test]
    fn lookups_end_at_an_empty_word() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        let [a, b, c] = neighbours::<3>(&writer);
        insert(&mut writer, a, 1)?;
        insert(&mut writer, b, 1)?;
        for (number, words) in [(a, 1), (b, 2), (c, 3)] {
            assert_eq!(way(writer.array(), at(number)), words);
            assert_eq!(found(&TABLE, at(number)).is_some(), words < 3);
        }
        writer.remove_all(|_| true, &mut Retired::new());
        Ok(())
    }

    #[test]
    fn nowhere_is_neither_found_nor_inserted() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        assert_eq!(found(&TABLE, NOWHERE), None);
        let nowhere = Entry::new(NOWHERE, 0)?;
        assert_eq!(writer.insert(nowhere), Err(Refusal::OutOfText));
        // A removed entry leaves a word that has this address.
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
    fn removed_words_at_the_end_of_a_way_become_empty() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
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
    fn oversized_rebuild_fails_and_keeps_entries() -> Result<(), Refusal> {
        static TABLE: Table<usize> = Table::empty();
        let mut writer = Writer::of(&TABLE);
        insert(&mut writer, 0, 1)?;
        assert_eq!(writer.rebuild(usize::MAX), Err(Refusal::NoMemory));
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
        assert_eq!(writer.words, 2048);
        assert!(is_sound(&writer) && holds(&TABLE, &[1; 256]));
        let mut retired = Retired::new();
        for number in 9..256 {
            retired.push(writer.remove(at(number))?);
        }
        assert_eq!(writer.words, 2048);
        writer.shrink();
        assert_eq!(writer.words, 128);
        assert!(is_sound(&writer) && holds(&TABLE, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 0]));
        writer.remove_all(|_| true, &mut retired);
        Ok(())
    }

    #[test]
    fn remove_all_removes_each_match() -> Result<(), Refusal> {
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
                    assert_eq!(removed.first().map_or(0, |entry| entry.value), before);
                    retired.push(removed);
                    marks[number] = 0;
                }
                6 if before != 0 => {
                    let replaced = writer.replace(Entry::new(at(number), mark)?)?;
                    assert_eq!(replaced.first().map_or(0, |entry| entry.value), before);
                    retired.push(replaced);
                    marks[number] = mark;
                }
                0..=2 => assert!(writer.get(at(number)).is_some()),
                _ => writer.shrink(),
            }
            assert!(holds(&TABLE, &marks));
            assert!(is_sound(&writer));
        }
        writer.remove_all(|_| true, &mut retired);
        Ok(())
    }

    #[test]
    fn tables_are_independent() -> Result<(), Refusal> {
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
    fn only_the_first_writer_changes_a_table() -> Result<(), Refusal> {
        static ALONE: Table<usize> = Table::empty();
        let (mut first, mut second) = (Writer::of(&ALONE), Writer::of(&ALONE));
        insert(&mut first, 0, 7)?;
        assert!(insert(&mut second, 0, 8).is_err());
        assert!(second.get(at(0)).is_none() && second.iter().next().is_none());
        assert!(second.remove(at(0)).is_err());
        second.shrink();
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
        writer.shrink();
        assert_eq!(writer.len(), 1);
        assert_eq!(found(&MANY, at(499)), Some(499));
        assert_eq!(found(&MANY, at(498)), None);
        retired.push(writer.remove(at(499))?);
        Ok(())
    }

    #[test]
    fn way_visits_each_word_once() {
        let array = Array(NOTHING, PhantomData);
        let first_word = array.word(0);
        let number =
            |word: &Word| core::ptr::from_ref(word).addr() - core::ptr::from_ref(first_word).addr();
        for at in [0, 1, 0x1000, u64::MAX] {
            let mut seen = [0; 64];
            let first = array.home(TextAddr::new(at));
            for step in 0..64 {
                seen[number(array.word(first + step)) / size_of::<Word>()] += 1;
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
    fn lookups_are_short_at_any_stride() {
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

/// KASAN checks each access of this crate. Here is what it has to know.
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
        writer.insert(Entry::new(AT, 0)?)?;
        let entry = core::ptr::from_ref(writer.get(AT).ok_or(Refusal::NotRegistered)?);
        let array = writer.array();
        let word = core::ptr::from_ref(array.word(array.home(AT)));
        assert!(is_accessible(entry) && is_accessible(word));
        // More entries than the smallest array takes.
        for number in 1..40 {
            writer.insert(Entry::new(AT.after(number)?, number)?)?;
        }
        // SAFETY: It may sleep, as a test may.
        unsafe { kernel::bindings::kvfree_rcu_barrier() };
        assert!(is_accessible(entry) && !is_accessible(word));
        drop(writer.remove(AT)?);
        assert!(!is_accessible(entry));
        Ok(())
    }
}
