// SPDX-License-Identifier: GPL-2.0

//! The end of a store of return probes under loom: calls that are over, one that begins, who leaves
//! the store, who unwinds a task, and the worker, in every order that the memory model allows.
//!
//! The words are loom's, with the orders that the kernel's have. The store, and what the client has
//! kept for each call, have a cell that whoever frees the store has for itself: so it shows when
//! anybody is not done with them by then, or comes later. At the end the store must have been
//! freed, and one must have learned that it was time.
//!
//! RCU waits for read-side sections, which are counted: a worker that finds one goes on the next
//! time that somebody asks for it, and when all threads are done. There is one worker, which a
//! mutex stands for.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    pool::{
        account::{
            Account,
            End,
            Flag,
            Number,
            Over, //
        },
        word::{
            Free,
            Ticket,
            Word, //
        },
    },
};
use loom::sync::Mutex;

/// Calls that there is room for.
const CALLS: u32 = 2;

/// Is the store freed with all waits as they are? They would hide what else is wrong.
fn waits_for_unwinders() -> bool {
    !["unwind", "back", "seen", "look"].into_iter().any(is_weak)
}

std::thread_local! {
    /// In which store words are made now.
    static MAKING: RefCell<Arc<Watched>> = panic!("no store is made");
}

/// Something in the store.
struct In<T>(T, Arc<Watched>);

impl<T> In<T> {
    fn new(value: T) -> Self {
        MAKING.with_borrow(|store| Self(value, store.clone()))
    }

    /// An access.
    fn get(&self) -> &T {
        self.1.share();
        &self.0
    }
}

impl Flag for In<AtomicBool> {
    fn lowered() -> Self {
        Self::new(AtomicBool::new(false))
    }

    fn raise(&self) {
        self.get().store(true, unless_weak("left", Release));
    }

    fn is_raised(&self) -> bool {
        self.get().load(Relaxed)
    }

    fn is_seen(&self) -> bool {
        self.get().load(unless_weak("left seen", Acquire))
    }
}

impl Number for In<AtomicIsize> {
    fn zero() -> Self {
        Self::new(AtomicIsize::new(0))
    }

    fn add(&self, value: isize) -> isize {
        let order = unless_weak("back", AcqRel);
        self.get().fetch_add(value, order) + value
    }

    fn seen(&self) -> isize {
        self.get().load(unless_weak("seen", Acquire))
    }
}

impl Word for In<PoolWord> {
    fn new(value: u64) -> Self {
        Self::new(PoolWord::new(value))
    }

    fn seen(&self) -> u64 {
        self.get().seen()
    }

    fn clear(&self, bits: u64) -> u64 {
        self.get().clear(bits)
    }

    fn add(&self, value: u64) {
        self.get().add(value);
    }
}

/// What the worker knows of the store.
struct Known {
    end: End,
    freed: bool,
}

/// A store, and what is around it.
struct World {
    store: Arc<Watched>,
    account: Account<In<AtomicBool>, In<AtomicIsize>>,
    free: Free<In<PoolWord>>,
    /// What the client has kept for each call.
    data: [Watched; CALLS as usize],
    /// Do hits find the store?
    found: AtomicBool,
    /// Which calls who unwinds finds, a flag for each.
    listed: AtomicUsize,
    readers: Readers,
    worker: Mutex<Known>,
    /// How many have learned that the last call is over. It orders nothing.
    told: std::sync::atomic::AtomicUsize,
}

impl World {
    fn new() -> Arc<Self> {
        let store = Arc::new(Watched::default());
        MAKING.set(store.clone());
        Arc::new(Self {
            store,
            account: Account::new(),
            free: Free::first(CALLS),
            data: Default::default(),
            found: AtomicBool::new(true),
            listed: AtomicUsize::new(0),
            readers: Readers::new(),
            worker: Mutex::new(Known {
                end: End::Used,
                freed: false,
            }),
            told: 0.into(),
        })
    }

    /// A call begins, if its hit finds the store; tells which it is.
    fn begin(&self) -> Option<u32> {
        let _reading = self.readers.read_side();
        if !self.found.load(Relaxed) {
            return None;
        }
        let call = self.free.take().ok()?;
        self.data[call as usize].have();
        self.listed.fetch_or(1 << call, Relaxed);
        Some(call)
    }

    /// A call is over.
    fn end(&self, call: u32) {
        let reading = (!is_weak("section")).then(|| self.readers.read_side());
        self.data[call as usize].have();
        self.listed.fetch_and(!(1 << call), Relaxed);
        let over = self.account.back(|| self.free.give(Ticket::of(call)));
        self.note(over);
        if is_weak("look") {
            self.store.share();
        }
        drop(reading);
        if over == Over::ByThis {
            self.tend();
        }
    }

    fn note(&self, over: Over) {
        let told = usize::from(over == Over::ByThis);
        self.told.fetch_add(told, Relaxed);
    }

