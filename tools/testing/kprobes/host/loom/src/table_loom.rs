// SPDX-License-Identifier: GPL-2.0

//! The lookup table under loom: its readers and its writer in every order that the memory model
//! allows.
//!
//! [`Shared`] is a [`Memory`] whose loads and stores are loom's, with the orders that the trait
//! asks for and no more. What an address or an array says is guarded by a cell in which loom finds
//! any two accesses that nothing orders: so it shows when a reader sees an entry or an array before
//! it is filled, or after it was freed. RCU is a count of the readers; what was retired is freed
//! once the count is seen at zero, with the order between the two that RCU gives.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    table::{
        lookup::Table,
        memory::{
            self,
            Memory,
            Slot, //
        },
        place,
        writer::Writer, //
    },
};
use std::sync::Mutex;

const ARRAYS: usize = 4;
const ENTRIES: usize = 8;

#[derive(Default)]
struct Entry {
    at: OnceLock<TextAddr>,
    watched: Watched,
}

struct Array {
    words: Vec<Word>,
    watched: Arc<Watched>,
}

struct Word {
    value: AtomicUsize,
    array: Arc<Watched>,
}

/// What waits for a grace period.
#[derive(Default)]
struct Retired {
    arrays: Vec<usize>,
    entries: Vec<usize>,
}

struct Shared {
    /// Number of the current array, from 1; 0 for none.
    current: AtomicUsize,
    arrays: [OnceLock<Array>; ARRAYS],
    entries: [Entry; ENTRIES],
    /// What a lookup sees in an empty word.
    nothing: Entry,
    /// What it sees where an entry has left.
    left: Entry,
    readers: Readers,
    retired: Mutex<Retired>,
}

/// The right to write.
struct Key;

/// An entry by its number; the table owns it or the test.
#[derive(Debug)]
struct Owned(usize);

/// An array by its number, not published.
struct Unpublished(usize);

impl Shared {
    fn new() -> Self {
        let nowhere = || {
            let entry = Entry::default();
            let _ = entry.at.set(memory::NOWHERE);
            entry
        };
        Self {
            nothing: nowhere(),
            left: nowhere(),
            current: AtomicUsize::new(0),
            arrays: Default::default(),
            entries: Default::default(),
            readers: Readers::new(),
            retired: Mutex::default(),
        }
    }

    fn array(&self, number: usize) -> &[Word] {
        let index = number.checked_sub(1);
        let array = index.and_then(|index| self.arrays[index].get());
        array.map_or(&[], |array| &array.words)
    }

    /// A new entry, `number`, for an address.
    fn make(&self, number: usize, at: TextAddr) -> Owned {
        let entry = &self.entries[number];
        entry.watched.have();
        entry.at.set(at).unwrap();
        Owned(number)
    }

    /// Frees an entry after a grace period.
    fn retire(&self, owned: Owned) {
        self.retired.lock().unwrap().entries.push(owned.0);
        self.reclaim();
    }

    /// Frees what was retired, if a grace period is over.
    fn reclaim(&self) {
        if !is_weak("grace") && !self.readers.are_gone() {
            return;
        }
        let mut retired = self.retired.lock().unwrap();
        for number in retired.arrays.drain(..) {
            self.arrays[number - 1].get().unwrap().watched.have();
        }
        for number in retired.entries.drain(..) {
            self.entries[number].watched.have();
        }
    }
}

fn decode(value: usize) -> Slot<usize> {
    match value {
        0 => Slot::Empty,
        1 => Slot::Left,
        entry => Slot::Live(entry - 2),
    }
}

impl Memory for Shared {
    const SMALLEST: usize = 4;

    type Reading = Reading;
    type Key = Key;
    type Word = Word;
    type View<'a> = &'a [Word];
    type Entry<'a> = &'a Entry;
    type Owned = Owned;
    type Array = Unpublished;

    fn current<'a>(&'a self, _reading: &'a Self::Reading) -> &'a [Word] {
        self.array(self.current.load(Acquire))
    }

    fn held<'a>(&'a self, _key: &'a Key) -> &'a [Word] {
        self.array(self.current.load(Relaxed))
    }

    fn look<'a>(&'a self, word: &'a Word) -> &'a Entry {
        word.array.share();
        match decode(word.value.load(Acquire)) {
            Slot::Empty => &self.nothing,
            Slot::Left => &self.left,
            Slot::Live(number) => &self.entries[number],
        }
    }

