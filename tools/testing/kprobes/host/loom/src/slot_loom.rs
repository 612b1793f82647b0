// SPDX-License-Identifier: GPL-2.0

//! The slots of a page under loom: who gives some back, who takes one, who frees the page and the
//! callback of Tasks RCU, in every order that the memory model allows.
//!
//! The atomics of the page are loom's, with the orders that the kernel's have. Each slot, the head
//! of the callback and the page itself have a cell in which loom finds any two accesses that
//! nothing orders: so it shows when a slot has two owners, when the head is handed over twice, and
//! when the page is looked at after it was freed.
//!
//! A grace period of Tasks RCU waits for whoever was giving a slot back when it was asked for, but
//! not for those who begin later; RCU waits for read-side sections: a callback is in one while it
//! runs, and who frees a slot for as long as the map says. What waits is not played by spinning: a
//! callback that may not run yet runs when all threads are done.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    slot::{
        atomics::{
            Flag,
            Word, //
        },
        map::{
            Map,
            Then, //
        },
    },
};
use std::sync::Mutex;

/// Slots of the page.
const SLOTS: usize = 3;

/// A word that is in the page.
struct PageWord(AtomicU64, Arc<Watched>);

impl Word for PageWord {
    fn add(&self, bits: u64) {
        self.1.share();
        self.0.fetch_or(bits, unless_weak("add", Release));
    }

    fn seen(&self) -> u64 {
        self.1.share();
        self.0.load(Acquire)
    }

    fn remove(&self, bits: u64) {
        self.1.share();
        self.0.fetch_and(!bits, Relaxed);
    }

    fn drain(&self) -> u64 {
        self.1.share();
        self.0.swap(0, Acquire)
    }
}

/// A flag that is in the page.
struct PageFlag(AtomicBool, Arc<Watched>);

impl Flag for PageFlag {
    fn raise(&self) -> bool {
        self.1.share();
        !self.0.swap(true, AcqRel)
    }

    fn lower(&self) {
        self.1.share();
        // A store does not see who has tried to raise it.
        if is_weak("store") {
            self.0.store(false, Release);
        } else {
            let order = if is_weak("lower") { Acquire } else { AcqRel };
            self.0.swap(false, order);
        }
    }

    fn is_raised(&self) -> bool {
        self.1.share();
        self.0.load(Acquire)
    }
}

/// A page, and all that is around it.
struct World {
    page: Arc<Watched>,
    map: Map<PageWord, PageFlag, 1>,
    slots: [Watched; SLOTS],
    head: Watched,
    /// Grace periods that were asked for and are not over: never more than one, as there is one
    /// head.
    asked: AtomicUsize,
    /// How many have been asked for so far, and when each slot was left.
    asks: AtomicUsize,
    left_after: [AtomicUsize; SLOTS],
    /// Who gives back a slot, a bit each, has begun, and is done.
    begun: AtomicUsize,
    done: AtomicUsize,
    /// Who had begun and was not done when the grace period was asked for.
    waited_for: Mutex<usize>,
    /// How many slots were given back.
    given: AtomicUsize,
    /// How many were taken again. It orders nothing.
    taken: std::sync::atomic::AtomicUsize,
    readers: Readers,
    /// Was somebody told that the page may be unused?
    noted: AtomicBool,
    freed: AtomicBool,
}

impl World {
    /// All slots are taken.
    fn new() -> Arc<Self> {
        let page = Arc::new(Watched::default());
        let word = |bits| PageWord(AtomicU64::new(bits), page.clone());
        let flag = PageFlag(AtomicBool::new(false), page.clone());
        let map = Map::new(SLOTS, word, flag);
        while map.take().is_some() {}
        Arc::new(Self {
            page,
            map,
            slots: Default::default(),
            head: Watched::default(),
            asked: AtomicUsize::new(0),
            asks: AtomicUsize::new(0),
            left_after: core::array::from_fn(|_| AtomicUsize::new(0)),
            begun: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            waited_for: Mutex::new(0),
            given: AtomicUsize::new(0),
            taken: 0.into(),
            readers: Readers::new(),
            noted: AtomicBool::new(false),
            freed: AtomicBool::new(false),
        })
    }

    /// A read-side section, unless `whose` has none.
    fn read_side(&self, whose: &str) -> Option<Reading> {
        (!is_weak(whose)).then(|| self.readers.read_side())
    }

    /// A task uses its slot for the last time and gives it back.
    fn leave(&self, slot: usize) {
        self.begun.fetch_or(1 << slot, AcqRel);
        self.slots[slot].have();
        self.given.fetch_add(1, Relaxed);
        self.left_after[slot].store(self.asks.fetch_or(0, AcqRel), Relaxed);
        self.follow_up(self.map.leave(slot));
        self.done.fetch_or(1 << slot, AcqRel);
    }

    /// Gives back a slot that nobody can be in. Whom to tell stands in the page.
    fn free(&self, slot: usize) {
        self.slots[slot].have();
        self.given.fetch_add(1, Relaxed);
        let enter = || self.read_side("freeing");
        self.map.free(slot, enter, || {
            self.page.share();
            self.noted.store(true, Release);
        });
    }

