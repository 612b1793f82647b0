// SPDX-License-Identifier: GPL-2.0

//! The end of a pool of return probes under loom: calls that are over, one that begins, who leaves
//! the pool, who unwinds a task, and the worker, in every order that the memory model allows.
//!
//! The pool, and what the client has kept for each call, have a cell that whoever frees the pool
//! has for itself: so it shows when anybody is not done with them by then, or comes later. At the
//! end the pool must have been freed, and nobody may have been told too early.
//!
//! RCU waits for read-side sections, which are counted: a worker that finds one goes on the next
//! time that somebody asks for it, and when all threads are done. There is one worker, which a
//! mutex stands for.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    bitmap::{Bitmap, Ticket},
    loom_kit::*,
    stage::PoolStage,
};

/// Calls that there is room for.
const CALLS: u32 = 2;

/// What the worker knows of the pool.
struct Known {
    stage: PoolStage,
    /// Has the stage changed since the last grace period?
    waits: bool,
    freed: bool,
}

/// A pool, and what is around it.
struct World {
    pool: Watched,
    is_killed: AtomicBool,
    bitmap: Bitmap,
    /// What the client has kept for each call.
    data: [Watched; CALLS as usize],
    /// Do hits find the pool?
    found: AtomicBool,
    /// Which calls who unwinds finds, a flag for each.
    listed: AtomicUsize,
    readers: Readers,
    worker: Mutex<Known>,
    /// Was the worker asked to come? It orders nothing.
    is_asked: std::sync::atomic::AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            pool: Watched::default(),
            is_killed: AtomicBool::new(false),
            bitmap: Bitmap::new(CALLS as usize),
            data: Default::default(),
            found: AtomicBool::new(true),
            listed: AtomicUsize::new(0),
            readers: Readers::default(),
            worker: Mutex::new(Known {
                stage: PoolStage::Owned,
                waits: false,
                freed: false,
            }),
            is_asked: false.into(),
        })
    }

    /// A call begins, if its hit finds the pool; tells which it is.
    fn begin(&self) -> Option<u32> {
        let _reading = self.readers.read_side();
        if !self.found.load(Relaxed) {
            return None;
        }
        self.pool.share();
        let call = self.bitmap.take().ok()?;
        self.data[call as usize].have();
        self.listed.fetch_or(1 << call, Relaxed);
        Some(call)
    }

    /// A call is over.
    fn end(&self, call: u32) {
        let reading = (!is_weak("section")).then(|| self.readers.read_side());
        self.data[call as usize].have();
        self.listed.fetch_and(!(1 << call), Relaxed);
        self.pool.share();
        self.bitmap.give(Ticket::of(call));
        // Here the pool may be unused already.
        self.pool.share();
        let is_late = self.is_killed.load(Relaxed);
        drop(reading);
        if is_late {
            self.is_asked.store(true, Relaxed);
            self.tend();
        }
    }

    /// The client has unregistered its probe.
    fn leave(&self) {
        // Hits still find it.
        if is_weak("early") {
            self.kill();
        }
        self.found.store(false, Relaxed);
        self.kill();
    }

    fn kill(&self) {
        let _lock = self.worker.lock().unwrap();
        self.is_killed.store(true, Relaxed);
        self.is_asked.store(true, Relaxed);
    }

    /// Is a grace period over that began after what this thread did? If it is not, the worker goes
    /// on later.
    fn has_waited(&self, stage: PoolStage) -> bool {
        let skipped = match stage {
            PoolStage::Killed => is_weak("wait"),
            _ => is_weak("unwind"),
        };
        skipped || self.readers.are_gone()
    }

    /// The worker comes.
    fn tend(&self) {
        let mut known = self.worker.lock().unwrap();
        self.is_asked.store(false, Relaxed);
        loop {
            if known.freed || known.waits && !self.has_waited(known.stage) {
                return;
            }
            let is_unused = || self.bitmap.len() == CALLS as usize;
            let before = known.stage;
            known.stage = before.next(self.is_killed.load(Relaxed), is_unused);
            known.waits = known.stage != before;
            if known.stage == PoolStage::Gone {
                (known.freed, known.waits) = (true, false);
                self.data.iter().for_each(Watched::free);
                self.pool.free();
            }
            if !known.waits {
                return;
            }
        }
    }

    /// Somebody unwinds a task, and looks at its calls.
    fn unwind(&self) {
        let _reading = self.readers.read_side();
        if self.listed.load(Relaxed) != 0 {
            self.pool.share();
        }
    }
}

/// Runs the jobs at once, each interrupted at most three times. `before` comes first.
fn race<const JOBS: usize>(before: fn(&World), jobs: [fn(&World); JOBS]) {
    run_race(Some(3), World::new, before, jobs, |world| {
        // Nobody reads any more, so what the worker has waited for is over.
        while world.is_asked.load(Relaxed) || world.worker.lock().unwrap().waits {
            world.tend();
        }
        assert!(world.worker.lock().unwrap().freed, "the pool stays");
    });
}

jobs! {
    leave_it: |world| { world.leave(); world.tend(); world.tend(); };
    begin_one: |world| world.begin();
    begin_two: |world| { world.begin(); world.begin(); };
    end_first: |world| world.end(0);
    end_second: |world| world.end(1);
    begin_one_and_leave_it: |world| { begin_one(world); leave_it(world); };
    begin_two_and_leave_it: |world| { begin_two(world); leave_it(world); };
}

/// Two calls are over while the pool is left.
fn both_end() {
    race(begin_two, [end_first, end_second, leave_it]);
}

/// A call begins, if its hit finds the pool, and ends.
fn begin_and_end(world: &World) {
    if let Some(call) = world.begin() {
        world.end(call);
    }
}

/// A call begins while the pool is left, and somebody else is the worker.
fn one_begins_late() {
    race(|_| (), [begin_and_end, World::leave, World::tend]);
}

/// Both calls are late.
fn both_end_late() {
    race(begin_two_and_leave_it, [end_first, end_second, World::tend]);
}

/// A task runs again while somebody unwinds it, and its call, the last one, is over.
fn unwound() {
    race(begin_one_and_leave_it, [end_first, World::unwind]);
}

models! {
    a_pool_goes_when_its_last_call_is_over: both_end(), both_end_late();
    a_call_that_begins_when_the_pool_is_left_counts:
        race(begin_one, [end_first, begin_and_end, leave_it]);
    pool_stays_while_a_task_is_unwound: unwound();
    any_worker_sees_that_a_pool_was_left:
        race(begin_one, [end_first, World::leave, World::tend]), one_begins_late();
    pool_unused_without_a_grace_period_is_caught with "wait" fails "the pool stays": both_end();
    call_that_ends_in_no_section_is_caught with "section" fails "the pool stays": both_end();
    pool_left_while_hits_find_it_is_caught with "early" fails "Causality violation":
        one_begins_late();
    pool_freed_while_an_instance_returns_is_caught with "unwind" fails "Causality violation":
        both_end_late();
    pool_freed_under_an_unwinder_is_caught with "unwind" fails "Causality violation": unwound();
}