    /// The client has unregistered its probe.
    fn leave(&self) {
        // Hits still find it.
        if is_weak("early") {
            self.account.leave();
        }
        self.found.store(false, Relaxed);
        self.account.leave();
    }

    /// Is a grace period over that began after what this thread did? If it is not, the worker goes
    /// on later.
    fn has_waited(&self) -> bool {
        self.readers.are_gone()
    }

    /// The worker comes.
    fn tend(&self) {
        let mut known = self.worker.lock().unwrap();
        if known.freed {
            return;
        }
        known.end = known.end.wait(&self.account).unwrap_or(known.end);
        if known.end == End::Waiting && (is_weak("wait") || self.has_waited()) {
            let out = || (CALLS - self.free.take_all()) as usize;
            if let Some((end, over)) = known.end.count(&self.account, out) {
                known.end = end;
                self.note(over);
            }
        }
        // Counted or not.
        let end = if is_weak("zero") {
            End::Counted
        } else {
            known.end
        };
        if end.is_over(&self.account) && (!waits_for_unwinders() || self.has_waited()) {
            known.freed = true;
            self.data.iter().for_each(Watched::free);
            self.store.free();
        }
    }

    /// Somebody unwinds a task, and looks at its calls.
    fn unwind(&self) {
        let _reading = self.readers.read_side();
        if self.listed.load(Relaxed) != 0 {
            self.store.share();
        }
    }
}

/// Runs the jobs at once, each interrupted at most three times. `before` comes first.
fn race<const JOBS: usize>(before: fn(&World), jobs: [fn(&World); JOBS]) {
    let world = move || {
        let world = World::new();
        before(&world);
        world
    };
    run_race(Some(3), world, jobs, move |world, _| {
        // Nobody reads any more, so what it has waited for is over, each time.
        (0..2).for_each(|_| world.tend());
        let freed = world.worker.lock().unwrap().freed;
        assert!(freed, "the store stays");
        if !is_weak("zero") {
            let told = world.told.load(Relaxed);
            assert_eq!(told, 1, "so many were told that all is back");
        }
    });
}

jobs! {
    leave_it: |world| { world.leave(); world.tend(); world.tend(); };
    begin_one: |world| world.begin();
    begin_two: |world| { world.begin(); world.begin(); };
    end_first: |world| world.end(0);
    end_second: |world| world.end(1);
}

/// Two calls are over while the store is left.
fn both_end() {
    race(begin_two, [end_first, end_second, leave_it]);
}

/// A call begins, if its hit finds the store, and ends.
fn begin_and_end(world: &World) {
    if let Some(call) = world.begin() {
        world.end(call);
    }
}

/// One call is over, and another one begins and ends.
fn one_begins() {
    race(begin_one, [end_first, begin_and_end, leave_it]);
}

/// A call begins while the store is left, and somebody else is the worker.
fn one_begins_late() {
    let jobs = [begin_and_end, World::leave, World::tend];
    race(|_| (), jobs);
}

/// Somebody else than who has left the store is the worker.
fn worker_is_another() {
    race(begin_one, [end_first, World::leave, World::tend]);
}

/// Both calls are late.
fn both_end_late() {
    let left = |world: &World| {
        begin_two(world);
        leave_it(world);
    };
    race(left, [end_first, end_second, World::tend]);
}

/// A task runs again while somebody unwinds it, and its call, the last one, is over.
fn unwound() {
    let left = |world: &World| {
        begin_one(world);
        leave_it(world);
    };
    race(left, [end_first, World::unwind]);
}

models! {
    a_store_goes_when_its_last_call_is_over: both_end(), both_end_late();
    a_call_that_begins_when_the_store_is_left_counts: one_begins();
    a_store_stays_for_who_unwinds: unwound();
    any_worker_sees_that_a_store_was_left:
        worker_is_another(), one_begins_late();
    who_is_over_does_not_look_at_the_store with "unwind": both_end(), both_end_late();
    calls_counted_without_a_grace_period_are_caught with "wait" fails "the store stays": both_end();
    call_that_ends_in_no_section_is_caught with "section" fails "the store stays": both_end();
    store_freed_before_its_calls_are_counted_is_caught with "zero" fails "Causality violation":
        both_end();
    end_of_a_call_without_an_order_is_caught with "back" fails "Causality violation":
        both_end_late();
    all_calls_seen_back_without_an_order_is_caught with "seen" fails "Causality violation":
        both_end_late();
    store_left_while_hits_find_it_is_caught with "early" fails "Causality violation":
        one_begins_late();
    store_left_without_an_order_is_caught with "left" fails "Causality violation":
        worker_is_another();
    store_seen_left_without_an_order_is_caught with "left seen" fails "Causality violation":
        worker_is_another();
    look_at_a_store_after_its_last_call_is_caught with "look" fails "Causality violation":
        both_end_late();
    store_freed_under_who_unwinds_is_caught with "unwind" fails "Causality violation": unwound();
}
