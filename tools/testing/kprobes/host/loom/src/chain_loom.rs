// SPDX-License-Identifier: GPL-2.0

//! The probes at one address under loom: hits that walk them, while one changes them, in every
//! order that the memory model allows.
//!
//! Probes are in the memory of [`memory`], which sees a hit that finds one before it is filled, or
//! after it was freed. Another cell does the same for its handlers. RCU is a count of the hits; a grace period is over if the count is
//! seen at zero, with the order between the two that RCU gives.
//!
//! One thing at a time is weakened, to prove that each model can fail at all.

use crate::{
    loom_kit::*,
    memory::{KBox, GFP_KERNEL},
    sys::probe::{Chain, ChainIter, Flag, Probe, Summary},
};

const PROBES: usize = 4;

/// How often a hit has called each probe.
#[derive(Default)]
struct Called {
    before: [usize; PROBES],
    after: [usize; PROBES],
}

impl Called {
    fn before(&mut self, probe: &Probe, world: &World) {
        world.handlers[probe.number].look("a probe is called that rests");
        self.before[probe.number] += 1;
    }

    fn after(&mut self, probe: &Probe, world: &World) {
        world.handlers[probe.number].look("a probe is called that rests");
        self.after[probe.number] += 1;
    }
}

/// A place, which may be made anew once.
struct World {
    probes: [&'static Probe; PROBES],
    handlers: [Watched; PROBES],
    places: [OnceLock<Chain>; 2],
    /// Which of the two hits find.
    current: AtomicUsize,
    hits: Readers,
    /// Is all done, but for what waits for hits?
    told: AtomicBool,
}

impl World {
    fn new(first: &[usize]) -> Arc<Self> {
        let world = Arc::new(Self {
            probes: core::array::from_fn(Self::make),
            handlers: core::array::from_fn(|_| Watched::new(false)),
            places: Default::default(),
            current: AtomicUsize::new(0),
            hits: Readers::default(),
            told: AtomicBool::new(false),
        });
        for &number in first {
            world.fill(number);
            match world.places[0].get() {
                Some(chain) => chain.push(world.probes[number]),
                None => _ = world.places[0].set(Chain::of(world.probes[number])),
            }
        }
        world
    }

    /// Memory for a probe, which is not there yet.
    fn make(number: usize) -> &'static Probe {
        let probe = KBox::new(Probe::new(number), GFP_KERNEL).unwrap();
        let probe = KBox::into_raw(probe);
        memory::set(probe.addr(), false);
        // SAFETY: It stays until the run is over.
        unsafe { &*probe }
    }

    fn set(&self, number: usize, is_there: bool) {
        memory::set(ptr::from_ref(self.probes[number]).addr(), is_there);
        self.handlers[number].set(is_there);
    }

    fn fill(&self, number: usize) {
        self.set(number, true);
        self.probes[number].begin();
    }

    /// The chain that hits found first.
    fn chain(&self) -> &Chain {
        self.places[0].get().unwrap()
    }

    /// A client fills a probe, and it comes in.
    fn push(&self, number: usize) {
        self.fill(number);
        self.chain().push(self.probes[number]);
    }

    fn add_tail(&self, number: usize) {
        self.fill(number);
        self.chain().add_tail(self.probes[number]);
    }

    fn disable(&self, number: usize) {
        self.chain()
            .set_flag(self.probes[number], Flag::Disabled, true);
    }

    fn enable(&self, number: usize) {
        self.chain()
            .set_flag(self.probes[number], Flag::Disabled, false);
    }

    /// Unregisters a probe, but for what waits for hits.
    fn take_out(&self, number: usize) {
        self.disable(number);
        self.chain().remove(self.probes[number]);
    }

    fn tell(&self) {
        self.told.store(true, Release);
    }

    /// Is a grace period over? The count is read by a modification, so that each hit comes either
    /// before, and is counted, or after, and sees what was stored.
    fn is_quiet(&self) -> bool {
        is_weak("grace") || self.hits.are_gone()
    }

