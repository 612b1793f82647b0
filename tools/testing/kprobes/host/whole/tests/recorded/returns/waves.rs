// SPDX-License-Identifier: GPL-2.0

//! Stores that are too small, and grow while calls come.
//!
//! A wave consists of calls of which none ends before all have come. The worker comes when it was
//! asked, at whatever moment. After the wave, and after the worker, as many calls must find room.

use super::*;
use std::collections::VecDeque;

/// A store, by its client.
struct Store {
    function: u64,
    client: Client,
    cpus: usize,
}

impl Store {
    /// With room for so many calls at first, of which the client keeps `data` bytes each.
    fn new(function: u64, calls: usize, cpus: usize, data: usize) -> Self {
        tasks::set_cpus([cpus; 3]);
        Self {
            function,
            client: Client::silent(function, calls, data),
            cpus,
        }
    }

    /// For how many calls there is room, taken or not.
    fn room(&self) -> usize {
        c::return_calls()
    }

    /// Has a task call the function.
    fn call(&self, cpu: usize) -> Caller {
        let mut task = Caller::new();
        task.come((cpu % self.cpus) as i32, self.function, &[&self.client]);
        task
    }

    /// No more room may there be after waves of so many calls, of which `largest` fit into a block.
    fn measure(&self, calls: usize, largest: usize) -> usize {
        2 * calls + self.cpus * largest
    }
}

fn is_lost(task: &Caller) -> bool {
    !task.task.has_calls()
}

/// The worker comes until it is not asked any more.
fn wait() {
    while tend() {}
}

/// What comes next in a wave: a call on a CPU, or the worker.
#[derive(Clone, Copy)]
enum Step {
    Call(usize),
    Tend,
}

/// A wave; how many calls of it were watched, and how many lost. The worker is done after it.
fn wave(store: &Store, steps: impl Iterator<Item = Step>) -> (usize, usize) {
    let mut calls = Vec::new();
    for step in steps {
        match step {
            Step::Call(cpu) => calls.push(store.call(cpu)),
            Step::Tend => _ = tend(),
        }
    }
    let lost = calls.iter().filter(|call| is_lost(call)).count();
    let watched = calls.len() - lost;
    // Some of it may be done when the calls are over.
    if watched % 2 == 0 {
        wait();
    }
    calls.iter_mut().for_each(|call| call.leave(0));
    wait();
    (watched, lost)
}

/// All waves of so many steps.
fn each_wave(steps: u32, cpus: usize, mut what: impl FnMut(&[Step])) {
    let kinds = cpus + 1;
    for number in 0..kinds.pow(steps) {
        let step = |place| match number / kinds.pow(place) % kinds {
            0 => Step::Tend,
            cpu => Step::Call(cpu - 1),
        };
        what(&(0..steps).map(step).collect::<Vec<_>>());
    }
}

#[test]
#[cfg(not(miri))]
fn store_has_room_for_each_wave_after_it() {
    // What the client keeps of a call, and how many such calls fit into a block.
    let [alone, two, three, many] = [(4096, 1), (2952, 2), (1200, 3), (0, 48)];
    for (cpus, steps) in [(1, 13), (2, 10), (3, 8)] {
        for (start, (data, largest)) in [
            (1, alone),
            (1, two),
            (2, three),
            (3, alone),
            (3, two),
            (1, many),
            (4, many),
        ] {
            let (_world, function) = quiet_at(&JUMP);
            each_wave(steps, cpus, |steps| {
                events::history();
                let store = Store::new(function, start, cpus, data);
                let (watched, lost) = wave(&store, steps.iter().copied());
                let all = watched + lost;
                assert!(store.room() >= all, "{} for {all}", store.room());
                assert!(store.room() <= start.max(store.measure(all, largest)));
                // It comes again, on these CPUs or on others.
                let again = |step: &Step| match *step {
                    Step::Call(cpu) => Step::Call(cpu + watched),
                    Step::Tend => Step::Tend,
                };
                let second = wave(&store, steps.iter().map(again));
                assert_eq!(second, (all, 0));
                assert!(store.room() <= start.max(store.measure(all, largest)));
                store.client.ends();
            });
        }
    }
}

