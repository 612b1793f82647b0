// SPDX-License-Identifier: GPL-2.0

//! Places on their way to a jump under loom: the worker against those who change a place, and
//! against a task that comes to it, in every order that the memory model allows.
//!
//! There is one place. Its text is two words, the first byte and the rest of what the jump is over,
//! which a CPU may see as they were until it was made to see them: that takes the lock of the
//! *CPU*, which a CPU has from when it fetches until it has left the trap. A task that is inside of
//! something, a copy, the rest, or the detour, has the lock of the *task* from before that on, and
//! may be put aside there for as long as it likes. A wait for tasks is one for the CPU and then one
//! for the task: it ends when who was inside has been out once. loom finds a task that comes in
//! after that by running it there.
//!
//! The registry's lock is loom's, too; what is done under it is what `optimize/` does, with
//! the same queue. One thing at a time is done wrongly, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    model::opt_state::State,
    queue::{Node, Nodes, Queue},
};

const AT: TextAddr = TextAddr::new(1);

// What the first byte is.
const INSN: u8 = 0;
const BREAKPOINT: u8 = 1;
const JUMP: u8 = 2;

// What the rest is.
const PLAIN: u8 = 0;
const TAIL: u8 = 1;
const BROKEN: u8 = 2;

/// What the registry's lock is for.
struct Registry {
    queue: Queue,
    node: Place,
    /// Is the breakpoint there? Is one in what the jump is over?
    armed: bool,
    blocked: bool,
    /// Is the worker to begin a pass? How many are over? Is it to end?
    kicked: bool,
    passes: usize,
    stop: bool,
}

struct Place(Option<Node>);

impl Nodes for Place {
    fn node(&self, at: TextAddr) -> Option<&Node> {
        self.0.as_ref().filter(|_| at == AT)
    }
}

struct World {
    /// Do the others go on when a task is inside of something, until they wait for it?
    is_put_aside: bool,
    registry: Mutex<Registry>,
    changed: Condvar,
    first: AtomicU8,
    rest: AtomicU8,
    diverted: AtomicBool,
    cpu: Mutex<()>,
    task: Mutex<()>,
    text: Watched,
    detour: Watched,
}

impl World {
    /// An armed place that is not queued.
    fn new(is_put_aside: bool) -> Arc<Self> {
        Arc::new(Self {
            is_put_aside,
            registry: Mutex::new(Registry {
                queue: Queue::EMPTY,
                node: Place(Some(Node::new())),
                armed: true,
                blocked: false,
                kicked: false,
                passes: 0,
                stop: false,
            }),
            changed: Condvar::new(),
            first: AtomicU8::new(BREAKPOINT),
            rest: AtomicU8::new(PLAIN),
            diverted: AtomicBool::new(false),
            cpu: Mutex::new(()),
            task: Mutex::new(()),
            text: Watched::default(),
            detour: Watched::default(),
        })
    }

    /// All CPUs see what was written, and none is in a trap from before.
    fn synchronize(&self) {
        drop(self.cpu.lock().unwrap());
    }

    fn wait_for_tasks(&self) {
        self.synchronize();
        if !is_weak("tasks") {
            drop(self.task.lock().unwrap());
        }
    }

    fn write(&self, word: &AtomicU8, value: u8) {
        self.text.look("text that is gone is written");
        word.store(value, Relaxed);
    }

    /// Something may be queued now.
    fn consider(&self, registry: &mut Registry) {
        if !registry.armed || registry.blocked {
            return;
        }
        if registry.queue.add(AT, &registry.node) {
            if !is_weak("divert") {
                self.diverted.store(true, Release);
            }
            registry.kicked = true;
            self.changed.notify_all();
        }
    }

    fn unoptimize(&self, registry: &mut Registry) {
        if registry.queue.unoptimize(AT, &registry.node) {
            return self.diverted.store(false, Release);
        }
        if registry.node.node(AT).map(Node::state) != Some(State::Unoptimizing) {
            return;
        }
        if is_weak("undo_redirect") {
            self.diverted.store(false, Release);
        }
        self.write(&self.first, BREAKPOINT);
        if !is_weak("sync") {
            self.synchronize();
        }
        self.write(&self.rest, PLAIN);
        self.synchronize();
        while registry.queue.pop_unoptimized(&registry.node).is_some() {}
        self.diverted.store(false, Release);
    }