    fn is_nothing(&self, entry: &Entry) -> bool {
        core::ptr::eq(entry, &self.nothing)
    }

    fn read<'a>(&'a self, word: &'a Word) -> Slot<&'a Entry> {
        word.array.share();
        match decode(word.value.load(Relaxed)) {
            Slot::Empty => Slot::Empty,
            Slot::Left => Slot::Left,
            Slot::Live(number) => Slot::Live(&self.entries[number]),
        }
    }

    fn address(&self, entry: &Entry) -> TextAddr {
        entry.watched.share();
        *entry.at.get().unwrap()
    }

    fn entry<'a>(&'a self, owned: &'a Owned) -> &'a Entry {
        &self.entries[owned.0]
    }

    fn allocate(&self, len: usize) -> Result<Unpublished, Refusal> {
        let free = self.arrays.iter().position(|array| array.get().is_none());
        let index = free.ok_or(Refusal::NoMemory)?;
        let watched = Arc::new(Watched::default());
        watched.have();
        let word = |_| Word {
            value: AtomicUsize::new(0),
            array: watched.clone(),
        };
        let words = (0..len).map(word).collect();
        let _ = self.arrays[index].set(Array { words, watched });
        Ok(Unpublished(index + 1))
    }

    fn words<'a>(&'a self, array: &'a Unpublished) -> &'a [Word] {
        self.array(array.0)
    }

    fn carry(&self, key: &Key, from: usize, array: &mut Unpublished, to: usize) {
        let value = self.held(key)[from].value.load(Relaxed);
        self.words(array)[to].value.store(value, Relaxed);
    }

    fn publish(&self, _key: &mut Key, array: Unpublished) {
        let before = self.current.load(Relaxed);
        self.current.store(array.0, unless_weak("publish", Release));
        if before != 0 {
            self.retired.lock().unwrap().arrays.push(before);
        }
        self.reclaim();
    }

    fn swap(&self, key: &mut Key, index: usize, slot: Slot<Owned>) -> Slot<Owned> {
        let word = &self.held(key)[index].value;
        let before = decode(word.load(Relaxed));
        let value = match slot {
            Slot::Empty => 0,
            Slot::Left => 1,
            Slot::Live(owned) => owned.0 + 2,
        };
        word.store(value, unless_weak("store", Release));
        match before {
            Slot::Empty => Slot::Empty,
            Slot::Left => Slot::Left,
            Slot::Live(number) => Slot::Live(Owned(number)),
        }
    }
}

