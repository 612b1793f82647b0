// SPDX-License-Identifier: GPL-2.0

//! A store that is too small, under loom: calls that are lost, calls that find something new, and
//! the worker that makes the store larger, in every order that the memory model allows.
//!
//! The words are loom's, with the orders that the kernel's have. Each block has one call. Whatever
//! comes before what: when the worker is done with all that it was asked for, there must be as many
//! as were watched and lost.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    pool::{
        growth::Demand,
        peak::{
            Number,
            Peak, //
        },
        search,
        word::Free,
    },
};

struct LoomNumber(AtomicU64);

impl Number for LoomNumber {
    fn zero() -> Self {
        Self(AtomicU64::new(0))
    }

    fn change(&self, to: impl Fn(u64) -> u64) -> u64 {
        let mut now = self.0.load(Relaxed);
        loop {
            let next = to(now);
            if next == now && is_weak("look") {
                return next;
            }
            let order = unless_weak("order", AcqRel);
            match self.0.compare_exchange_weak(now, next, order, Relaxed) {
                Ok(_) => return next,
                Err(other) => now = other,
            }
        }
    }

    fn seen(&self) -> u64 {
        self.0.load(Acquire)
    }
}

struct Block {
    free: Free<PoolWord>,
    within_reach: AtomicBool,
}

impl search::Block for Block {
    type Word = PoolWord;

    fn free(&self) -> &Free<PoolWord> {
        &self.free
    }
}

/// Blocks that there will be at most.
const BLOCKS: usize = 6;

struct World {
    blocks: [Block; BLOCKS],
    /// How many there are already.
    there: AtomicUsize,
    /// Which one CPUs take from first.
    home: AtomicUsize,
    peak: Peak<LoomNumber>,
    asked: AtomicBool,
    /// Calls that were watched, and that were lost. It orders nothing.
    calls: [std::sync::atomic::AtomicUsize; 2],
}

impl World {
    /// With room for one call, which is there, and one that was lost.
    fn new() -> Arc<Self> {
        let world = Self {
            blocks: core::array::from_fn(|_| Block {
                free: Free::first(1),
                within_reach: AtomicBool::new(false),
            }),
            there: AtomicUsize::new(1),
            home: AtomicUsize::new(0),
            peak: Peak::new(),
            asked: AtomicBool::new(false),
            calls: Default::default(),
        };
        world.reach(0);
        world.call();
        world.call();
        Arc::new(world)
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks[..self.there.load(Acquire)].iter().rev()
    }

    fn reach(&self, number: usize) {
        let block = &self.blocks[number];
        if is_weak("unsaid") || block.within_reach.swap(true, Relaxed) {
            return;
        }
        if self.peak.reach(1, || search::returns(self.blocks())) {
            self.ask();
        }
    }

    fn ask(&self) {
        if is_weak("shy") && self.asked.load(Relaxed) {
            return;
        }
        self.asked.swap(true, AcqRel);
    }

    fn call(&self) {
        let home = self.home.load(Acquire);
        let found = self.blocks[home].free.take().is_ok() || self.search();
        self.calls[usize::from(!found)].fetch_add(1, Relaxed);
    }

    fn search(&self) -> bool {
        match search::take(|| self.blocks()) {
            Ok((block, _)) => {
                let is_it = |one: &Block| core::ptr::eq(one, block);
                let number = self.blocks.iter().position(is_it).unwrap();
                self.reach(number);
                self.home.store(number, Release);
                true
            }
            Err(returns) => {
                self.peak.lose(returns);
                self.ask();
                false
            }
        }
    }

    /// The worker comes; tells whether it was asked.
    fn tend(&self) -> bool {
        if !self.asked.swap(false, unless_weak("asked", AcqRel)) {
            return false;
        }
        let all = self.there.load(Relaxed);
        let demand = Demand {
            all,
            // As if there was enough.
            free: all,
            most: self.peak.most(),
            bound: BLOCKS,
        };
        for number in all..all + demand.more() {
            self.there.store(number + 1, Release);
            let home = &self.blocks[self.home.load(Relaxed)];
            if home.free.len() == 0 {
                self.reach(number);
                self.home.store(number, Release);
            }
        }
        true
    }
}

/// A call on each of other CPUs, while the worker comes twice, and one when it has nothing to do.
fn wave<const CPUS: usize>(interrupted: usize) {
    run_model(Some(interrupted), move || {
        let world = World::new();
        let threads = [(); CPUS].map(|()| {
            let world = world.clone();
            thread::spawn(move || world.call())
        });
        // The second time there is room at home, and nothing new comes within reach.
        world.tend();
        world.tend();
        for thread in threads {
            thread.join().unwrap();
        }
        while world.tend() {}
        world.call();
        while world.tend() {}
        let calls: usize = world.calls.iter().map(|count| count.load(Relaxed)).sum();
        let there = world.there.load(Relaxed);
        assert!(there >= calls, "there is room for {there} of {calls}");
    });
}

models! {
    there_is_room_for_what_was_lost_and_what_was_not:
        wave::<1>(3), wave::<2>(2);
    loss_that_is_only_looked_at_is_caught with "look" fails "there is room for": wave::<1>(3);
    number_changed_without_an_order_is_caught with "order" fails "there is room for": wave::<1>(3);
    reach_that_is_not_told_is_caught with "unsaid" fails "there is room for": wave::<1>(3);
    who_does_not_ask_again_is_caught with "shy" fails "there is room for": wave::<1>(3);
    worker_that_does_not_see_is_caught with "asked" fails "there is room for": wave::<1>(3);
}