    fn jump(&self) {
        if is_weak("divert") {
            self.diverted.store(true, Release);
        }
        let rest = self.rest.load(Relaxed);
        assert_eq!(rest, PLAIN, "a jump is written over a breakpoint");
        self.write(&self.rest, TAIL);
        self.synchronize();
        self.write(&self.first, JUMP);
        self.synchronize();
    }

    fn pass(&self) {
        let mut registry = self.registry.lock().unwrap();
        registry.kicked = false;
        let wait = registry.queue.begin_wait();
        if let Some(wait) = wait {
            let Registry { queue, node, .. } = &mut *registry;
            let early = is_weak("recheck").then(|| queue.pop_waited(&wait, node));
            drop(registry);
            self.wait_for_tasks();
            registry = self.registry.lock().unwrap();
            let Registry { queue, node, .. } = &mut *registry;
            let mut covered = early.unwrap_or_else(|| queue.pop_waited(&wait, node));
            if is_weak("generation") && covered.is_none() {
                covered = queue
                    .begin_wait()
                    .and_then(|late| queue.pop_waited(&late, node));
            }
            if let Some(at) = covered {
                queue.set_optimized(at, node);
                self.jump();
            }
        }
        if is_weak("idle") {
            registry.kicked = false;
        }
        registry.passes += 1;
        self.changed.notify_all();
    }

    fn come(&self) {
        let cpu = self.cpu.lock().unwrap();
        let task = self.task.lock().unwrap();
        let first = self.first.load(Relaxed);
        let detoured = match first {
            JUMP => {
                let rest = self.rest.load(Relaxed);
                assert_eq!(rest, TAIL, "a CPU finds half a jump");
                true
            }
            BREAKPOINT => self.diverted.load(Acquire),
            _ => false,
        };
        drop(cpu);
        if self.is_put_aside {
            thread::yield_now();
        }
        if detoured {
            self.detour.look("a task is in a detour that is no more");
        } else {
            let rest = self.rest.load(Relaxed);
            assert_ne!(rest, TAIL, "a task comes into a jump");
        }
        drop(task);
    }

    /// Nothing is forgotten: if nothing else comes, there is a jump if there may be one.
    fn end(&self) {
        while self.registry.lock().unwrap().kicked {
            self.pass();
        }
        let registry = self.registry.lock().unwrap();
        let state = registry.node.node(AT).map(Node::state);
        let jumps = registry.armed && !registry.blocked && state.is_some();
        let expected = if jumps {
            State::Jump
        } else {
            State::Unoptimized
        };
        let state = state.unwrap_or(State::Unoptimized);
        assert_eq!(state, expected, "a place is forgotten");
        let has_jump = self.first.load(Relaxed) == JUMP;
        assert!(has_jump == jumps || !registry.armed);
    }
}

type Job = fn(&World);

/// Runs the jobs at once in every order, or, if they are three, in every order in which there are
/// at most three interruptions. Tasks are put aside or not.
fn race<const JOBS: usize>(before: Job, jobs: [Job; JOBS]) {
    for is_put_aside in [false, true] {
        let world = move || World::new(is_put_aside);
        let interrupted = (JOBS > 2).then_some(3);
        run_race(interrupted, world, before, jobs, World::end);
    }
}

jobs! {
    queue: |world| world.consider(&mut world.registry.lock().unwrap());
    queue_and_pass: |world| { queue(world); world.pass(); };
    pass: |world| world.pass();
    come: |world| world.come();
    come_twice: |world| { world.come(); world.come(); };
    leave: |world| world.unoptimize(&mut world.registry.lock().unwrap());
    /// The switch: all leave, all are considered.
    off_and_on: |world| { leave(world); queue(world); };
}

/// A breakpoint comes into what the jump is over.
fn block(world: &World) {
    let mut registry = world.registry.lock().unwrap();
    world.unoptimize(&mut registry);
    registry.blocked = true;
    world.write(&world.rest, BROKEN);
    world.synchronize();
}

fn block_and_go(world: &World) {
    block(world);
    let mut registry = world.registry.lock().unwrap();
    world.write(&world.rest, PLAIN);
    world.synchronize();
    registry.blocked = false;
    world.consider(&mut registry);
}

