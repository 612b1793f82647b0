// SPDX-License-Identifier: GPL-2.0

//! A store of blocks: what is taken and given back is the kernel's code, and so is the search. What
//! leads there is as in `sys/returns/store.rs`: a home for each CPU.

use super::{
    std::{
        boxed::Box,
        sync::atomic::{
            AtomicU64,
            AtomicUsize,
            Ordering::{
                Acquire,
                Release, //
            }, //
        },
        vec::Vec, //
    },
    Pool, //
};
use crate::pool::{
    search,
    word::{
        Free,
        Ticket,
        MOST, //
    }, //
};

/// Room for a call: what it knows of its block, and as much memory as the kernel's has.
struct Call {
    block: usize,
    ticket: Ticket,
    _rest: [usize; 4],
}

#[repr(align(64))]
struct Block {
    free: Free<AtomicU64>,
    /// The number of its first one.
    first: usize,
}

impl search::Block for Block {
    type Word = AtomicU64;

    fn free(&self) -> &Free<AtomicU64> {
        &self.free
    }
}

pub(super) struct Blocks {
    blocks: Box<[Block]>,
    calls: Box<[Call]>,
    homes: Box<[AtomicUsize]>,
}

impl Pool for Blocks {
    const NAME: &'static str = "blocks";

    fn new(cpus: usize, items: usize) -> Self {
        let count = items.div_ceil(MOST as usize).max(cpus.min(items));
        let (mut blocks, mut calls) = (Vec::new(), Vec::new());
        for block in 0..count {
            let here = (items - calls.len()).div_ceil(count - block);
            blocks.push(Block {
                free: Free::first(here as u32),
                first: calls.len(),
            });
            calls.extend((0..here as u32).map(|index| Call {
                block,
                ticket: Ticket::of(index),
                _rest: [0; 4],
            }));
        }
        Self {
            blocks: blocks.into(),
            calls: calls.into(),
            homes: (0..cpus).map(|cpu| AtomicUsize::new(cpu % count)).collect(),
        }
    }

    #[inline(always)]
    fn take(&self, cpu: usize) -> Option<usize> {
        let home = self.blocks.get(self.homes.get(cpu)?.load(Acquire))?;
        match home.free.take() {
            Ok(index) => Some(home.first + index as usize),
            Err(_) => self.search(cpu),
        }
    }

    #[inline(always)]
    fn give(&self, _cpu: usize, item: usize) {
        let call = &self.calls[item];
        self.blocks[call.block].free.give(call.ticket);
    }
}

impl Blocks {
    #[cold]
    #[inline(never)]
    fn search(&self, cpu: usize) -> Option<usize> {
        let (block, index) = search::take(|| self.blocks.iter()).ok()?;
        let item = block.first + index as usize;
        self.homes[cpu].store(self.calls[item].block, Release);
        Some(item)
    }
}
