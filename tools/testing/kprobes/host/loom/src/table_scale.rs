// SPDX-License-Identifier: GPL-2.0

//! The lookup table with as many entries as are ever asked for: is it a map, and are the ways
//! through it as short as with few?

use crate::{
    loom_kit::*,
    model::refusal::Refusal,
    table::{Entry, Retired, Table, Writer},
};
use std::collections::BTreeMap;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as usize % limit
    }
}

const MANY: usize = 30_000;
/// The length of the array that so many come to, whether one by one or at once.
const LEN: usize = 262_144;

/// Addresses as those of functions: multiples of 16 in ascending order, some hundred bytes apart;
/// shuffled.
fn functions(random: &mut Random, count: usize) -> Vec<TextAddr> {
    let mut at = 0xffff_ffff_8100_0000;
    let mut all: Vec<_> = (0..count)
        .map(|_| {
            at += 16 * (1 + random.below(40) as u64);
            TextAddr::new(at)
        })
        .collect();
    for last in (1..count).rev() {
        all.swap(last, random.below(last + 1));
    }
    all
}

fn insert(writer: &mut Writer<usize>, at: TextAddr, mark: usize) -> Result<(), Refusal> {
    writer.insert(Entry::new(at, mark)?)
}

fn found(table: &Table<usize>, at: TextAddr) -> Option<usize> {
    table.find(at, &PreemptOff::new()).copied()
}

/// The words on the ways to all entries, and on the longest.
fn ways(table: &Table<usize>, entries: &[TextAddr]) -> (usize, usize) {
    checked::loads();
    let way = |&at: &TextAddr| {
        assert_eq!(found(table, at), Some(at.get() as usize));
        // One load is that of the array.
        checked::loads() - 1
    };
    let each: Vec<_> = entries.iter().map(way).collect();
    (each.iter().sum(), each.into_iter().max().unwrap())
}

#[test]
fn ways_do_not_grow_with_the_table() -> Result<(), Refusal> {
    static TABLE: Table<usize> = Table::empty();
    let entries = functions(&mut Random(1), MANY);
    let mut writer = Writer::of(&TABLE);
    for count in [100, 1_000, 10_000, MANY] {
        for &at in &entries[writer.len()..count] {
            insert(&mut writer, at, at.get() as usize)?;
        }
        let (sum, longest) = ways(&TABLE, &entries[..count]);
        std::println!(
            "{count}: {} words each, at most {longest}",
            sum as f32 / count as f32
        );
        assert!(sum * 8 <= count * 9);
        assert!(longest <= 8);
        for some in [&entries[..64], &entries[count - 64..count]] {
            let (_, longest) = ways(&TABLE, some);
            assert!(longest <= 3);
        }
    }
    assert_eq!(memory::last_length(), LEN);
    Ok(())
}

#[test]
fn stubs_at_a_fixed_distance_have_short_ways_too() -> Result<(), Refusal> {
    static TABLE: Table<usize> = Table::empty();
    let mut writer = Writer::of(&TABLE);
    for stride in [16, 32, 48, 112, 144, 256, 4096] {
        let at = |number| TextAddr::new(0xffff_ffff_c000_0000 + stride * number);
        let entries: Vec<_> = (0..MANY as u64).map(at).collect();
        for &at in &entries {
            insert(&mut writer, at, at.get() as usize)?;
        }
        let (sum, longest) = ways(&TABLE, &entries);
        assert!(sum * 8 <= MANY * 9);
        assert!(longest <= 8);
        writer.remove_all(|_| true, &mut Retired::new());
        writer.shrink();
    }
    Ok(())
}

/// The value of the entry that was removed.
fn value(removed: Result<Retired<usize>, Refusal>) -> Result<usize, Refusal> {
    removed.map(|removed| removed.first().unwrap().value)
}

