// SPDX-License-Identifier: GPL-2.0

//! The lookup table with as many entries as are ever asked for: is it a map, and are the ways
//! through it as short as with few?

use crate::{
    model::refusal::Refusal,
    table::{
        fixed::{
            Fixed,
            Tagged, //
        },
        lookup::Table,
        writer::Writer, //
    },
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
fn functions(random: &mut Random, count: usize) -> Vec<Tagged> {
    let mut at = 0xffff_ffff_8100_0000;
    let mut all: Vec<_> = (0..count)
        .map(|_| {
            at += 16 * (1 + random.below(40));
            Tagged(at)
        })
        .collect();
    for last in (1..count).rev() {
        all.swap(last, random.below(last + 1));
    }
    all
}

/// The words on the ways to all entries, and on the longest.
fn ways<const N: usize>(table: &Table<Fixed<N>>, entries: &[Tagged]) -> (usize, usize) {
    table.memory().looks();
    let way = |entry: &Tagged| {
        assert_eq!(table.find(entry.at(), &()), Some(*entry));
        table.memory().looks()
    };
    let each: Vec<_> = entries.iter().map(way).collect();
    (each.iter().sum(), each.into_iter().max().unwrap())
}

#[test]
fn ways_do_not_grow_with_the_table() -> Result<(), Refusal> {
    static TABLE: Table<Fixed<LEN>> = Table::new(Fixed::new());
    let entries = functions(&mut Random(1), MANY);
    let mut writer = TABLE.begin();
    for count in [100, 1_000, 10_000, MANY] {
        for &entry in &entries[writer.len()..count] {
            writer.insert(entry)?;
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
    assert_eq!(TABLE.memory().len(), LEN);
    Ok(())
}

#[test]
fn stubs_at_a_fixed_distance_have_short_ways_too() -> Result<(), Refusal> {
    static TABLE: Table<Fixed<LEN>> = Table::new(Fixed::new());
    for stride in [16, 32, 48, 112, 144, 256, 4096] {
        let mut writer = TABLE.begin();
        let at = |number| Tagged(0xffff_ffff_c000_0000 + stride * number);
        let entries: Vec<_> = (0..MANY).map(at).collect();
        for &entry in &entries {
            writer.insert(entry)?;
        }
        let (sum, longest) = ways(&TABLE, &entries);
        assert!(sum * 8 <= MANY * 9);
        assert!(longest <= 8);
    }
    Ok(())
}

/// One random change of both the table and the map, as likely one way as the other.
fn change<const N: usize>(
    writer: &mut Writer<'_, Fixed<N>>,
    map: &mut BTreeMap<Tagged, Tagged>,
    entry: Tagged,
    kind: usize,
) {
    let address = Tagged(entry.0 & !15);
    let before = map.get(&address).copied();
    match kind {
        0..=3 => {
            let refused = before.map_or(Ok(()), |_| Err(Refusal::AddressTaken));
            assert_eq!(writer.insert(entry), refused);
            map.entry(address).or_insert(entry);
        }
        4..=7 => {
            let expected = before.ok_or(Refusal::NotRegistered);
            assert_eq!(writer.remove(entry.at()), expected);
            map.remove(&address);
        }
        8 => {
            let expected = before.ok_or(Refusal::NotRegistered);
            assert_eq!(writer.replace(entry), expected);
            map.entry(address).and_modify(|there| *there = entry);
        }
        _ => writer.tidy(),
    }
}

#[test]
fn random_changes_are_those_of_a_map() {
    static TABLE: Table<Fixed<LEN>> = Table::new(Fixed::new());
    let mut random = Random(2);
    let addresses = functions(&mut random, 4_000);
    let (mut writer, mut map) = (TABLE.begin(), BTreeMap::new());
    for round in 0..60_000 {
        let mark = 1 + random.below(15);
        let entry = Tagged(addresses[random.below(addresses.len())].0 + mark);
        change(&mut writer, &mut map, entry, random.below(10));
        let found = TABLE.find(entry.at(), &());
        assert_eq!(found, map.get(&Tagged(entry.0 & !15)).copied());
        if round % 1_000 == 0 {
            let mut entries: Vec<_> = writer.iter().collect();
            entries.sort();
            assert!(entries.iter().eq(map.values()));
            assert_eq!(writer.len(), map.len());
        }
    }
}
