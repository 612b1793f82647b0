// SPDX-License-Identifier: GPL-2.0

//! A store that is too small, under loom: calls that are lost, calls that find something new, and
//! the worker that makes the store larger, in every order that the memory model allows.
//!
//! Each block has one call. Whatever comes before what: when the worker is done with all that it
//! was asked for, there must be as many as were watched and lost.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    growth::{
        Demand,
        Lost, //
    },
    loom_kit::*,
    pool::{
        self,
        Free,
        Returns, //
    },
};

struct Block {
    free: Free,
    touched: AtomicBool,
}

impl pool::Block for Block {
    fn free(&self) -> &Free {
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
    lost: Lost,
    asked: AtomicBool,
    /// Calls that were watched, and that were lost. It orders nothing.
    calls: [std::sync::atomic::AtomicUsize; 2],
}

impl World {
    /// With room for so many calls, of which one is there.
    fn new(there: usize) -> Self {
        let world = Self {
            blocks: core::array::from_fn(|_| Block {
                free: Free::first(1),
                touched: AtomicBool::new(false),
            }),
            there: AtomicUsize::new(there),
            home: AtomicUsize::new(0),
            lost: Lost::none(),
            asked: AtomicBool::new(false),
            calls: Default::default(),
        };
        world.touch(0);
        world.call();
        world
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks[..self.there.load(Acquire)].iter().rev()
    }

    fn returns(&self) -> Returns {
        let returns = self.blocks().map(|block| block.free.returns());
        returns.fold(Returns::NONE, Returns::and)
    }

    fn touch(&self, number: usize) {
        let block = &self.blocks[number];
        if block.touched.load(Relaxed) {
            return;
        }
        block.touched.store(true, Relaxed);
        if !is_weak("unsaid") && self.lost.touch(|| self.returns()) {
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
        match pool::take(|| self.blocks()) {
            Ok((block, _)) => {
                let is_it = |one: &Block| core::ptr::eq(one, block);
                let number = self.blocks.iter().position(is_it).unwrap();
                self.touch(number);
                self.home.store(number, Release);
                true
            }
            Err(returns) => {
                self.lost.lose(returns);
                self.ask();
                false
            }
        }
    }

    /// The worker comes; tells whether it was asked.
    fn tend(&self) -> bool {
        if !self.asked.swap(false, AcqRel) {
            return false;
        }
        let all = self.there.load(Relaxed);
        let demand = Demand {
            all,
            // As if there was enough.
            free: all,
            limit: BLOCKS,
            lost: self.lost.look(|| {
                let touched = |block: &&Block| block.touched.load(Relaxed);
                self.blocks().filter(touched).count()
            }),
            returns: self.returns(),
        };
        for number in all..all + demand.more() {
            self.there.store(number + 1, Release);
            let home = &self.blocks[self.home.load(Relaxed)];
            if home.free.len() == 0 {
                self.touch(number);
                self.home.store(number, Release);
            }
        }
        true
    }
}

/// A call on each of other CPUs, while the worker comes twice, and maybe one when it has nothing to
/// do.
fn calls<const CPUS: usize>(world: World, more: bool) {
    let world = Arc::new(world);
    let threads = [(); CPUS].map(|()| {
        let world = world.clone();
        thread::spawn(move || world.call())
    });
    // The second time there is room at home, and nothing new is touched.
    world.tend();
    world.tend();
    for thread in threads {
        thread.join().unwrap();
    }
    while world.tend() {}
    if more {
        world.call();
        while world.tend() {}
    }
    let calls: usize = world.calls.iter().map(|count| count.load(Relaxed)).sum();
    let there = world.there.load(Relaxed);
    assert!(there >= calls, "there is room for {there} of {calls}");
}

/// One was lost before.
fn wave<const CPUS: usize>(interrupted: usize) {
    run_model(Some(interrupted), || {
        let world = World::new(1);
        world.call();
        calls::<CPUS>(world, true);
    });
}

/// One finds what is there, and nobody has touched it; the other one is the first that is lost.
fn last_and_first() {
    run_model(Some(2), || calls::<2>(World::new(2), false));
}

models! {
    there_is_room_for_what_was_lost_and_what_was_not:
        wave::<1>(3), wave::<2>(1), last_and_first();
    looks_without_a_barrier_are_caught
        with "fence(Ordering::SeqCst)" in "returns/growth.rs" fails "there is room for":
        last_and_first();
    touch_that_is_not_told_is_caught with "unsaid" fails "there is room for": wave::<1>(3);
    who_does_not_ask_again_is_caught with "shy" fails "there is room for": wave::<1>(3);
}
