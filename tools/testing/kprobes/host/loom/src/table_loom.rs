// SPDX-License-Identifier: GPL-2.0

//! The lookup table under loom: its readers and its writer in every order that the memory model
//! allows.
//!
//! Arrays and entries are in the memory of [`memory`], which sees a reader that finds one before it
//! is filled, or has one still when it is freed.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    table::{hash, Entry, Retired, Table, Writer},
};

type Change = fn(&mut Writer<usize>, &[TextAddr; 4], &AtomicBool);

/// Addresses whose first word is the same in an array of 64, and has that number: all are on one
/// way.
fn neighbours<const N: usize>(home: u64) -> [TextAddr; N] {
    let mut same = (0..)
        .map(|number| TextAddr::new(0xffff_ffff_8100_0000 + 16 * number))
        .filter(|&at| hash(at) >> 58 == home);
    core::array::from_fn(|_| same.next().unwrap())
}

/// Does a reader find an entry for the address, and is it one as long as the section lasts?
fn finds(table: &Table<usize>, at: TextAddr) -> bool {
    let no_preempt = PreemptOff::new();
    let Some(entry) = table.find(at, &no_preempt) else {
        return false;
    };
    memory::look(ptr::from_ref(entry).addr());
    *entry == at.get() as usize
}

fn insert(writer: &mut Writer<usize>, at: TextAddr) {
    let owned = Entry::new(at, at.get() as usize).unwrap();
    writer.insert(owned).unwrap();
}

/// Takes an entry out; it is freed after a grace period.
fn remove(writer: &mut Writer<usize>, at: TextAddr) {
    drop(writer.remove(at).unwrap());
}

/// Puts an entry in, and arms its address: from now on readers may come that look for it.
fn arm(writer: &mut Writer<usize>, at: TextAddr, armed: &AtomicBool) {
    insert(writer, at);
    armed.store(true, Release);
}

/// A writer against readers. They use four addresses on one way through the array, by number.
#[derive(Clone, Copy)]
struct Race {
    readers: usize,
    /// How many entries are in the table besides, and how many there were before.
    others: (usize, usize),
    arrays: usize,
    /// The addresses in the table when all begin.
    before: &'static [usize],
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
        checked::stock(300);
        run_model((self.readers > 1).then_some(3), move || self.once());
    }

    fn once(self) {
        static TABLE: Table<usize> = Table::empty();
        let armed = Arc::new(AtomicBool::new(false));
        let (all, others) = (neighbours(1), neighbours::<14>(40));
        let mut writer = Writer::of(&TABLE);
        for &at in &others[..self.others.1] {
            insert(&mut writer, at);
        }
        for &number in self.before {
            insert(&mut writer, all[number]);
        }
        for &at in &others[..self.others.1 - self.others.0] {
            remove(&mut writer, at);
        }
        let reader = |_| {
            let armed = armed.clone();
            thread::spawn(move || {
                // Whatever it finds before, it is no half of an entry.
                finds(&TABLE, all[self.armed]);
                if armed.load(Acquire) {
                    assert!(finds(&TABLE, all[self.armed]), "missed: armed");
                }
                assert!(finds(&TABLE, all[self.stays]), "missed: never removed");
            })
        };
        let threads: Vec<_> = (0..self.readers).map(reader).collect();
        (self.change)(&mut writer, &all, &armed);
        for thread in threads {
            thread.join().unwrap();
        }
        Retired::<usize>::new().wait();
        assert_eq!(memory::lists(), self.arrays);
    }
}

/// Races, see [`Race`] for the words. Each is a test by itself.
macro_rules! races {
    ($($(#[$doc:meta])* $name:ident:
    readers $readers:literal others $others:tt arrays $arrays:literal
    before $before:tt stays $stays:literal armed $armed:literal $change:expr;)*) => {
        $(
            $(#[$doc])*
            fn $name() {
                let race = Race {
                    readers: $readers,
                    others: $others,
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
    insertion: readers 1 others (0, 0) arrays 1 before [0] stays 0 armed 1
        |writer, all, armed| arm(writer, all[1], armed);
    /// An entry goes that another one is behind; the word it left is used again.
    removal: readers 1 others (0, 0) arrays 1 before [0, 1] stays 1 armed 2 |writer, all, armed| {
        remove(writer, all[0]);
        arm(writer, all[2], armed);
    };
    /// Entries go at the end of a way, so their words become empty; one of them is used again.
    sweep: readers 1 others (0, 0) arrays 1 before [0, 1, 2] stays 0 armed 3 |writer, all, armed| {
        remove(writer, all[1]);
        remove(writer, all[2]);
        arm(writer, all[3], armed);
    };
    /// An entry more than there is room for.
    growth: readers 1 others (10, 10) arrays 2 before [0, 1] stays 1 armed 2
        |writer, all, armed| arm(writer, all[2], armed);
    /// The same with two readers.
    growth_under_two: readers 2 others (10, 10) arrays 2 before [0, 1] stays 1 armed 2
        |writer, all, armed| arm(writer, all[2], armed);
    /// So many words were left that a new array of the same length takes over.
    cleanup: readers 1 others (1, 9) arrays 2 before [0, 1, 2] stays 2 armed 3
        |writer, all, armed| {
        remove(writer, all[0]);
        remove(writer, all[1]);
        arm(writer, all[3], armed);
    };
    /// An entry goes, and so does what the array had too much.
    shrinking: readers 1 others (1, 13) arrays 3 before [0, 1] stays 1 armed 1
        |writer, all, _| { remove(writer, all[0]); writer.shrink(); };
    /// An address gets another entry.
    replacement: readers 1 others (0, 0) arrays 1 before [0, 1] stays 1 armed 1
        |writer, all, armed| {
        let owned = Entry::new(all[1], all[1].get() as usize).unwrap();
        drop(writer.replace(owned).unwrap());
        armed.store(true, Release);
    };
}

models! {
    array_published_without_an_order_is_caught with "compare_exchange(" in "table.rs"
        fails "Causality violation": growth();
    array_found_without_an_order_is_caught with "self.0.load(" in "table.rs"
        fails "Causality violation": growth();
    entry_stored_without_an_order_is_caught with "word.store(entry, Ordering::Release" in "table.rs"
        fails "Causality violation": insertion();
    entry_found_without_an_order_is_caught with "&*self.word(index).load(" in "table.rs"
        fails "Causality violation": insertion();
    array_freed_under_a_reader_is_caught with "grace" fails "Causality violation": growth();
    entry_freed_under_a_reader_is_caught with "grace" fails "Causality violation": replacement();
}
