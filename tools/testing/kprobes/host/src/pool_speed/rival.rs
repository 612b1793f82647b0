// SPDX-License-Identifier: GPL-2.0

//! The algorithm of `lib/objpool.c`, which C takes the calls of return probes from: a ring for each
//! CPU with room for all items.
//!
//! Who gives back appends to the ring of its own CPU, so nobody else does at the same time. Anybody
//! takes from the front, first of the own ring, then of those of the other CPUs. Three numbers say
//! how far a ring is: the next to be taken, the next place to be written, and up to where what was
//! written may be read. They count up without end, and a place is their remainder.

use super::*;
use std::sync::atomic::AtomicU32;

/// The longest ring here. It is a part of the struct, as in C, where who allocates says how long.
const LENGTH: usize = 128;

#[repr(align(64))]
struct Ring {
    front: AtomicU32,
    back: AtomicU32,
    ready: AtomicU32,
    mask: u32,
    items: [AtomicUsize; LENGTH],
}

impl Ring {
    fn place(&self, number: u32) -> &AtomicUsize {
        &self.items[(number & self.mask) as usize % LENGTH]
    }

    #[inline(always)]
    fn take(&self, all: u32) -> Option<usize> {
        let mut front = self.front.load(Acquire);
        loop {
            let ready = self.ready.load(Relaxed);
            if ready == front {
                return None;
            }
            // The two were read one after the other: what lies between may be too much.
            if ready.wrapping_sub(front).wrapping_sub(1) >= all {
                front = self.front.load(Relaxed);
                continue;
            }
            let item = self.place(front).load(Relaxed);
            let next = front.wrapping_add(1);
            match self.front.compare_exchange(front, next, Release, Relaxed) {
                Ok(_) => return Some(item),
                Err(now) => front = now,
            }
        }
    }

    #[inline(always)]
    fn give(&self, item: usize, all: u32) {
        let mut back = self.back.load(Relaxed);
        loop {
            let front = self.front.load(Relaxed);
            assert!(back.wrapping_sub(front) <= all);
            let next = back.wrapping_add(1);
            match self.back.compare_exchange(back, next, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => back = now,
            }
        }
        self.place(back).store(item, Relaxed);
        self.ready.store(back.wrapping_add(1), Release);
    }
}

pub(super) struct Rings {
    rings: Box<[Ring]>,
    all: u32,
}

impl Pool for Rings {
    const NAME: &'static str = "rings";

    fn new(cpus: usize, items: usize) -> Self {
        let length = items.next_power_of_two();
        assert!(length <= LENGTH);
        let ring = |_| Ring {
            front: AtomicU32::new(0),
            back: AtomicU32::new(0),
            ready: AtomicU32::new(0),
            mask: length as u32 - 1,
            items: [const { AtomicUsize::new(0) }; LENGTH],
        };
        let pool = Self {
            rings: (0..cpus).map(ring).collect(),
            all: items as u32,
        };
        (0..items).for_each(|item| pool.give(item % cpus, item));
        pool
    }

    #[inline(always)]
    fn take(&self, cpu: usize) -> Option<usize> {
        let (before, from) = self.rings.split_at_checked(cpu)?;
        let mut rings = Iterator::chain(from.iter(), before);
        rings.find_map(|ring| ring.take(self.all))
    }

    #[inline(always)]
    fn give(&self, cpu: usize, item: usize) {
        self.rings[cpu].give(item, self.all);
    }
}
