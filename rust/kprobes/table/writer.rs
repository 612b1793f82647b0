// SPDX-License-Identifier: GPL-2.0

//! The half of the table that changes it.
//!
//! There is one for a table, and who may change the table holds it: in the kernel it is the data of
//! a mutex. Each change that a reader can see is one store, and between any two of them the table
//! is as [`super`] says. What can fail, getting memory for a new array, comes before the first of
//! them.
//!
//! Removal gets no memory, so it cannot fail and may be part of undoing; what it leaves behind is
//! put in order by the next insertion that finds it too much, or by [`Writer::tidy`].

use super::{
    lookup::{
        self,
        Table, //
    },
    memory::{
        self,
        Memory,
        Slot, //
    },
    place, //
};
use crate::model::{
    addr::TextAddr,
    refusal::Refusal, //
};

/// The right to change a table.
///
/// # Invariants
///
/// In the current array:
///
/// - `live` words have an entry, no two of the same address, and `left` were left by one;
/// - no word on the way from an address's first word to its entry is empty;
/// - `live + left` is at most [`place::limit`] of the array's length.
pub(crate) struct Writer<'t, M: Memory> {
    table: &'t Table<M>,
    key: M::Key,
    live: usize,
    left: usize,
}

/// The entries of a table.
//
// A type of its own: with those of adapters, the symbols of who uses them would be longer than what
// objtool and kallsyms take.
pub(crate) struct Entries<'a, M: Memory> {
    memory: &'a M,
    words: core::slice::Iter<'a, M::Word>,
}

impl<'a, M: Memory> Iterator for Entries<'a, M> {
    type Item = M::Entry<'a>;

    fn next(&mut self) -> Option<M::Entry<'a>> {
        self.words.find_map(|word| match self.memory.read(word) {
            Slot::Live(entry) => Some(entry),
            Slot::Empty | Slot::Left => None,
        })
    }
}

impl<'t, M: Memory> Writer<'t, M> {
    /// The right to change a table in which nothing was published yet.
    pub(crate) const fn new(table: &'t Table<M>, key: M::Key) -> Self {
        // INVARIANT: There is no array.
        Self {
            table,
            key,
            live: 0,
            left: 0,
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// The entry for an address.
    pub(crate) fn get(&self, at: TextAddr) -> Option<M::Entry<'_>> {
        lookup::seek(self.table.memory(), self.words(), at).map(|(_, entry)| entry)
    }

    /// All entries, in no order.
    pub(crate) fn iter(&self) -> Entries<'_, M> {
        Entries {
            memory: self.table.memory(),
            words: self.words().iter(),
        }
    }

