// SPDX-License-Identifier: GPL-2.0

//! The bitmaps of the blocks of a pool under loom: calls that take an instance and give it back, in
//! every order that the memory model allows.
//!
//! Each instance has a cell in which loom finds any two calls that have it with nothing to order
//! them. There are never more calls at a time than instances, so none may be told that there is
//! nothing.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    bitmap::{self, Bitmap, Ticket},
    loom_kit::*,
};

/// A block, and a cell for each of its instances.
struct Block {
    bitmap: Bitmap,
    cells: Vec<Watched>,
    /// How many CPUs own it. It orders nothing.
    owners: std::sync::atomic::AtomicUsize,
}

impl AsRef<Bitmap> for Block {
    fn as_ref(&self) -> &Bitmap {
        &self.bitmap
    }
}

/// Two blocks.
struct World([Block; 2]);

impl World {
    fn new(counts: [u32; 2]) -> Arc<Self> {
        let block = |count| Block {
            bitmap: Bitmap::new(count as usize),
            cells: (0..count).map(|_| Watched::default()).collect(),
            owners: 0.into(),
        };
        Arc::new(Self(counts.map(block)))
    }

    fn take(&self, home: usize) -> (&Block, u32) {
        let found = match self.0[home].bitmap.take() {
            Ok(index) => Some((&self.0[home], index)),
            Err(_) => self.search(),
        };
        let (block, index) = found.expect("there was always one");
        block.cells[index as usize].have();
        (block, index)
    }

    fn search(&self) -> Option<(&Block, u32)> {
        let once = || {
            let mut all = self.0.iter();
            all.find_map(|block| Some((block, block.bitmap.take().ok()?)))
        };
        if is_weak("once") {
            return once();
        }
        // As if two searches that find nothing were enough.
        if is_weak("uncounted") {
            return once().or_else(once);
        }
        bitmap::take(|| self.0.iter()).ok()
    }

    fn give(&self, (block, index): (&Block, u32)) {
        block.cells[index as usize].have();
        block.bitmap.give(Ticket::of(index));
    }

    fn call(&self, home: usize) {
        self.give(self.take(home));
    }

    /// A call on a CPU that owns no block, and owns one from then on, if there is any.
    fn claim(&self) {
        let claimed = bitmap::claim(self.0.iter());
        let Some((block, index)) = claimed else {
            return self.call(0);
        };
        let owners = block.owners.fetch_add(1, Relaxed);
        assert_eq!(owners, 0, "two CPUs own a block");
        block.cells[index as usize].have();
        self.give((block, index));
        // It takes from another one then.
        if is_weak("kept") {
            block.bitmap.disown();
        }
        thread::yield_now();
        block.owners.fetch_sub(1, Relaxed);
        block.bitmap.disown();
    }
}

/// Runs the jobs at once in every order in which each is interrupted at most so often.
fn race<const JOBS: usize>(
    counts: [u32; 2],
    interrupted: usize,
    before: fn(&World),
    jobs: [fn(&World); JOBS],
) {
    let world = move || World::new(counts);
    run_race(Some(interrupted), world, before, jobs, |world| {
        let free: usize = world.0.iter().map(|block| block.bitmap.len()).sum();
        let all: usize = world.0.iter().map(|block| block.cells.len()).sum();
        assert_eq!(free, all, "an instance is lost");
    });
}

/// Calls on two CPUs that have the same home.
fn same_home() {
    let calls = |world: &World| {
        world.call(0);
        world.call(0);
    };
    race([2, 0], 3, |_| (), [calls, |world| world.call(0)]);
}

/// One call is there when another one looks for an instance, and ends; the next one takes what the
/// other one comes to last.
fn moved() {
    let before = |world: &World| _ = world.take(0);
    let moves = |world: &World| {
        world.give((&world.0[0], 0));
        world.call(1);
    };
    race([1, 1], 4, before, [moves, |world| world.call(0)]);
}

/// The same, where the other one claims the block.
fn moved_and_claimed() {
    let before = |world: &World| _ = world.take(0);
    let moves = |world: &World| {
        world.give((&world.0[0], 0));
        if let Some(claimed) = bitmap::claim(world.0[1..].iter()) {
            world.give(claimed);
        }
    };
    race([1, 1], 4, before, [moves, |world| world.call(0)]);
}

/// The same, and it goes back.
fn moved_twice() {
    let before = |world: &World| _ = world.take(0);
    let moves = |world: &World| {
        world.give((&world.0[0], 0));
        let second = world.take(1);
        let first = world.take(0);
        world.give(second);
        world.call(1);
        world.give(first);
    };
    let home = |world: &World| world.call(0);
    race([1, 2], 3, before, [moves, home]);
}

/// The only free instance goes round while it is looked for.
fn goes_round() {
    let before = |world: &World| _ = world.take(0);
    let moves = |world: &World| {
        world.give((&world.0[0], 0));
        let second = world.take(1);
        world.give(second);
        let first = world.take(0);
        world.give(first);
        let second = world.take(1);
        world.give(second);
    };
    let home = |world: &World| world.call(0);
    race([1, 1], 4, before, [moves, home]);
}

/// Two CPUs, or three, come to own a block at the same time.
fn claims() {
    race([1, 2], 3, |_| (), [World::claim; 2]);
}

models! {
    an_instance_has_one_call: same_home();
    moving_instance_is_found_by_a_search:
        moved(), moved_and_claimed(), moved_twice();
    circling_instance_is_found_by_a_search: goes_round();
    a_block_has_one_owner: claims();
    instance_given_back_without_an_order_is_caught
        with "self.0.fetch_add(ticket.0" in "returns/bitmap.rs" fails "Causality violation":
        same_home();
    instance_looked_for_once_is_caught with "once" fails "there was always one": moved();
    return_that_is_not_counted_is_caught with "uncounted" fails "there was always one":
        goes_round();
    instance_gone_without_an_order_is_caught
        with "self.0.fetch_and(" in "returns/bitmap.rs" as Acquire fails "there was always one":
        moved();
    instance_claimed_without_an_order_is_caught
        with ".compare_exchange(seen, next" in "returns/bitmap.rs" as Acquire fails "there was always one":
        moved_and_claimed();
    block_disowned_too_early_is_caught with "kept" fails "two CPUs own a block": claims();
}
