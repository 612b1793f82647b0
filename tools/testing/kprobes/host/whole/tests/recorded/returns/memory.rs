// SPDX-License-Identifier: GPL-2.0

//! How much memory a store takes, by CPUs and calls, beside what C's takes.
//!
//! Both are counted as what is asked for, and as what the kernel's allocators take for that. C's is
//! what `lib/objpool.c` asks for: a ring for each CPU, with four numbers and room for as many
//! pointers as there are calls in all, rounded up to a power of two, and behind that its share of
//! the calls. Each ring has pages of its own.

use super::*;

/// What a client keeps for each call, and how long a call is with that.
const DATA: usize = 16;
const CALL: usize = size_of::<kretprobe_instance>() + DATA;

const PAGE: usize = 4096;

/// What C has for a store itself: `struct rethook`, with the pool in it.
const C_STORE: usize = 88;

/// What C asks for, and what it takes.
fn rings(cpus: usize, calls: usize) -> [usize; 2] {
    let ring = 16 + 8 * calls.next_power_of_two();
    let alone = [C_STORE, 8 * cpus];
    let all = [alone.iter().sum(), alone.map(alloc::taken).iter().sum()];
    let rings = (0..cpus).map(|cpu| ring + CALL * ((calls + cpus - 1 - cpu) / cpus));
    rings.fold(all, |[asked, taken]: [usize; 2], ring| {
        [asked + ring, taken + ring.next_multiple_of(PAGE)]
    })
}

/// What a store asks for, and what it takes: with so many calls to begin with, with twice as many,
/// and when it is gone.
fn blocks(world: &mut World, cpus: usize, calls: usize) -> [[usize; 2]; 3] {
    tasks::set_cpus([cpus; 3]);
    let there = || {
        let there = alloc::all_there(&STORE);
        [there.asked, there.taken]
    };
    let client = Client::of(world.place(&cpu::MOVE), calls as c_int);
    client.set(|probe| probe.data_size = DATA);
    let before = there();
    assert_eq!(client.register(), 0);
    let first = there();
    assert_eq!(client.reserve(2 * calls as c_uint), 0);
    let second = there();
    client.ends();
    [first, second, there()].map(|now| core::array::from_fn(|number| now[number] - before[number]))
}

/// What a store may take beside its calls: something for itself, for each CPU its places and one
/// block that is not full, and what is left over in the others.
fn overhead(cpus: usize, calls: usize) -> usize {
    512 + (32 + 128) * cpus + CALL / 4 * calls
}

#[test]
fn a_store_does_not_grow_with_cpus_times_calls() {
    let mut world = quiet();
    for cpus in [2, 64, 256] {
        for calls in [2 * cpus, 8 * cpus, 4096] {
            let [[asked, taken], [_, second], after] = blocks(&mut world, cpus, calls);
            let [rings_asked, rings_taken] = rings(cpus, calls);
            println!(
                "pool: {cpus} CPUs, {calls} calls of {CALL} bytes: \
                 {asked} bytes asked for and {taken} taken, rings {rings_asked} and {rings_taken}"
            );
            assert!(asked >= calls * CALL);
            assert!(taken >= asked && taken <= calls * CALL + overhead(cpus, calls));
            assert!(second >= 2 * calls * CALL);
            assert!(second <= 2 * calls * CALL + overhead(cpus, 2 * calls));
            assert_eq!(after, [0; 2]);
        }
    }
}

#[test]
fn blocks_take_little_more_than_their_calls() {
    let mut world = quiet();
    tasks::set_cpus([2; 3]);
    // From a call of 48 bytes to the largest one.
    for data in (0..=4096).step_by(8) {
        let client = Client::of(world.place(&cpu::MOVE), 1000);
        client.set(|probe| probe.data_size = data);
        let before = alloc::all_there(&STORE[1..2]);
        assert_eq!(client.register(), 0);
        let there = alloc::all_there(&STORE[1..2]);
        let (blocks, taken) = (there.count - before.count, there.taken - before.taken);
        let call = CALL - DATA + data;
        let percent = taken / (10 * call);
        assert!(percent <= 116, "{data}: {percent}");
        // A search has few blocks to look at, however much the client keeps.
        assert!(blocks <= 1000 / 23, "{data}: {blocks}");
        client.ends();
    }
}