    /// Frees these, if a grace period is over.
    fn free_later(&self, numbers: &[usize]) {
        if self.is_quiet() {
            numbers.iter().for_each(|&number| self.set(number, false));
        }
    }

    /// The handlers of this one are no more, if a grace period is over.
    fn rest_later(&self, number: usize) {
        if self.is_quiet() {
            self.handlers[number].set(false);
        }
    }

    /// A hit; what `hit/breakpoint.rs` does.
    fn hit(&self) -> Called {
        let _reading = self.hits.read_side();
        let chain = self.places[self.current.load(Acquire)].get().unwrap();
        let mut called = Called::default();
        if let Summary::SinglePreOnly(probe) = chain.summary() {
            assert!(!probe.has_post_or_jprobe(), "it is noted that it does not");
            called.before(probe, self);
        } else if let Some(probe) = chain.single() {
            called.before(probe, self);
            if probe.has_post_or_jprobe() {
                called.after(probe, self);
            }
        } else {
            let enabled = |probe: &&Probe| probe.is_enabled();
            let probes = chain.iter().filter(enabled);
            probes.for_each(|probe| called.before(probe, self));
            if chain.has_post_or_jprobe() {
                let after = |probe: &&Probe| enabled(probe) && probe.has_post_or_jprobe();
                let probes = chain.iter().filter(after);
                probes.for_each(|probe| called.after(probe, self));
            }
        }
        called
    }

    /// A hit by a jump; what `hit/jump.rs` does. It misses probes with a post handler.
    fn jump(&self) -> Called {
        let _reading = self.hits.read_side();
        let chain = self.places[self.current.load(Acquire)].get().unwrap();
        let mut called = Called::default();
        match chain.summary() {
            Summary::SinglePreOnly(probe) => called.before(probe, self),
            Summary::Several(newest) => {
                ChainIter::from(newest).for_each(|probe| called.before(probe, self))
            }
            Summary::Walk => {
                let is_called = |probe: &&Probe| probe.is_enabled() && !probe.has_post_or_jprobe();
                let probes = chain.iter().filter(is_called);
                probes.for_each(|probe| called.before(probe, self));
            }
        }
        called
    }
}

/// Somebody who changes a chain, against hits.
#[derive(Clone, Copy)]
struct Race {
    hits: usize,
    /// How the place is hit.
    hit: fn(&World) -> Called,
    /// The probes that are there when all begin, the oldest one first.
    first: &'static [usize],
    change: fn(&World),
    /// Those that every hit calls.
    stay: &'static [usize],
    /// Those that are called by every hit that begins after all was done.
    come: &'static [usize],
    /// Those that are not called by any.
    go: &'static [usize],
}

impl Race {
    /// Runs it in every order, for every order in which memory may show the stores.
    fn run(self) {
        // Only orders in which each thread is interrupted at most so often: all would take minutes.
        let interrupted = if self.hits > 1 { 2 } else { 3 };
        run_model(Some(interrupted), move || self.once());
    }

    fn once(self) {
        let world = World::new(self.first);
        let hit = |_| {
            let world = world.clone();
            thread::spawn(move || {
                let told = world.told.load(Acquire);
                self.judge(told, &(self.hit)(&world));
            })
        };
        let hits: Vec<_> = (0..self.hits).map(hit).collect();
        (self.change)(&world);
        for hit in hits {
            hit.join().unwrap();
        }
    }

    fn judge(self, told: bool, called: &Called) {
        let Called { before, after } = called;
        for number in 0..PROBES {
            let must = self.stay.contains(&number) || told && self.come.contains(&number);
            let must_not = told && self.go.contains(&number);
            assert!(before[number] <= 1 && after[number] <= 1, "called twice");
            assert!(!must || before[number] == 1, "missed");
            assert!(!must_not || before[number] == 0, "called late");
            if !self.go.contains(&number) && number & 1 != 0 {
                assert!(before[number] <= after[number], "did not come back");
            }
        }
    }
}