    /// Makes room, so that the next `more` insertions get no memory and do not fail for lack of it.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), Refusal> {
        let used = self.live.checked_add(self.left);
        let used = used.and_then(|used| used.checked_add(more));
        if used.is_some_and(|used| used <= place::limit(self.words().len())) {
            return Ok(());
        }
        let entries = self.live.checked_add(more).ok_or(Refusal::NoMemory)?;
        self.rebuild(place::length(entries, M::SMALLEST)?)
    }

    /// Puts an entry into the table, unless its address has one.
    pub(crate) fn insert(&mut self, owned: M::Owned) -> Result<(), Refusal> {
        let memory = self.table.memory();
        let at = memory.address(memory.entry(&owned));
        if at == memory::NOWHERE {
            return Err(Refusal::OutOfText);
        }
        if self.get(at).is_some() {
            return Err(Refusal::AddressTaken);
        }
        self.reserve(1)?;
        let index = vacancy(memory, self.words(), at).ok_or(Refusal::NoMemory)?;
        // INVARIANT: The first free word on the way: those before it are not empty. `reserve` has
        // seen to the limit.
        if let Slot::Left = memory.swap(&mut self.key, index, Slot::Live(owned)) {
            self.left = self.left.wrapping_sub(1);
        }
        self.live = self.live.wrapping_add(1);
        Ok(())
    }

    /// Puts an entry in the place of the one for the same address, which it gives back. At no
    /// instant does the address have none.
    pub(crate) fn replace(&mut self, owned: M::Owned) -> Result<M::Owned, Refusal> {
        let memory = self.table.memory();
        let at = memory.address(memory.entry(&owned));
        let index = self.index(at).ok_or(Refusal::NotRegistered)?;
        match memory.swap(&mut self.key, index, Slot::Live(owned)) {
            Slot::Live(before) => Ok(before),
            Slot::Empty | Slot::Left => Err(Refusal::NotRegistered),
        }
    }

    /// Takes the entry for an address out of the table. Readers may see it for a grace period.
    pub(crate) fn remove(&mut self, at: TextAddr) -> Result<M::Owned, Refusal> {
        let index = self.index(at).ok_or(Refusal::NotRegistered)?;
        self.take(index).ok_or(Refusal::NotRegistered)
    }

    /// Takes all entries that are not wanted out of the table, looking at each once.
    #[allow(dead_code, reason = "without modules, none go together")]
    pub(crate) fn remove_all(
        &mut self,
        unwanted: impl Fn(M::Entry<'_>) -> bool,
        mut removed: impl FnMut(M::Owned),
    ) {
        // From the end, where a word that is left empty lets the one before be empty, too.
        for index in (0..self.words().len()).rev() {
            let goes = matches!(self.slot(index), Slot::Live(entry) if unwanted(entry));
            if let Some(owned) = goes.then(|| self.take(index)).flatten() {
                removed(owned);
            }
        }
    }

    /// Takes the entry in a word, which has one, out of the table.
    fn take(&mut self, index: usize) -> Option<M::Owned> {
        let is_last = matches!(self.slot(index.wrapping_add(1)), Slot::Empty);
        let slot = if is_last { Slot::Empty } else { Slot::Left };
        // INVARIANT: The word is left empty only if no way leads over it, as the next one is empty.
        let before = self.table.memory().swap(&mut self.key, index, slot);
        self.live = self.live.wrapping_sub(1);
        if is_last {
            self.sweep(index);
        } else {
            self.left = self.left.wrapping_add(1);
        }
        match before {
            Slot::Live(owned) => Some(owned),
            Slot::Empty | Slot::Left => None,
        }
    }

    /// Gives back memory that so few entries do not need. To be called after removals; does nothing
    /// while there is no memory for a smaller array.
    pub(crate) fn tidy(&mut self) {
        let roomy = place::length(self.live.saturating_mul(2), M::SMALLEST);
        if roomy.is_ok_and(|len| len < self.words().len()) {
            // What is there still serves.
            let _ = place::length(self.live, M::SMALLEST).and_then(|len| self.rebuild(len));
        }
    }

    /// Empties the words before `index`, which is empty, that were left.
    fn sweep(&mut self, index: usize) {
        let mut index = index.wrapping_sub(1);
        while matches!(self.slot(index), Slot::Left) {
            let at = index & self.mask();
            // INVARIANT: No way leads over it, as the next one is empty.
            self.table.memory().swap(&mut self.key, at, Slot::Empty);
            self.left = self.left.wrapping_sub(1);
            index = index.wrapping_sub(1);
        }
    }

    /// Takes all entries over to a new array. It is long enough for them.
    fn rebuild(&mut self, len: usize) -> Result<(), Refusal> {
        let memory = self.table.memory();
        let mut fresh = memory.allocate(len)?;
        for (from, word) in self.words().iter().enumerate() {
            if let Slot::Live(entry) = memory.read(word) {
                let to = vacancy(memory, memory.words(&fresh), memory.address(entry))
                    .ok_or(Refusal::NoMemory)?;
                memory.carry(&self.key, from, &mut fresh, to);
            }
        }
        // INVARIANT: Each entry is in the first free word on its way, and nothing was left.
        memory.publish(&mut self.key, fresh);
        self.left = 0;
        Ok(())
    }

    fn words(&self) -> &[M::Word] {
        self.table.memory().held(&self.key)
    }

    fn mask(&self) -> usize {
        self.words().len().wrapping_sub(1)
    }

    fn index(&self, at: TextAddr) -> Option<usize> {
        lookup::seek(self.table.memory(), self.words(), at).map(|(index, _)| index)
    }

    /// What a word says; beyond the last comes the first.
    fn slot(&self, index: usize) -> Slot<M::Entry<'_>> {
        let word = self.words().get(index & self.mask());
        word.map_or(Slot::Empty, |word| self.table.memory().read(word))
    }
}

/// The number of the first word on the way of an address that has no entry.
fn vacancy<M: Memory>(memory: &M, words: &[M::Word], at: TextAddr) -> Option<usize> {
    place::path(at, words.len()).find(|&index| {
        words
            .get(index)
            .is_some_and(|word| !matches!(memory.read(word), Slot::Live(_)))
    })
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_table))]
mod tests {
    use super::*;
    use crate::table::fixed::{
        Fixed,
        Tagged, //
    };