/// The last probe of the place is unregistered.
fn unregister(world: &World) {
    let mut registry = world.registry.lock().unwrap();
    world.unoptimize(&mut registry);
    world.write(&world.first, INSN);
    world.synchronize();
    registry.armed = false;
    let Registry { queue, node, .. } = &mut *registry;
    queue.forget(AT, node);
    node.0 = None;
    drop(registry);
    world.synchronize();
    if !is_weak("free") {
        // It is a callback that waits for this.
        world.wait_for_tasks();
    }
    world.detour.free();
}

/// The text goes, when nobody runs it any more.
fn vanish(world: &World) {
    let mut registry = world.registry.lock().unwrap();
    registry.armed = false;
    let Registry { queue, node, .. } = &mut *registry;
    queue.forget(AT, node);
    drop(registry);
    world.text.free();
}

/// The first jump of a place.
fn first_jump() {
    race(|_| (), [queue_and_pass, come_twice]);
}

/// It leaves the queue and comes back while the worker waits.
fn requeued() {
    race(queue, [pass, off_and_on, come]);
}

/// A breakpoint comes into what the jump would be over, while the worker waits.
fn blocked() {
    race(queue, [pass, block, come]);
}

/// A jump is taken out, and may come again.
fn taken_out() {
    race(queue_and_pass, [off_and_on, come_twice]);
}

/// The place goes, with its detour.
fn freed() {
    race(queue_and_pass, [unregister, come]);
}

models! {
    no_jump_is_written_under_a_task: first_jump();
    requeued_place_is_waited_for_again: requeued();
    a_breakpoint_keeps_the_jump_away:
        blocked(), race(queue, [pass, block_and_go, come]);
    jumps_are_taken_out_whole:
        taken_out(), race(queue_and_pass, [block_and_go, come_twice]);
    detour_stays_while_a_task_is_in_it:
        freed(), race(queue, [pass, unregister, come]);
    unloaded_text_is_not_written: race(queue, [pass, vanish]);
    jump_without_a_wait_is_caught with "tasks" fails "a task comes into a jump": first_jump();
    hits_that_are_diverted_after_the_wait_are_caught with "divert" fails "a task comes into a jump":
        first_jump();
    wait_that_counts_for_a_later_place_is_caught
        with "generation" fails "a task comes into a jump":
        requeued();
    place_that_is_not_looked_at_after_the_wait_is_caught
        with "recheck" fails "a jump is written over a breakpoint":
        blocked();
    place_that_is_gone_after_the_wait_is_caught with "recheck" fails "Causality violation":
        race(queue, [pass, vanish]);
    hits_that_go_the_old_way_too_early_are_caught with "undo_redirect" fails "a task comes into a jump":
        taken_out();
    jump_that_goes_without_a_round_is_caught with "sync" fails "a CPU finds half a jump":
        taken_out();
    detour_freed_under_a_task_is_caught with "free" fails "Causality violation": freed();
}

/// The worker as the kernel runs it: when it is kicked, until all is over.
fn work(world: &World) {
    loop {
        let mut registry = world.registry.lock().unwrap();
        while !registry.kicked && !registry.stop {
            registry = world.changed.wait(registry).unwrap();
        }
        if !registry.kicked {
            return;
        }
        drop(registry);
        world.pass();
    }
}

fn flush(world: &World) {
    let mut registry = world.registry.lock().unwrap();
    while !registry.queue.is_empty() {
        let seen = registry.passes;
        while registry.passes == seen {
            registry = world.changed.wait(registry).unwrap();
        }
    }
}

/// Somebody waits for nothing to be queued, in the way that `waits` does, while another one makes a
/// place leave and come back, and when that one is done.
fn worked(waits: Job) {
    run_model(Some(3), move || {
        let world = World::new(false);
        let run = |job: Job| {
            let world = world.clone();
            thread::spawn(move || job(&world))
        };
        let (worker, other) = (run(work), run(off_and_on));
        queue(&world);
        waits(&world);
        other.join().unwrap();
        waits(&world);
        world.registry.lock().unwrap().stop = true;
        world.changed.notify_all();
        worker.join().unwrap();
        world.end();
    });
}

/// Nobody hurries the worker.
fn wait(world: &World) {
    let mut registry = world.registry.lock().unwrap();
    while !registry.queue.is_empty() {
        registry = world.changed.wait(registry).unwrap();
    }
}

models! {
    a_flush_ends: worked(flush);
    worker_empties_the_queue_without_a_flush: worked(wait);
    kick_that_comes_during_a_pass_and_is_forgotten_is_caught with "idle" fails "deadlock":
        worked(wait);
}
