// SPDX-License-Identifier: GPL-2.0

//! How much memory a store takes, by CPUs and calls, beside what C's takes.
//!
//! Ours is what the crate has asked for. C's is what `lib/objpool.c` asks for: a ring for each CPU,
//! with four numbers and room for as many pointers as there are calls in all, rounded up to a power
//! of two, and behind that its share of the calls. Each ring has pages of its own.

use super::*;

/// What a client keeps for each call, and how long a call is with that.
const DATA: usize = 16;
const CALL: usize = size_of::<kretprobe_instance>() + DATA;

const PAGE: usize = 4096;

/// What C has for a store itself: `struct rethook`, with the pool in it.
const C_STORE: usize = 88;

/// What C asks for, and the pages that this takes.
fn rings(cpus: usize, calls: usize) -> (usize, usize) {
    let ring = 16 + 8 * calls.next_power_of_two();
    let alone = C_STORE + 8 * cpus;
    let rings = (0..cpus).map(|cpu| ring + CALL * ((calls + cpus - 1 - cpu) / cpus));
    rings.fold((alone, alone), |(bytes, pages), ring| {
        (bytes + ring, pages + ring.next_multiple_of(PAGE))
    })
}

/// How many bytes the stores have that are there.
fn bytes() -> usize {
    let bytes = STORE.map(|name| alloc::there_in_bytes(name).1);
    bytes.iter().sum()
}

/// What a store has asked for, with so many calls to begin with, and with twice as many.
fn blocks(world: &mut World, cpus: usize, calls: usize) -> [usize; 2] {
    tasks::set_cpus([cpus; 3]);
    let before = bytes();
    let client = Client::of(world.place(&cpu::MOVE), calls as c_int);
    // SAFETY: It is not registered.
    unsafe { (*client.as_c()).data_size = DATA };
    assert_eq!(client.register(), 0);
    let first = bytes() - before;
    assert_eq!(client.reserve(2 * calls as c_uint), 0);
    let second = bytes() - before;
    client.unregister();
    nothing_is_left();
    [first, second]
}

/// What a store may take beside its calls: something for itself, for each CPU its places and two
/// blocks that are not full, and something for each block that is.
fn overhead(cpus: usize, calls: usize) -> usize {
    256 + (24 + 2 * 128) * cpus + 8 * calls
}

#[test]
fn a_store_does_not_grow_with_cpus_times_calls() {
    let mut world = quiet();
    let usual = tasks::cpus();
    for cpus in [2, 64, 256] {
        for calls in [2 * cpus, 4096] {
            let [first, second] = blocks(&mut world, cpus, calls);
            let (bytes, pages) = rings(cpus, calls);
            println!(
                "pool: {cpus} CPUs, {calls} calls of {CALL} bytes: {first} bytes, \
                 rings {bytes}, in pages {pages}"
            );
            assert!(first >= calls * CALL);
            assert!(first <= calls * CALL + overhead(cpus, calls));
            assert!(second >= 2 * calls * CALL);
            assert!(second <= 2 * calls * CALL + overhead(cpus, 2 * calls));
        }
    }
    tasks::set_cpus(usual);
}
