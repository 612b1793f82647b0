// SPDX-License-Identifier: GPL-2.0

//! How long it takes to take something out of a store and to give it back, on the CPUs of this
//! machine: our blocks beside the algorithm that C uses, see [`rival`].
//!
//! First one thread plays several CPUs: of several turns the best one counts, which nothing else
//! has disturbed, and ours must not take more than some times as long as the rival's. Then each CPU
//! is a thread. How long that takes depends on what else the machine does, so it is told in the
//! long form and not judged; that nothing is lost, or is had by two, is.
//!
//! A hit has interrupts off where the rival runs, for which the kernel takes some cycles more. They
//! are left out here.

mod ours;
mod rival;

use ours::Blocks;
use rival::Rings;
use std::{
    env,
    hint::black_box,
    sync::{
        atomic::{
            AtomicBool,
            AtomicUsize,
            Ordering::{
                Acquire,
                Relaxed,
                Release, //
            }, //
        },
        Barrier, //
    },
    thread,
    time::{
        Duration,
        Instant, //
    }, //
};

/// A store of so many items, which CPUs take and give back.
trait Pool: Sync {
    const NAME: &'static str;

    fn new(cpus: usize, items: usize) -> Self;
    /// Which one this CPU has taken.
    fn take(&self, cpu: usize) -> Option<usize>;
    /// This CPU gives it back.
    fn give(&self, cpu: usize, item: usize);
}

/// Turns, of which the best one counts.
const TURNS: usize = 9;

/// What a turn costs by itself, whoever's it is.
const SLACK: Duration = Duration::from_micros(20);

fn is_long() -> bool {
    env::var_os("KPROBES_FUZZ").is_some_and(|form| form == "long")
}

/// How often each turn does it.
fn times() -> u32 {
    if is_long() {
        1_000_000
    } else {
        5_000
    }
}

/// The shortest of several turns.
fn best(mut turn: impl FnMut()) -> Duration {
    let turns = (0..TURNS).map(|_| {
        let start = Instant::now();
        turn();
        start.elapsed()
    });
    turns.min().unwrap_or_default()
}

/// What a CPU does again and again.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Takes one and gives it back.
    Own,
    /// Takes one that another CPU gives back.
    Crossing,
    /// Takes the only one, which is always elsewhere, and gives it back there.
    Last,
    /// Finds nothing.
    Exhausted,
}

const ALL: [Does; 4] = [Does::Own, Does::Crossing, Does::Last, Does::Exhausted];

impl Does {
    /// How many times as long ours may take. Who finds nothing in a block looks there three times:
    /// at home, and twice to be sure; who finds nothing in a ring looks there once.
    fn bound(self) -> u32 {
        match self {
            Self::Own | Self::Crossing | Self::Last => 3,
            Self::Exhausted => 12,
        }
    }

    /// How long it takes so many times.
    fn time<P: Pool>(self, cpus: usize, items: usize) -> Duration {
        let pool = P::new(cpus, items);
        let far = cpus / 2;
        let out: Vec<_> = match self {
            Self::Own | Self::Crossing => Vec::new(),
            Self::Last | Self::Exhausted => (0..items).filter_map(|_| pool.take(0)).collect(),
        };
        if let (Self::Last, Some(&last)) = (self, out.last()) {
            pool.give(far, last);
        }
        let giver = if let Self::Own = self { 0 } else { far };
        best(|| {
            for _ in 0..times() {
                match black_box(pool.take(black_box(0))) {
                    Some(item) => pool.give(giver, item),
                    None => assert!(matches!(self, Self::Exhausted)),
                }
            }
        })
    }
}

#[test]
fn ours_is_not_slower_than_rings() {
    for (cpus, items) in [(2, 10), (8, 16), (64, 128)] {
        for does in ALL {
            let ours = does.time::<Blocks>(cpus, items);
            let rings = does.time::<Rings>(cpus, items);
            let each = |time: Duration| time.as_nanos() as f64 / f64::from(times());
            println!(
                "pool: {cpus} CPUs, {items} calls, {does:?}: {:.1} ns, rings {:.1} ns",
                each(ours),
                each(rings)
            );
            assert!(ours <= does.bound() * rings + SLACK);
        }
    }
}

/// A CPU that is a thread: how much it has done, and what is on its way to it.
#[repr(align(64))]
struct Cpu {
    done: AtomicUsize,
    inbox: AtomicUsize,
}

/// Does somebody have it?
#[repr(align(64))]
struct Had(AtomicBool);

/// Each thread takes and gives back for a while, itself or by way of the next one; how long each
/// time took. At the end nothing may be lost.
fn race<P: Pool>(threads: usize, items: usize, crossing: bool) -> f64 {
    let pool = P::new(threads, items);
    let had = (0..items).map(|_| Had(AtomicBool::new(false)));
    let had: Vec<_> = had.collect();
    let cpus: Vec<_> = (0..threads)
        .map(|_| Cpu {
            done: AtomicUsize::new(0),
            inbox: AtomicUsize::new(0),
        })
        .collect();
    let take = |cpu| {
        let item = pool.take(cpu)?;
        assert!(!had[item].0.swap(true, Acquire), "two have it");
        Some(item)
    };
    let give = |cpu: usize, item: usize| {
        had[item].0.store(false, Relaxed);
        pool.give(cpu, item);
        cpus[cpu].done.fetch_add(1, Relaxed);
    };
    let (begin, over) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let pause = Duration::from_millis(if is_long() { 1000 } else { 20 });
    thread::scope(|scope| {
        for cpu in 0..threads {
            let (begin, over, cpus, take, give) = (&begin, &over, &cpus, &take, &give);
            scope.spawn(move || {
                begin.wait();
                while !over.load(Relaxed) {
                    if !crossing {
                        take(cpu).into_iter().for_each(|item| give(cpu, item));
                        continue;
                    }
                    let next = &cpus[(cpu + 1) % threads].inbox;
                    if next.load(Relaxed) == 0 {
                        take(cpu)
                            .into_iter()
                            .for_each(|item| next.store(item + 1, Release));
                    }
                    match cpus[cpu].inbox.swap(0, Acquire) {
                        // The others may have no CPU of the machine's.
                        0 => thread::yield_now(),
                        item => give(cpu, item - 1),
                    }
                }
            });
        }
        begin.wait();
        thread::sleep(pause);
        over.store(true, Relaxed);
    });
    for (number, cpu) in cpus.iter().enumerate() {
        match cpu.inbox.swap(0, Acquire) {
            0 => {}
            item => give(number, item - 1),
        }
    }
    assert_eq!((0..items).filter_map(|_| take(0)).count(), items);
    assert_eq!(take(0), None);
    let done: usize = cpus.iter().map(|cpu| cpu.done.load(Relaxed)).sum();
    pause.as_nanos() as f64 * threads as f64 / done.max(1) as f64
}

/// Enough for each thread, and one less than there are threads.
fn races<P: Pool>() {
    let threads = thread::available_parallelism().map_or(2, |count| count.get().max(2));
    for items in [2 * threads, threads - 1] {
        for (crossing, way) in [(false, "each its own"), (true, "to the next one")] {
            let each = race::<P>(threads, items, crossing);
            if is_long() {
                println!(
                    "pool: {threads} threads, {items} calls, {way}: {}: {each:.1} ns",
                    P::NAME
                );
            }
        }
    }
}

#[test]
fn threads_lose_nothing() {
    races::<Blocks>();
    races::<Rings>();
}
