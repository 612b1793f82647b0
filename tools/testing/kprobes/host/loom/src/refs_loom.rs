// SPDX-License-Identifier: GPL-2.0

//! The end of a store of return probes under loom: calls that are over, one that begins, who leaves
//! the store, who unwinds a task, and the worker, in every order that the memory model allows.
//!
//! The store, and what the client has kept for each call, have a cell that whoever frees the store
//! has for itself: so it shows when anybody is not done with them by then, or comes later. At the
//! end the store must have been freed, and nobody may have been told too early.
//!
//! RCU waits for read-side sections, which are counted: a worker that finds one goes on the next
//! time that somebody asks for it, and when all threads are done. There is one worker, which a
//! mutex stands for.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    pool::{
        Free,
        Ticket, //
    },
    refs::Refs,
};
use loom::sync::Mutex;

/// Calls that there is room for.
const CALLS: u32 = 2;

/// Is the store freed with all waits as they are? They would hide what else is wrong.
fn waits_for_unwinders() -> bool {
    !["unwind", "self.out.fetch_sub(1", "self.out.load(", "look"]
        .into_iter()
        .any(is_weak)
}

/// For whoever has the lock, but for what needs none.
struct Shared(Refs);

// SAFETY: What is not atomic is used with the lock of the worker.
unsafe impl Sync for Shared {}
// SAFETY: As above.
unsafe impl Send for Shared {}

/// What the worker knows of the store.
#[derive(Default)]
struct Known {
    waits: bool,
    freed: bool,
}

/// A store, and what is around it.
struct World {
    store: Watched,
    refs: Shared,
    free: Free,
    /// What the client has kept for each call.
    data: [Watched; CALLS as usize],
    /// Do hits find the store?
    found: AtomicBool,
    /// Which calls who unwinds finds, a flag for each.
    listed: AtomicUsize,
    readers: Readers,
    worker: Mutex<Known>,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            store: Watched::default(),
            refs: Shared(Refs::new()),
            free: Free::first(CALLS),
            data: Default::default(),
            found: AtomicBool::new(true),
            listed: AtomicUsize::new(0),
            readers: Readers::new(),
            worker: Mutex::new(Known::default()),
        })
    }

    /// A call begins, if its hit finds the store; tells which it is.
    fn begin(&self) -> Option<u32> {
        let _reading = self.readers.read_side();
        if !self.found.load(Relaxed) {
            return None;
        }
        self.store.share();
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
        self.store.share();
        let is_last = self.refs.0.put(|| {
            self.free.give(Ticket::of(call));
        });
        if is_weak("look") {
            self.store.share();
        }
        drop(reading);
        if is_last {
            self.tend();
        }
    }

    /// The client has unregistered its probe.
    fn leave(&self) {
        // Hits still find it.
        if is_weak("early") {
            let _lock = self.worker.lock().unwrap();
            self.refs.0.leave();
        }
        self.found.store(false, Relaxed);
        let _lock = self.worker.lock().unwrap();
        self.refs.0.leave();
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
        let refs = &self.refs.0;
        known.waits |= refs.begins_to_wait();
        if known.waits && !is_weak("wait") && !self.has_waited() {
            return;
        }
        known.waits = false;
        let is_over = refs.is_over(|| CALLS as usize - self.free.len());
        if is_over && (!waits_for_unwinders() || self.has_waited()) {
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
        assert!(world.worker.lock().unwrap().freed, "the store stays");
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
    end_of_a_call_without_an_order_is_caught
        with "self.out.fetch_sub(1" in "returns/refs.rs" fails "Causality violation":
        both_end_late();
    all_calls_seen_back_without_an_order_is_caught
        with "self.out.load(" in "returns/refs.rs" fails "Causality violation":
        both_end_late();
    store_left_while_hits_find_it_is_caught with "early" fails "Causality violation":
        one_begins_late();
    look_at_a_store_after_its_last_call_is_caught with "look" fails "Causality violation":
        both_end_late();
    store_freed_under_who_unwinds_is_caught with "unwind" fails "Causality violation": unwound();
}
