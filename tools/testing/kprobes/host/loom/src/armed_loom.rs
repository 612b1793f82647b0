// SPDX-License-Identifier: GPL-2.0

//! What makes a place be hit under loom: hits against one who arms, guards and disarms it, in every
//! order that the memory model allows.
//!
//! Ftrace is played by two flags, one for each way to call, that have no order at all. What the
//! place is armed for has a cell in which loom finds any two accesses that nothing orders. Whoever
//! changes the place does so in the order of `lifecycle/arming.rs`.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    sys::flags::{Armed, AtomicArmed},
};

struct World {
    state: AtomicArmed,
    purpose: Watched,
    /// Whether the place is called from: the plain user, the IPMODIFY user.
    calls: [AtomicBool; 2],
    told: AtomicBool,
}

impl World {
    /// A hit; how often it counts.
    fn hit(&self) -> usize {
        let ways = [(Armed::Ftrace, 0), (Armed::FtraceIpmodify, 1)];
        let called =
            |&(way, calls): &(Armed, usize)| self.calls[calls].load(Relaxed) && self.state.is(way);
        let count = ways.iter().filter(|way| called(way)).count();
        if count != 0 {
            self.purpose.share();
        }
        count
    }

    fn watch(&self) {
        self.calls[0].store(true, Relaxed);
        self.state.set(Armed::Ftrace);
    }

    /// It is called from in the second way, too.
    fn guard(&self) {
        self.calls[1].store(true, Relaxed);
        // It counts at once.
        if is_weak("say") {
            self.state.set(Armed::FtraceIpmodify);
        }
    }

    fn stop(&self) {
        self.state.set(Armed::No);
        for calls in &self.calls {
            calls.store(false, Relaxed);
        }
    }
}

/// Somebody who changes what makes the place be hit, against a hit.
#[derive(Clone, Copy)]
struct Race {
    before: fn(&World),
    change: fn(&World),
    /// How often a hit may count that does not know whether all is done, and one that does.
    may: &'static [usize],
    must: usize,
}

impl Race {
    fn run(self) {
        run_model(None, move || self.once());
    }

    fn once(self) {
        let world = Arc::new(World {
            state: AtomicArmed::new(),
            purpose: Watched::default(),
            calls: [AtomicBool::new(false), AtomicBool::new(false)],
            told: AtomicBool::new(false),
        });
        (self.before)(&world);
        let hit = thread::spawn({
            let world = world.clone();
            move || {
                let told = world.told.load(Acquire);
                let count = world.hit();
                assert!(self.may.contains(&count), "a hit counts {count} times");
                assert!(
                    !told || count == self.must,
                    "a late hit counts {count} times"
                );
            }
        });
        (self.change)(&world);
        world.told.store(true, Release);
        hit.join().unwrap();
    }
}

/// It is armed, for something that was put there.
const ARM: Race = Race {
    before: |_| (),
    change: |world| {
        world.purpose.have();
        world.watch();
    },
    may: &[0, 1],
    must: 1,
};

const GUARD: Race = Race {
    before: World::watch,
    change: World::guard,
    may: &[1],
    must: 1,
};

const DISARM: Race = Race {
    before: |world| {
        world.watch();
        world.guard();
    },
    change: World::stop,
    may: &[0, 1],
    must: 0,
};

models! {
    hit_on_an_armed_place_sees_its_purpose: ARM.run();
    each_hit_counts_once_while_a_place_gets_its_guard: GUARD.run();
    disarmed_places_are_not_hit: DISARM.run();
    place_armed_without_an_order_is_caught with "self.0.store(armed" in "sys/flags.rs" fails "Causality violation": ARM.run();
    place_found_armed_without_an_order_is_caught with "self.0.load(Ordering::Acquire)" in "sys/flags.rs" fails "Causality violation": ARM.run();
    second_way_that_counts_at_once_is_caught with "say" fails "a hit counts": GUARD.run();
}
