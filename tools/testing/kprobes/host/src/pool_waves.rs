// SPDX-License-Identifier: GPL-2.0

//! Stores of return probes that are too small, and grow while calls come.
//!
//! What is taken, searched, given out, counted and wanted is the kernel's code; what leads there is
//! as in `sys/returns/store.rs`: blocks, homes, spares, and a worker that comes when it was asked,
//! at whatever moment. A wave consists of calls of which none ends before all have come. After it,
//! and after the worker, as many must find room.

use crate::pool::{
    growth::Demand,
    homes::{
        Purpose,
        Share, //
    },
    peak::Peak,
    search,
    word::{
        Free,
        Ticket,
        MOST, //
    }, //
};
use core::{
    cell::Cell,
    sync::atomic::AtomicU64, //
};
use std::collections::VecDeque;

struct Block {
    free: Free<AtomicU64>,
    count: usize,
    within_reach: Cell<bool>,
}

impl search::Block for Block {
    type Word = AtomicU64;

    fn free(&self) -> &Free<AtomicU64> {
        &self.free
    }
}

/// A call: from which block, and which of it.
type Call = (usize, u32);

/// What a CPU has: its home, its spare, and where it has found something last.
#[derive(Clone, Copy)]
struct Places {
    home: usize,
    spare: Option<usize>,
    found: Option<usize>,
}

struct Store {
    /// The latest one last; it is searched first.
    blocks: Vec<Block>,
    cpus: Vec<Places>,
    /// How many calls fit into a block.
    largest: usize,
    peak: Peak<AtomicU64>,
    asked: Cell<bool>,
    bound: usize,
}

impl Store {
    fn new(calls: usize, cpus: usize, largest: usize) -> Self {
        let mut store = Self {
            blocks: Vec::new(),
            cpus: Vec::new(),
            largest,
            peak: Peak::new(),
            asked: Cell::new(false),
            bound: usize::MAX,
        };
        let homes = Share {
            blocks: store.add(calls, cpus),
            cpus,
            purpose: Purpose::Homes,
        };
        for cpu in 0..cpus {
            let home = homes.home(cpu).expect("there are homes");
            store.reach(home);
            store.cpus.push(Places {
                home,
                spare: homes.spare(cpu),
                found: None,
            });
        }
        store
    }

    fn all(&self) -> usize {
        self.blocks.iter().map(|block| block.count).sum()
    }

    /// Makes room for more, in how many blocks.
    fn add(&mut self, more: usize, least: usize) -> usize {
        let blocks = more.div_ceil(self.largest).max(least.min(more));
        let mut left = more;
        for number in 0..blocks {
            let count = left.div_ceil(blocks - number);
            self.blocks.push(Block {
                free: Free::first(count as u32),
                count,
                within_reach: Cell::new(false),
            });
            left -= count;
        }
        blocks
    }

    /// The worker makes it larger.
    fn grow(&mut self, more: usize) {
        let first = self.blocks.len();
        let cpus = self.cpus.len();
        let spares = Share {
            blocks: self.add(more, cpus.min(more.div_ceil(8))),
            cpus,
            purpose: Purpose::Spares,
        };
        for (rank, cpu) in self.cpus.iter_mut().enumerate() {
            let now = cpu.spare.map_or(0, |now| self.blocks[now].free.len());
            if let (0, Some(spare)) = (now, spares.spare(rank)) {
                cpu.spare = Some(first + spare);
            }
        }
    }

    fn reach(&self, number: usize) {
        let block = &self.blocks[number];
        let returns = || search::returns(self.blocks.iter());
        if !block.within_reach.replace(true) && self.peak.reach(block.count, returns) {
            self.asked.set(true);
        }
    }

    /// A call begins; none if it is lost.
    fn call(&mut self, cpu: usize) -> Option<Call> {
        let Places { home, spare, found } = self.cpus[cpu];
        if let Ok(index) = self.blocks[home].free.take() {
            return Some((home, index));
        }
        let spare = spare.filter(|&spare| self.blocks[spare].free.len() != 0);
        let first = spare.or(found).unwrap_or(home);
        let all = || {
            let (from, before) = self.blocks.split_at(first + 1);
            from.iter().rev().chain(before.iter().rev())
        };
        let (number, index) = match search::take(all) {
            Err(returns) => {
                self.peak.lose(returns);
                self.asked.set(true);
                return None;
            }
            Ok((block, index)) => {
                let is_it = |one: &Block| core::ptr::eq(one, block);
                (self.blocks.iter().position(is_it)?, index)
            }
        };
        self.reach(number);
        if number != first {
            self.cpus[cpu].found = Some(number);
            if self.blocks[number].free.len() == 0 {
                self.asked.set(true);
            }
        }
        Some((number, index))
    }