    fn follow_up(&self, then: Then) {
        if then == Then::Nothing {
            return;
        }
        self.head.have();
        // Modifications, so that what is latest is seen.
        let done = self.done.fetch_or(0, AcqRel);
        *self.waited_for.lock().unwrap() = self.begun.fetch_or(0, AcqRel) & !done;
        self.asks.fetch_add(1, AcqRel);
        assert_eq!(self.asked.fetch_add(1, AcqRel), 0, "the head is in use");
    }

    /// The callback runs if a grace period was asked for and is over; tells whether it did.
    fn expire(&self) -> bool {
        if self.asked.fetch_or(0, AcqRel) == 0 {
            return false;
        }
        let waited_for = *self.waited_for.lock().unwrap();
        let over = waited_for & !self.done.fetch_or(0, AcqRel) == 0;
        if !over && !is_weak("tasks") {
            return false;
        }
        let _reading = self.read_side("callbacks");
        self.asked.fetch_sub(1, AcqRel);
        self.head.have();
        let this = self.asks.fetch_or(0, AcqRel);
        let then = self.map.expired(|slot| {
            self.slots[slot].share();
            let left_after = self.left_after[slot].load(Relaxed);
            assert!(
                left_after < this,
                "a slot does not wait for its own grace period"
            );
        });
        self.follow_up(then);
        self.noted.store(true, Release);
        true
    }

    /// Somebody takes a slot, if there is one, and uses it.
    fn take(&self) -> bool {
        let slot = self.map.take();
        slot.is_some_and(|slot| {
            self.slots[slot].have();
            true
        })
    }

    /// Takes the page away if it is unused, and frees it after a grace period of RCU.
    fn tidy(&self) {
        if !self.map.is_unused() {
            return;
        }
        self.freed.store(true, Relaxed);
        if self.readers.are_gone() {
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
        let unseen = self.map.is_unused() && !self.noted.load(Relaxed);
        assert!(!unseen, "nobody knows that the page is unused");
        let free = (0..).take_while(|_| self.take()).count();
        let taken = self.taken.load(Relaxed);
        assert_eq!(free + taken, self.given.load(Relaxed), "a slot is lost");
    }
}

/// Runs the jobs at once, each interrupted at most three times (in all orders it takes minutes).
/// `before` comes first.
fn race<const JOBS: usize>(before: fn(&World), jobs: [fn(&World); JOBS]) {
    let world = move || {
        let world = World::new();
        before(&world);
        world
    };
    run_race(Some(3), world, jobs, |world, _| world.end());
}

jobs! {
    free_first: |world| world.free(0);
    free_second: |world| world.free(1);
    leave_first: |world| world.leave(0);
    leave_second: |world| world.leave(1);
    expire: |world| world.expire();
    take: |world| world.taken.fetch_add(world.take().into(), Relaxed);
    tidy: |world| world.tidy();
    expire_and_tidy: |world| { world.expire(); world.tidy(); };
    /// One slot is left, whose grace period may be over at any time.
    left: |world| world.leave(0);
}

/// Two tasks leave their slots, and the callback may come in between.
fn two_leave() {
    race(|_| (), [leave_first, leave_second, expire]);
}

/// One slot waits, another one is left when the callback comes.
fn left_meanwhile() {
    race(left, [leave_second, expire]);
}

/// A slot is handed on by another one than who left it, and comes back before that one looks. Tasks
/// RCU never is so early; nothing is lost even so.
fn overtaken() {
    let others = |world: &World| {
        world.leave(1);
        world.expire();
        world.leave(2);
    };
    race(|_| (), [leave_first, others]);
}

/// A slot is taken when the callback comes.
fn taken_again() {
    race(left, [take, expire]);
}

/// The page may be unused when the last slot comes back, and is freed then.
fn freed() {
    let all_but_one = |world: &World| {
        world.free(1);
        world.free(2);
        world.leave(0);
    };
    race(all_but_one, [tidy, expire]);
}

/// The same, while its last slots are being given back.
fn freed_meanwhile() {
    let other = |world: &World| world.free(2);
    race(other, [leave_first, leave_second, expire_and_tidy]);
}

/// The last slots are freed, and the page may be unused after either.
fn freed_under_who_frees() {
    let other = |world: &World| world.free(2);
    race(other, [free_first, free_second, tidy]);
}

models! {
    slots_that_two_leave_come_back: two_leave();
    what_is_left_when_the_callback_comes_waits_for_the_next: left_meanwhile();
    who_finds_nothing_to_hand_on_looks_again with "tasks": overtaken();
    a_slot_has_one_owner: taken_again();
    an_unused_page_is_freed_when_nobody_looks_at_it: freed();
    a_page_stays_for_who_gives_back_its_last_slots: freed_meanwhile();
    a_page_stays_for_who_frees_its_last_slots: freed_under_who_frees();
    slot_set_free_without_an_order_is_caught with "add" fails "Causality violation": taken_again();
    flag_lowered_without_an_order_is_caught with "lower" fails "Causality violation":
        left_meanwhile();
    flag_lowered_by_a_store_is_caught with "store" fails "a slot is lost": left_meanwhile();
    callback_before_its_task_is_elsewhere_is_caught with "tasks" fails "Causality violation":
        freed_meanwhile();
    page_freed_under_its_callback_is_caught with "callbacks" fails "Causality violation": freed();
    page_freed_under_who_frees_its_last_slot_is_caught with "freeing" fails "Causality violation":
        freed_under_who_frees();
}
