// SPDX-License-Identifier: GPL-2.0

//! The slots of a page under loom: who gives some back, who takes one, who frees the page and the
//! callback of Tasks RCU, in every order that the memory model allows.
//!
//! One job at a time takes slots. Each slot, the head of the callback and the page itself have
//! a cell in which loom finds any two accesses that nothing orders: so it shows when a slot has two
//! owners, when the head is handed over twice, and when the page is looked at after it was freed.
//!
//! A grace period of Tasks RCU may be over as soon as it was asked for. What waits is not played by
//! spinning: a callback that has not run yet runs when all threads are done.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{bits::Bits, loom_kit::*};

const SLOTS: usize = 3;

/// A page, and all that is around it.
struct World {
    page: Watched,
    bits: Bits,
    slots: [Watched; SLOTS],
    head: Watched,
    /// Grace periods that were asked for and are not over: never more than one, as there is one
    /// head.
    asked: AtomicUsize,
    /// How many have been asked for so far, and when each slot was left.
    asks: AtomicUsize,
    left_after: [AtomicUsize; SLOTS],
    given: AtomicUsize,
    /// How many were taken again. It orders nothing.
    taken: std::sync::atomic::AtomicUsize,
    /// Was somebody told that the page may be unused?
    noted: AtomicBool,
    freed: AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        let bits = Bits::new((1 << SLOTS) - 1);
        while bits.take().is_some() {}
        Arc::new(Self {
            page: Watched::default(),
            bits,
            slots: Default::default(),
            head: Watched::default(),
            asked: AtomicUsize::new(0),
            asks: AtomicUsize::new(0),
            left_after: core::array::from_fn(|_| AtomicUsize::new(0)),
            given: AtomicUsize::new(0),
            taken: 0.into(),
            noted: AtomicBool::new(false),
            freed: AtomicBool::new(false),
        })
    }

    fn bits(&self) -> &Bits {
        self.page.share();
        &self.bits
    }

    /// A task uses its slot for the last time and gives it back.
    fn free_later(&self, slot: usize) {
        self.slots[slot].have();
        self.given.fetch_add(1, Relaxed);
        self.left_after[slot].store(self.asks.fetch_or(0, AcqRel), Relaxed);
        let ask = self.bits().mark_pending(1 << slot);
        self.follow_up(ask);
    }

    /// Gives back a slot that nobody can be in.
    fn free(&self, slot: usize) {
        self.slots[slot].have();
        self.given.fetch_add(1, Relaxed);
        if self.bits().mark_free(1 << slot) {
            self.noted.store(true, Release);
        }
    }

    fn follow_up(&self, ask: bool) {
        if !ask {
            return;
        }
        self.page.share();
        self.head.have();
        self.asks.fetch_add(1, AcqRel);
        assert_eq!(self.asked.fetch_add(1, AcqRel), 0, "the head is in use");
    }

    /// The callback runs if a grace period was asked for and is over; tells whether it did.
    fn expire(&self) -> bool {
        if self.asked.fetch_or(0, AcqRel) == 0 {
            return false;
        }
        self.asked.fetch_sub(1, AcqRel);
        self.head.have();
        let this = self.asks.fetch_or(0, AcqRel);
        let (covered, ask) = self.bits().end_grace_period();
        for slot in (0..SLOTS).filter(|slot| covered >> slot & 1 != 0) {
            self.slots[slot].share();
            let left_after = self.left_after[slot].load(Relaxed);
            assert!(
                left_after < this,
                "a slot is covered by a grace period that began before it was left"
            );
        }
        self.follow_up(ask);
        if self.bits().mark_free(covered) {
            self.noted.store(true, Release);
        }
        // Who frees the page may come in between.
        if is_weak("late") {
            self.page.share();
        }
        true
    }

    /// Somebody takes a slot, if there is one, and uses it.
    fn take(&self) -> bool {
        let slot = self.bits().take();
        slot.is_some_and(|slot| {
            self.slots[slot].have();
            true
        })
    }

    /// Takes the page away if it is unused, and frees it.
    fn free_unused(&self) {
        let is_unused = self.bits().is_unused();
        if is_unused {
            self.freed.store(true, Relaxed);
            self.page.have();
        }
    }

    /// When all threads are done, all that was given back is free, and nothing goes on.
    fn end(&self) {
        if self.freed.load(Relaxed) {
            return;
        }
        while self.expire() {}
        assert_eq!(self.asked.load(Relaxed), 0, "the callback never came");
        let unseen = self.bits().is_unused() && !self.noted.load(Relaxed);
        assert!(!unseen, "nobody knows that the page is unused");
        let free = (0..).take_while(|_| self.take()).count();
        let taken = self.taken.load(Relaxed);
        assert_eq!(free + taken, self.given.load(Relaxed), "a slot is lost");
    }
}

/// Runs the jobs at once, each interrupted at most three times (in all orders it takes minutes).
/// `before` comes first.
fn race<const JOBS: usize>(before: fn(&World), jobs: [fn(&World); JOBS]) {
    run_race(Some(3), World::new, before, jobs, World::end);
}

jobs! {
    free_first: |world| world.free(0);
    free_second: |world| world.free(1);
    leave_first: |world| world.free_later(0);
    leave_second: |world| world.free_later(1);
    expire: |world| world.expire();
    take: |world| world.taken.fetch_add(world.take().into(), Relaxed);
    free_unused: |world| world.free_unused();
    expire_and_tidy: |world| { world.expire(); world.free_unused(); };
    free_third: |world| world.free(2);
}

/// The page may be unused when the last slot comes back, and is freed then.
fn freed() {
    let all_but_one = |world: &World| {
        world.free(1);
        world.free(2);
        world.free_later(0);
    };
    race(all_but_one, [free_unused, expire]);
}

models! {
    slots_that_two_leave_come_back: race(|_| (), [leave_first, leave_second, expire]);
    // The grace period of the first one may be over at any time.
    slots_left_during_the_callback_wait_for_the_next:
        race(leave_first, [leave_second, expire]);
    a_slot_has_one_owner: race(leave_first, [take, expire]);
    unused_page_is_freed_when_no_cpu_looks_at_it: freed();
    page_stays_until_its_last_slots_are_given_back:
        race(free_third, [leave_first, leave_second, expire_and_tidy]);
    // It may be unused after either.
    page_stays_while_its_last_slots_are_freed:
        race(free_third, [free_first, free_second, free_unused]);
    look_at_a_page_after_its_last_slot_is_caught with "late" fails "Causality violation": freed();
}