    fn ends(&self, (number, index): Call) {
        self.blocks[number].free.give(Ticket::of(index));
    }

    /// The worker comes; tells whether it was asked.
    fn tend(&mut self) -> bool {
        if !self.asked.replace(false) {
            return false;
        }
        let free = self.blocks.iter().map(|block| block.free.len() as usize);
        let demand = Demand {
            all: self.all(),
            free: free.sum(),
            most: self.peak.most(),
            bound: self.bound,
        };
        if demand.is_at_bound() {
            self.peak.forget();
        }
        self.grow(demand.more());
        true
    }

    fn wait(&mut self) {
        while self.tend() {}
    }
}

/// What chance says: a number below `below`.
fn chance(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((*state >> 33) as usize) % below
}

/// What comes next in a wave: a call on a CPU, or the worker.
#[derive(Clone, Copy)]
enum Step {
    Call(usize),
    Tend,
}

/// A wave; how many calls of it were watched, and how many lost. The worker is done after it.
fn wave(store: &mut Store, steps: impl Iterator<Item = Step>) -> (usize, usize) {
    let (mut calls, mut lost) = (Vec::new(), 0);
    for step in steps {
        match step {
            Step::Call(cpu) => match store.call(cpu) {
                Some(call) => calls.push(call),
                None => lost += 1,
            },
            Step::Tend => _ = store.tend(),
        }
    }
    let watched = calls.len();
    // Some of it may be done when the calls are over.
    if watched % 2 == 0 {
        store.wait();
    }
    calls.drain(..).for_each(|call| store.ends(call));
    store.wait();
    (watched, lost)
}

/// All waves of so many steps.
fn each_wave(steps: u32, cpus: usize, what: impl Fn(&[Step])) {
    let kinds = cpus + 1;
    for number in 0..kinds.pow(steps) {
        let step = |place| match number / kinds.pow(place) % kinds {
            0 => Step::Tend,
            cpu => Step::Call(cpu - 1),
        };
        what(&(0..steps).map(step).collect::<Vec<_>>());
    }
}

/// No more than this may there be after waves of so many calls.
fn measure(store: &Store, calls: usize) -> usize {
    2 * calls + store.cpus.len() * store.largest
}

#[test]
fn after_each_wave_there_is_room_for_it() {
    for (cpus, steps) in [(1, 13), (2, 10), (3, 8)] {
        for (start, largest) in [(1, 1), (1, 2), (2, 3), (3, 1), (3, 2), (1, 48), (4, 48)] {
            each_wave(steps, cpus, |steps| {
                let mut store = Store::new(start, cpus, largest);
                let (watched, lost) = wave(&mut store, steps.iter().copied());
                let all = watched + lost;
                assert!(store.all() >= all, "{} for {all}", store.all());
                assert!(store.all() <= start.max(measure(&store, all)));
                // It comes again, on these CPUs or on others.
                let again = |step: &Step| match *step {
                    Step::Call(cpu) => Step::Call((cpu + watched) % cpus),
                    Step::Tend => Step::Tend,
                };
                let second = wave(&mut store, steps.iter().map(again));
                assert_eq!(second, (all, 0));
                assert!(store.all() <= start.max(measure(&store, all)));
            });
        }
    }
}

