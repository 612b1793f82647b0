// SPDX-License-Identifier: GPL-2.0

//! A pool that is too small, under loom: calls that are lost, calls that find something new, and
//! the worker that makes the pool larger, in every order that the memory model allows.
//!
//! Each block has one call. Whatever comes before what: when the worker is done with all that it
//! was asked for, there must be as many as were watched and lost.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    bitmap::{self, Bitmap},
    growth::{Lost, Totals},
    loom_kit::*,
};

struct Block {
    bitmap: Bitmap,
    used: AtomicBool,
}

impl AsRef<Bitmap> for Block {
    fn as_ref(&self) -> &Bitmap {
        &self.bitmap
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
                bitmap: Bitmap::new(1),
                used: AtomicBool::new(false),
            }),
            there: AtomicUsize::new(there),
            home: AtomicUsize::new(0),
            lost: Lost::none(),
            asked: AtomicBool::new(false),
            calls: Default::default(),
        };
        world.note_use(0);
        world.call();
        world
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks[..self.there.load(Acquire)].iter().rev()
    }

    fn returns(&self) -> u16 {
        let returns = self.blocks().map(|block| block.bitmap.returns());
        returns.fold(0, u16::wrapping_add)
    }

    fn note_use(&self, number: usize) {
        let block = &self.blocks[number];
        if block.used.load(Relaxed) {
            return;
        }
        block.used.store(true, Relaxed);
        if !is_weak("unsaid") && self.lost.note_use(|| self.returns()) {
            self.ask();
        }
    }

    fn ask(&self) {
        self.asked.swap(true, AcqRel);
    }

    fn call(&self) {
        let home = self.home.load(Acquire);
        let found = self.blocks[home].bitmap.take().is_ok() || self.search();
        self.calls[usize::from(!found)].fetch_add(1, Relaxed);
    }

    fn search(&self) -> bool {
        match bitmap::take(|| self.blocks()) {
            Ok((block, _)) => {
                let is_it = |one: &Block| core::ptr::eq(one, block);
                let number = self.blocks.iter().position(is_it).unwrap();
                self.note_use(number);
                self.home.store(number, Release);
                true
            }
            Err(returns) => {
                self.lost.count(returns, self.there.load(Relaxed));
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
        let totals = || Totals {
            all,
            // As if there was enough.
            free: all,
            used: (self.blocks())
                .filter(|block| block.used.load(Relaxed))
                .count(),
            returns: self.returns(),
        };
        for number in all..all + self.lost.more(BLOCKS, totals) {
            self.there.store(number + 1, Release);
            let home = &self.blocks[self.home.load(Relaxed)];
            if home.bitmap.len() == 0 {
                self.note_use(number);
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
    // The second time there is room at home, and nothing new is used.
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

/// One finds what is there, and nobody has used it; the other one is the first that is lost.
fn last_and_first() {
    run_model(Some(2), || calls::<2>(World::new(2), false));
}

models! {
    pool_grows_for_lost_calls_and_calls_in_use:
        wave::<1>(3), wave::<2>(1), last_and_first();
    looks_without_a_barrier_are_caught
        with "fence(Ordering::SeqCst)" in "returns/growth.rs" fails "there is room for":
        last_and_first();
    unreported_use_is_caught with "unsaid" fails "there is room for": wave::<1>(3);
}