/// One random change of both the table and the map, as likely one way as the other.
fn change(
    writer: &mut Writer<usize>,
    map: &mut BTreeMap<TextAddr, usize>,
    at: TextAddr,
    mark: usize,
    kind: usize,
) {
    let before = map.get(&at).copied();
    match kind {
        0..=3 => {
            let refused = before.map_or(Ok(()), |_| Err(Refusal::AddressTaken));
            assert_eq!(insert(writer, at, mark), refused);
            map.entry(at).or_insert(mark);
        }
        4..=7 => {
            let expected = before.ok_or(Refusal::NotRegistered);
            assert_eq!(value(writer.remove(at)), expected);
            map.remove(&at);
        }
        8 => {
            let expected = before.ok_or(Refusal::NotRegistered);
            let replaced = Entry::new(at, mark).and_then(|entry| writer.replace(entry));
            assert_eq!(value(replaced), expected);
            map.entry(at).and_modify(|there| *there = mark);
        }
        _ => writer.shrink(),
    }
}

#[test]
fn random_changes_are_those_of_a_map() {
    static TABLE: Table<usize> = Table::empty();
    let mut random = Random(2);
    let addresses = functions(&mut random, 4_000);
    let (mut writer, mut map) = (Writer::of(&TABLE), BTreeMap::new());
    for round in 0..60_000 {
        let mark = 1 + random.below(15);
        let at = addresses[random.below(addresses.len())];
        change(&mut writer, &mut map, at, mark, random.below(10));
        assert_eq!(found(&TABLE, at), map.get(&at).copied());
        if round % 1_000 == 0 {
            let mut entries: Vec<_> = writer.iter().map(|one| (one.at, &one.value)).collect();
            entries.sort();
            assert!(entries
                .into_iter()
                .eq(map.iter().map(|(&at, mark)| (at, mark))));
            assert_eq!(writer.len(), map.len());
        }
    }
}

#[test]
fn lack_of_memory_changes_nothing() -> Result<(), Refusal> {
    /// How many entries the smallest array takes.
    const MOST: usize = 12;

    static TABLE: Table<usize> = Table::empty();
    let mut writer = Writer::of(&TABLE);
    let at = |number| TextAddr::new(0xffff_ffff_8100_0000 + 16 * number as u64);
    let entry = |number| Entry::new(at(number), 1);
    let (first, more): (_, Vec<_>) = (entry(0)?, (0..=MOST).map(entry).collect());
    memory::exhaust(true);
    assert_eq!(writer.insert(first), Err(Refusal::NoMemory));
    memory::exhaust(false);
    insert(&mut writer, at(MOST + 1), 1)?;
    memory::exhaust(true);
    for (number, owned) in more.into_iter().enumerate() {
        let refused = (number + 1 >= MOST).then_some(Refusal::NoMemory);
        assert_eq!(writer.insert(owned?), refused.map_or(Ok(()), Err));
    }
    let holds = |numbers: core::ops::Range<usize>| {
        (0..MOST).all(|number| found(&TABLE, at(number)).is_some() == numbers.contains(&number))
    };
    assert!(holds(0..MOST - 1));
    writer.remove(at(0)).map(drop)?;
    writer.shrink();
    assert!(holds(1..MOST - 1));
    memory::exhaust(false);
    Ok(())
}

#[test]
fn an_array_that_cannot_shrink_stays() -> Result<(), Refusal> {
    static TABLE: Table<usize> = Table::empty();
    let mut writer = Writer::of(&TABLE);
    let at = |number: u64| TextAddr::new(0xffff_ffff_8100_0000 + 16 * number);
    for number in 0..256 {
        insert(&mut writer, at(number), 1)?;
    }
    let mut retired = Retired::new();
    writer.remove_all(|_| true, &mut retired);
    memory::exhaust(true);
    writer.shrink();
    memory::exhaust(false);
    assert_eq!(memory::last_length(), 2048);
    writer.shrink();
    assert_eq!(memory::last_length(), 64);
    Ok(())
}