type Probes = Table<Shared>;
type Change = fn(&mut Writer<'_, Shared>, &Probes, &[TextAddr; 4], &AtomicBool);

/// Addresses that have the same first word in an array of `len`: all are on one way.
fn neighbours<const N: usize>(len: usize) -> [TextAddr; N] {
    let mut same = (0..)
        .map(|number| TextAddr::new(0xffff_ffff_8100_0000 + 16 * number))
        .filter(|&at| place::home(at, len - 1) == 1);
    core::array::from_fn(|_| same.next().unwrap())
}

/// Does a reader find an entry for the address, and is it one as long as the section lasts?
fn finds(table: &Probes, at: TextAddr) -> bool {
    let reading = table.memory().readers.read_side();
    let Some(entry) = table.find(at, &reading) else {
        return false;
    };
    table.memory().address(entry) == at
}

/// Takes an entry out; it is freed after a grace period.
fn remove(writer: &mut Writer<'_, Shared>, table: &Probes, at: TextAddr) {
    let owned = writer.remove(at).unwrap();
    table.memory().retire(owned);
}

/// Puts an entry in, and arms its address: from now on readers may come that look for it.
fn arm(writer: &mut Writer<'_, Shared>, table: &Probes, at: TextAddr, armed: &AtomicBool) {
    writer.insert(table.memory().make(7, at)).unwrap();
    armed.store(true, Release);
}

/// A writer against readers. They use four addresses on one way through the array, by number.
#[derive(Clone, Copy)]
struct Race {
    readers: usize,
    /// The length of the first array.
    len: usize,
    /// The number of arrays in the end.
    arrays: usize,
    /// The addresses in the table when all begin.
    before: &'static [usize],
    /// What the writer does.
    change: Change,
    /// The address that is found whenever a reader looks.
    stays: usize,
    /// The address that is found once it is armed.
    armed: usize,
}

impl Race {
    /// Runs it in every order, for every order in which memory may show the stores.
    fn run(self) {
        // With two readers, only orders in which each thread is interrupted at most three times:
        // all would take minutes.
        run_model((self.readers > 1).then_some(3), move || self.once());
    }

    fn once(self) {
        let table = Arc::new(Probes::new(Shared::new()));
        let armed = Arc::new(AtomicBool::new(false));
        let all = neighbours(self.len);
        let mut writer = Writer::new(&table, Key);
        writer.reserve(self.len / 4).unwrap();
        for &number in self.before {
            let owned = table.memory().make(number, all[number]);
            writer.insert(owned).unwrap();
        }
        let reader = |_| {
            let (table, armed) = (table.clone(), armed.clone());
            thread::spawn(move || {
                // Whatever it finds before, it is no half of an entry.
                finds(&table, all[self.armed]);
                if armed.load(Acquire) {
                    assert!(finds(&table, all[self.armed]), "missed: armed");
                }
                assert!(finds(&table, all[self.stays]), "missed: never removed");
            })
        };
        let threads: Vec<_> = (0..self.readers).map(reader).collect();
        (self.change)(&mut writer, &table, &all, &armed);
        for thread in threads {
            thread.join().unwrap();
        }
        table.memory().reclaim();
        let arrays = table.memory().arrays.iter();
        assert_eq!(arrays.filter_map(OnceLock::get).count(), self.arrays);
    }
}

/// Races, see [`Race`] for the words. Each is a test by itself.
macro_rules! races {
    ($($(#[$doc:meta])* $name:ident:
    readers $readers:literal len $len:literal arrays $arrays:literal
    before $before:tt stays $stays:literal armed $armed:literal $change:expr;)*) => {
        $(
            $(#[$doc])*
            fn $name() {
                let race = Race {
                    readers: $readers,
                    len: $len,
                    arrays: $arrays,
                    before: &$before,
                    change: $change,
                    stays: $stays,
                    armed: $armed,
                };
                race.run();
            }
        )*

        mod races {
            use super::*;

            models! {$($name: super::$name();)*}
        }
    };
}

races! {
    /// An entry comes in behind another one.
    insertion: readers 1 len 4 arrays 1 before [0] stays 0 armed 1
        |writer, table, all, armed| arm(writer, table, all[1], armed);
    /// An entry goes that another one is behind; the word it left is used again.
    removal: readers 1 len 8 arrays 1 before [0, 1] stays 1 armed 2 |writer, table, all, armed| {
        remove(writer, table, all[0]);
        arm(writer, table, all[2], armed);
    };
    /// Entries go at the end of a way, so their words become empty; one of them is used again.
    sweep: readers 1 len 8 arrays 1 before [0, 1, 2] stays 0 armed 3 |writer, table, all, armed| {
        remove(writer, table, all[1]);
        remove(writer, table, all[2]);
        arm(writer, table, all[3], armed);
    };
    /// An entry more than there is room for.
    growth: readers 1 len 4 arrays 2 before [0, 1] stays 1 armed 2
        |writer, table, all, armed| arm(writer, table, all[2], armed);
    /// The same with two readers.
    growth_under_two: readers 2 len 4 arrays 2 before [0, 1] stays 1 armed 2
        |writer, table, all, armed| arm(writer, table, all[2], armed);
    /// So many words were left that a new array of the same length takes over.
    cleanup: readers 1 len 8 arrays 2 before [0, 1, 2] stays 2 armed 3 |writer, table, all, armed| {
        remove(writer, table, all[0]);
        remove(writer, table, all[1]);
        arm(writer, table, all[3], armed);
    };
    /// An entry goes, and so does what the array had too much.
    shrinking: readers 1 len 16 arrays 2 before [0, 1] stays 1 armed 1
        |writer, table, all, _| { remove(writer, table, all[0]); writer.tidy(); };
    /// An address gets another entry.
    replacement: readers 1 len 4 arrays 1 before [0, 1] stays 1 armed 1
        |writer, table, all, armed| {
        let owned = writer.replace(table.memory().make(7, all[1])).unwrap();
        table.memory().retire(owned);
        armed.store(true, Release);
    };
}

models! {
    array_published_without_an_order_is_caught with "publish" fails "Causality violation": growth();
    entry_stored_without_an_order_is_caught with "store" fails "Causality violation": insertion();
    array_freed_under_a_reader_is_caught with "grace" fails "Causality violation": growth();
    entry_freed_under_a_reader_is_caught with "grace" fails "Causality violation": replacement();
}
