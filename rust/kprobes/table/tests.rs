// SPDX-License-Identifier: GPL-2.0

//! Tests of the table, with numbers as entries.

#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_table))]
mod cases {
    use crate::{
        model::{
            addr::TextAddr,
            refusal::Refusal, //
        },
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
        },
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