/// Hits by a breakpoint, in which nothing happens.
const HIT: Race = Race {
    hits: 1,
    hit: World::hit,
    first: &[],
    change: |_| (),
    stay: &[],
    come: &[],
    go: &[],
};

const JUMP: Race = Race {
    hit: World::jump,
    ..HIT
};

const HITS: Race = Race { hits: 2, ..HIT };

/// Races: the probes that are there first, those that stay, come and go, and what is done. Each is
/// a test by itself.
macro_rules! races {
    ($($(#[$doc:meta])*
    $name:ident: $hits:ident $first:tt stay $stay:tt come $come:tt go $go:tt $change:expr;)*) => {
        $(
            $(#[$doc])*
            fn $name() {
                let race = Race {
                    first: &$first,
                    stay: &$stay,
                    come: &$come,
                    go: &$go,
                    change: $change,
                    ..$hits
                };
                race.run();
            }
        )*

        mod races {
            use super::*;

            models! {$($name: super::$name();)*}
        }
    };
}

races! {
    /// One that comes back joins one that does not.
    push_around: HIT [0] stay [0] come [1] go []
        |world| { world.push(1); world.tell(); };
    /// The same where hits walk the chain already.
    push_walked: HIT [0, 2] stay [0, 2] come [1] go []
        |world| { world.push(1); world.tell(); };
    /// One that does not come back joins one that does.
    push_before: HIT [1] stay [1] come [0] go []
        |world| { world.push(0); world.tell(); };
    /// One comes where hits walk, and is older than another one that goes again: a hit that comes
    /// to it may have seen nothing but the last store.
    push_and_remove: HIT [0, 2] stay [0, 2] come [1] go [3] |world| {
        world.push(1);
        world.push(3);
        world.take_out(3);
        world.tell();
        world.free_later(&[3]);
    };
    /// One comes, and is alone after the other one has gone.
    take_over: HIT [0] stay [] come [2] go [0]
        |world| { world.push(2); world.take_out(0); world.tell(); world.free_later(&[0]); };
    /// The same under two hits.
    take_over_under_two: HITS [0] stay [] come [2] go [0]
        |world| { world.push(2); world.take_out(0); world.tell(); world.free_later(&[0]); };
    /// The newest of three goes.
    remove_newest: HIT [0, 1, 3] stay [0, 1] come [] go [3]
        |world| { world.take_out(3); world.tell(); world.free_later(&[3]); };
    /// The one in the middle goes.
    remove_middle: HIT [0, 1, 2] stay [0, 2] come [] go [1]
        |world| { world.take_out(1); world.tell(); world.free_later(&[1]); };
    /// The oldest goes, and then the only one.
    remove_all: HIT [0, 1] stay [] come [] go [0, 1]
        |world| { world.take_out(0); world.take_out(1); world.tell(); world.free_later(&[0, 1]); };
    /// A probe goes, and comes again after a grace period.
    again: HIT [0, 1] stay [0] come [] go [1]
        |world| { world.take_out(1); if world.is_quiet() { world.push(1); } };
    /// The only one rests, and then for longer than a grace period.
    disable_lone: HIT [1] stay [] come [] go [1]
        |world| { world.disable(1); world.tell(); world.rest_later(1); };
    /// One of two rests.
    disable_one: HIT [0, 1] stay [0] come [] go [1]
        |world| { world.disable(1); world.tell(); world.rest_later(1); };
    /// One that rests is called again.
    enable: HIT [0] stay [0] come [1] go [] |world| {
        world.fill(1);
        world.probes[1].set(Flag::Disabled, true);
        world.chain().push(world.probes[1]);
        world.enable(1);
        world.tell();
    };
    /// One comes, so that there are several that jumps lead to.
    push_to_several: JUMP [0] stay [0] come [2] go []
        |world| { world.push(2); world.tell(); };
    /// One of several that jumps lead to rests.
    disable_of_several: JUMP [0, 2] stay [2] come [] go [0]
        |world| { world.disable(0); world.tell(); world.rest_later(0); };
    /// The newest of several that jumps lead to goes.
    remove_of_several: JUMP [0, 2] stay [0] come [] go [2]
        |world| { world.take_out(2); world.tell(); world.free_later(&[2]); };
    /// One that comes back is put behind one that does not.
    oldest_to_lone: HIT [0] stay [0] come [1] go []
        |world| { world.add_tail(1); world.tell(); };
    /// The same where hits walk the chain already, of which the last one goes then.
    oldest_walked: HIT [2, 0] stay [0] come [1] go [2]
        |world| { world.add_tail(1); world.take_out(2); world.tell(); world.free_later(&[2]); };
    /// The same, under who comes by a jump that is no more: whether he meets the new one or not, it
    /// is there.
    oldest_under_a_jump: JUMP [0, 2] stay [0, 2] come [] go [1]
        |world| { world.add_tail(1); world.take_out(1); world.free_later(&[1]); world.tell(); };
    /// It goes again, and the others stay.
    oldest_goes: HIT [0] stay [0] come [2] go [1] |world| {
        world.add_tail(1);
        world.push(2);
        world.take_out(1);
        world.tell();
        world.free_later(&[1]);
    };
    /// A chain takes over another one's, while its only probe is called.
    append_to_lone: HIT [0] stay [0] come [1] go [] |world| {
        world.fill(1);
        let other = Chain::of(world.probes[1]);
        world.chain().append(&other);
        world.tell();
    };
    /// The same, while hits walk it.
    append: HIT [0] stay [] come [1] go [0] |world| {
        world.disable(0);
        world.fill(1);
        let other = Chain::of(world.probes[1]);
        world.chain().append(&other);
        world.tell();
    };
    /// Text has come again: the place is made anew, and the old probe goes out of both.
    renew: HIT [1] stay [] come [0] go [1] |world| {
        world.disable(1);
        world.fill(0);
        let fresh = Chain::of(world.probes[0]);
        fresh.append(world.chain());
        let _ = world.places[1].set(fresh);
        world.current.store(1, Release);
        world.tell();
        world.places[1].get().unwrap().remove(world.probes[1]);
        world.free_later(&[1]);
    };
}

models! {
    probe_of_several_freed_under_a_jump_is_caught with "grace" fails "Causality violation":
        remove_of_several();
    probe_put_behind_others_without_an_order_is_caught with "self.0.store(to, order)" in "sys/probe/chain.rs" fails "Causality violation":
        oldest_walked();
    coming_back_of_the_oldest_noted_late_is_caught with "self.has_post_or_jprobe.store(true" in "sys/probe/chain.rs" as Never fails "did not come back":
        oldest_walked();
    oldest_freed_under_a_jump_is_caught with "grace" fails "Causality violation":
        oldest_under_a_jump();
    probe_led_to_without_an_order_is_caught with "self.0.store(to, order)" in "sys/probe/chain.rs" fails "Causality violation": push_walked();
    probe_behind_one_that_goes_without_an_order_is_caught with "self.0.store(to, order)" in "sys/probe/chain.rs" fails "Causality violation":
        push_and_remove();
    link_followed_without_an_order_is_caught with "self.0.load(order)" in "sys/probe/chain.rs" fails "Causality violation": push_walked();
    lone_probe_noted_without_an_order_is_caught with "self.summary.store(" in "sys/probe/chain.rs" fails "Causality violation":
        take_over();
    lone_probe_read_without_an_order_is_caught with "self.summary.load(" in "sys/probe/chain.rs" fails "Causality violation": take_over();
    coming_back_noted_late_is_caught with "self.has_post_or_jprobe.store(true" in "sys/probe/chain.rs" as Never fails "did not come back": push_walked();
    coming_back_of_appended_probes_noted_late_is_caught with "self.has_post_or_jprobe.store(true" in "sys/probe/chain.rs" as Never fails "did not come back":
        append();
    probe_freed_under_a_hit_is_caught with "grace" fails "Causality violation": remove_middle();
    probe_that_rests_too_soon_is_caught with "grace" fails "Causality violation": disable_lone();
}