    const BASE: usize = 0xc010_0000;

    /// Number `number` of the addresses that the tests use, with a mark.
    fn entry(number: usize, mark: usize) -> Tagged {
        Tagged(BASE + 16 * number + mark)
    }

    fn at(number: usize) -> TextAddr {
        entry(number, 0).at()
    }

    /// Addresses whose first word is the same in an array of `len`: their numbers.
    fn neighbours<const N: usize>(len: usize) -> [usize; N] {
        let first = place::home(at(0), len - 1);
        let mut same = (0..).filter(|&number| place::home(at(number), len - 1) == first);
        core::array::from_fn(|_| same.next().unwrap_or_default())
    }

    /// Does a reader find exactly these, of the first `marks.len()` addresses? 0 stands for none.
    fn holds<const LEN: usize>(table: &Table<Fixed<LEN>>, marks: &[usize]) -> bool {
        marks.iter().enumerate().all(|(number, &mark)| {
            let expected = (mark != 0).then(|| entry(number, mark));
            table.find(at(number), &()) == expected
        })
    }

    /// Is what the writer knows about the current array what is in it?
    fn is_sound<const LEN: usize>(writer: &Writer<'_, Fixed<LEN>>) -> bool {
        let memory = writer.table.memory();
        writer.iter().count() == writer.live
            && memory.used() == writer.live + writer.left
            && memory.used() <= place::limit(memory.len())
            && writer.iter().all(|one| writer.get(one.at()) == Some(one))
            && writer.iter().eq(writer.table.each(&()))
    }

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        assert_eq!(TABLE.find(at(1), &()), None);
        writer.insert(entry(1, 5))?;
        writer.insert(entry(2, 6))?;
        assert!(holds(&TABLE, &[0, 5, 6, 0]));
        assert_eq!(writer.len(), 2);
        assert_eq!(writer.remove(at(1)), Ok(entry(1, 5)));
        assert!(holds(&TABLE, &[0, 0, 6, 0]));
        assert_eq!(writer.remove(at(1)), Err(Refusal::NotRegistered));
        assert_eq!(writer.len(), 1);
        Ok(())
    }

    #[test]
    fn an_address_has_one_entry() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        assert_eq!(writer.replace(entry(3, 1)), Err(Refusal::NotRegistered));
        writer.insert(entry(3, 1))?;
        assert_eq!(writer.insert(entry(3, 2)), Err(Refusal::AddressTaken));
        assert_eq!(writer.replace(entry(3, 2)), Ok(entry(3, 1)));
        assert!(holds(&TABLE, &[0, 0, 0, 2]));
        assert_eq!(writer.len(), 1);
        Ok(())
    }

    #[test]
    fn lookups_end_at_an_empty_word() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(TABLE.memory().len());
        writer.insert(entry(a, 1))?;
        writer.insert(entry(b, 1))?;
        for (number, words) in [(a, 1), (b, 2), (c, 3)] {
            TABLE.memory().looks();
            TABLE.find(at(number), &());
            assert_eq!(TABLE.memory().looks(), words);
        }
        Ok(())
    }

    #[test]
    fn nothing_is_nowhere() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        assert_eq!(TABLE.find(memory::NOWHERE, &()), None);
        assert_eq!(writer.insert(Tagged(0)), Err(Refusal::OutOfText));
        // Where an entry has left, there is one for this address.
        writer.reserve(6)?;
        let [a, b] = neighbours::<2>(TABLE.memory().len());
        writer.insert(entry(a, 1))?;
        writer.insert(entry(b, 1))?;
        writer.remove(at(a))?;
        assert_eq!(TABLE.find(memory::NOWHERE, &()), None);
        assert_eq!(writer.remove(memory::NOWHERE), Err(Refusal::NotRegistered));
        Ok(())
    }

    #[test]
    fn entries_behind_a_removed_one_are_found() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(TABLE.memory().len());
        for number in [a, b, c] {
            writer.insert(entry(number, 1))?;
        }
        writer.remove(at(a))?;
        assert!(TABLE.find(at(b), &()).is_some() && TABLE.find(at(c), &()).is_some());
        // The word that was left is used again, and not twice.
        writer.insert(entry(a, 2))?;
        assert_eq!(TABLE.memory().used(), 3);
        assert!(is_sound(&writer));
        Ok(())
    }

    #[test]
    fn words_at_the_end_of_a_way_become_empty_again() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        writer.reserve(6)?;
        let [a, b, c] = neighbours::<3>(TABLE.memory().len());
        for number in [a, b, c] {
            writer.insert(entry(number, 1))?;
        }
        writer.remove(at(a))?;
        writer.remove(at(b))?;
        assert_eq!(TABLE.memory().used(), 3);
        writer.remove(at(c))?;
        assert_eq!(TABLE.memory().used(), 0);
        assert!(is_sound(&writer));
        Ok(())
    }

    #[test]
    fn lack_of_memory_changes_nothing() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<64>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        TABLE.memory().exhaust(true);
        assert_eq!(writer.insert(entry(0, 1)), Err(Refusal::NoMemory));
        TABLE.memory().exhaust(false);
        writer.reserve(1)?;
        TABLE.memory().exhaust(true);
        for number in 0..2 {
            writer.insert(entry(number, 1))?;
        }
        assert_eq!(writer.insert(entry(2, 1)), Err(Refusal::NoMemory));
        assert_eq!(writer.reserve(usize::MAX), Err(Refusal::NoMemory));
        assert!(holds(&TABLE, &[1, 1, 0]));
        assert!(is_sound(&writer));
        assert_eq!(writer.remove(at(1)), Ok(entry(1, 1)));
        assert!(holds(&TABLE, &[1, 0, 0]));
        Ok(())
    }

    #[test]
    fn arrays_grow_and_shrink() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<2048>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        for number in 0..256 {
            writer.insert(entry(number, 1))?;
        }
        assert_eq!(TABLE.memory().len(), 2048);
        assert!(is_sound(&writer) && holds(&TABLE, &[1; 256]));
        for number in 4..256 {
            writer.remove(at(number))?;
        }
        assert_eq!(TABLE.memory().len(), 2048);
        TABLE.memory().exhaust(true);
        writer.tidy();
        assert_eq!(TABLE.memory().len(), 2048);
        TABLE.memory().exhaust(false);
        writer.tidy();
        assert_eq!(TABLE.memory().len(), 32);
        assert!(is_sound(&writer) && holds(&TABLE, &[1, 1, 1, 1, 0]));
        Ok(())
    }

    #[test]
    fn many_are_removed_without_looking_for_each() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<512>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        for number in 0..64 {
            writer.insert(entry(number, 1 + number % 2))?;
        }
        TABLE.memory().reads();
        let mut count = 0;
        writer.remove_all(
            |one| one.0 % 2 == 0,
            |one| {
                assert_eq!(one.0 % 2, 0);
                count += 1;
            },
        );
        assert_eq!((count, writer.len()), (32, 32));
        // Each word by itself; for each that is emptied, the one behind it and those left before.
        assert!(TABLE.memory().reads() <= 512 + 3 * 32);
        assert!((0..64).all(|number| {
            let expected = (number % 2 == 0).then(|| entry(number, 1));
            TABLE.find(at(number), &()) == expected
        }));
        assert!(is_sound(&writer));
        Ok(())
    }

    #[test]
    fn random_changes_are_those_of_a_map() -> Result<(), Refusal> {
        static TABLE: Table<Fixed<512>> = Table::new(Fixed::new());
        let mut writer = TABLE.begin();
        let (mut marks, mut random) = ([0; 40], 1u32);
        for _ in 0..4000 {
            // Numerical Recipes' generator; its high bits are good.
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (random >> 8) as usize % marks.len();
            let mark = (random >> 28) as usize % 15 + 1;
            let before = marks[number];
            match (random >> 24) % 8 {
                0..=2 if before == 0 => {
                    writer.insert(entry(number, mark))?;
                    marks[number] = mark;
                }
                0..=2 => assert!(writer.insert(entry(number, mark)).is_err()),
                3..=5 if before == 0 => assert!(writer.remove(at(number)).is_err()),
                3..=5 => {
                    assert_eq!(writer.remove(at(number)), Ok(entry(number, before)));
                    marks[number] = 0;
                }
                6 if before != 0 => {
                    assert_eq!(
                        writer.replace(entry(number, mark)),
                        Ok(entry(number, before))
                    );
                    marks[number] = mark;
                }
                _ => writer.tidy(),
            }
            assert!(holds(&TABLE, &marks));
            assert!(is_sound(&writer));
        }
        Ok(())
    }
}