#[test]
fn a_second_wave_of_a_thousand_loses_none() {
    let mut state = 0x5eed;
    for round in 0..400 {
        let cpus = [1, 2, 4, 64][round % 4];
        let seldom = [2, 5, 30, 200, 2000][round % 5];
        let mut store = Store::new(10, cpus, MOST as usize);
        let mut ahead = 0;
        for number in 0..6 {
            let before = store.all();
            let mut calls = 0;
            let steps = core::iter::from_fn(|| match chance(&mut state, seldom) {
                _ if calls == 1000 => None,
                0 => Some(Step::Tend),
                _ => {
                    calls += 1;
                    Some(Step::Call(chance(&mut state, cpus)))
                }
            });
            let (watched, lost) = wave(&mut store, steps);
            assert_eq!(watched + lost, 1000);
            assert!(number == 0 || lost == 0, "lost {lost} of wave {number}");
            assert!(store.all() >= 1000 && store.all() <= measure(&store, 1000));
            ahead += usize::from(number >= 2 && store.all() != before);
        }
        // Once, when the last one of some block was taken while hardly anything was free.
        assert!(ahead <= 1, "it never stops");
    }
}

/// Calls of which each ends, watched or not, when `length` others have begun. The worker comes when
/// `tends` says so. How many were lost.
fn stream(
    store: &mut Store,
    calls: usize,
    length: usize,
    mut tends: impl FnMut(usize) -> bool,
) -> usize {
    let (mut going_on, mut lost) = (VecDeque::new(), 0);
    for number in 0..calls {
        if going_on.len() == length {
            if let Some(Some(call)) = going_on.pop_front() {
                store.ends(call);
            }
        }
        let call = store.call(number % store.cpus.len());
        lost += usize::from(call.is_none());
        going_on.push_back(call);
        if tends(number) {
            store.tend();
        }
    }
    going_on
        .into_iter()
        .flatten()
        .for_each(|call| store.ends(call));
    lost
}

#[test]
fn calls_that_follow_each_other_do_not_add_up() {
    for length in [11, 20, 100, 1000] {
        // However late the worker comes, and however many are lost until then.
        for late in [0, 100, 10_000, 50_000] {
            let mut store = Store::new(10, 2, 48);
            let lost = stream(&mut store, 60_000, length, |number| number >= late);
            assert!(lost > late / 100, "{lost} lost");
            assert!(store.all() >= length);
            assert!(
                store.all() <= 3 * length + 2 * 48,
                "{} for {length}, {late} late",
                store.all()
            );
            assert_eq!(stream(&mut store, 5000, length, |_| true), 0);
        }
    }
}

/// Ten that never end, and one after the other that is short.
fn drips(store: &mut Store, count: usize) -> usize {
    let lost = |store: &mut Store| match store.call(0) {
        Some(call) => {
            store.ends(call);
            0
        }
        None => 1,
    };
    (0..count)
        .map(|_| {
            let lost = lost(store);
            store.wait();
            lost
        })
        .sum()
}

#[test]
fn one_that_is_lost_now_and_then_adds_one() {
    let mut store = Store::new(10, 2, 48);
    let _stay: Vec<_> = (0..10).map(|number| store.call(number % 2)).collect();
    assert_eq!(drips(&mut store, 100_000), 1);
    // The one, half as much ahead, and what is kept for the one while others come to the new ones.
    assert_eq!(store.all(), 16);
}

#[test]
fn what_is_lost_at_the_bound_does_not_add_up() {
    let mut store = Store::new(10, 2, 48);
    let _stay: Vec<_> = (0..10).map(|number| store.call(number % 2)).collect();
    store.bound = 10;
    assert_eq!(drips(&mut store, 100_000), 100_000);
    assert_eq!(store.all(), 10);
    store.bound = 4096;
    assert_eq!(drips(&mut store, 100_000), 1);
    assert!(store.all() <= 18, "{}", store.all());
}

#[test]
fn a_store_that_is_large_enough_stays_as_it_is() {
    let mut state = 0xd219;
    for _ in 0..20 {
        let mut store = Store::new(10, 4, 48);
        let mut calls: Vec<Call> = Vec::new();
        let mut lost_at_once = 0;
        for _ in 0..200_000 {
            // There are up to 30 at once.
            if calls.len() > chance(&mut state, 30) {
                let number = chance(&mut state, calls.len());
                store.ends(calls.swap_remove(number));
            } else if let Some(call) = store.call(chance(&mut state, 4)) {
                calls.push(call);
            } else {
                lost_at_once += 1;
            }
            store.tend();
        }
        assert!(lost_at_once <= 5, "{lost_at_once}");
        assert!(store.all() <= measure(&store, 30), "{}", store.all());
    }
}