/// What chance says: a number below `below`.
fn chance(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((*state >> 33) as usize) % below
}

/// Calls of which each ends, watched or not, when `length` others have begun. The worker comes when
/// `tends` says so. How many were lost.
fn stream(store: &Store, calls: usize, length: usize, tends: impl Fn(usize) -> bool) -> usize {
    let (mut going_on, mut lost) = (VecDeque::<Caller>::new(), 0);
    for number in 0..calls {
        if going_on.len() == length {
            going_on
                .pop_front()
                .into_iter()
                .for_each(|mut call| call.leave(0));
        }
        let call = store.call(number);
        lost += usize::from(is_lost(&call));
        going_on.push_back(call);
        if tends(number) {
            tend();
        }
    }
    going_on.iter_mut().for_each(|call| call.leave(0));
    lost
}

#[test]
#[cfg(not(miri))]
fn successive_lost_calls_do_not_add_up() {
    let (_world, function) = quiet_at(&JUMP);
    for length in [11, 20, 100, 1000] {
        // However late the worker comes, and however many are lost until then.
        for late in [0, 100, 10_000, 50_000] {
            let store = Store::new(function, 10, 2, 0);
            let lost = stream(&store, 60_000, length, |number| number >= late);
            assert!(lost >= late / 100, "{lost} lost");
            let room = store.room();
            assert!(room >= length);
            let most = 3 * length + 2 * 48;
            assert!(room <= most, "{room} for {length}, {late} late");
            assert_eq!(stream(&store, 5000, length, |_| true), 0);
            store.client.ends();
        }
    }
}

/// Calls one after the other, each of which is short; how many were lost.
fn drips(store: &Store, count: usize) -> usize {
    let lost = |_: &usize| {
        let mut call = store.call(0);
        let lost = is_lost(&call);
        call.leave(0);
        wait();
        lost
    };
    (0..count).filter(lost).count()
}

#[test]
fn single_losses_add_one_call_and_none_at_the_bound() {
    let (_world, function) = quiet_at(&JUMP);
    let times = if cfg!(miri) { 100 } else { 100_000 };
    for bound in [4096, 10] {
        let store = Store::new(function, 10, 2, 0);
        let mut stay: Vec<_> = (0..10).map(|number| store.call(number)).collect();
        c::limit_growth(bound);
        if bound == 10 {
            assert_eq!(drips(&store, times), times);
            assert_eq!(store.room(), 10);
            c::limit_growth(4096);
        }
        assert_eq!(drips(&store, times), 1);
        // The one, half as much ahead, and what is kept for the one while others come to the new
        // ones.
        let room = store.room();
        assert!(if bound == 10 { room <= 18 } else { room == 16 }, "{room}");
        stay.iter_mut().for_each(|call| call.leave(0));
        store.client.ends();
    }
}

#[test]
#[cfg(not(miri))]
fn a_store_that_is_large_enough_stays_as_it_is() {
    let (_world, function) = quiet_at(&JUMP);
    let mut state = 0xd219;
    for _ in 0..20 {
        let store = Store::new(function, 10, 4, 0);
        let (mut calls, mut lost_at_once) = (Vec::<Caller>::new(), 0);
        for _ in 0..200_000 {
            // There are up to 30 at once.
            if calls.len() > chance(&mut state, 30) {
                let number = chance(&mut state, calls.len());
                calls.swap_remove(number).leave(0);
            } else {
                let mut call = store.call(chance(&mut state, 4));
                if is_lost(&call) {
                    lost_at_once += 1;
                    call.leave(0);
                } else {
                    calls.push(call);
                }
            }
            tend();
        }
        assert!(lost_at_once <= 5, "{lost_at_once}");
        assert!(store.room() <= store.measure(30, 48), "{}", store.room());
        calls.iter_mut().for_each(|call| call.leave(0));
        store.client.ends();
    }
}
