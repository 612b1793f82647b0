// SPDX-License-Identifier: GPL-2.0

//! A store of blocks: what is taken and given back is the kernel's code, and so is the search. What
//! leads there is as in `sys/returns/store.rs`: a home and a spare for each CPU.

use super::*;
use crate::pool::{
    homes::{
        Purpose,
        Share, //
    },
    search,
    word::{
        Free,
        Ticket,
        MOST, //
    }, //
};
use std::sync::atomic::AtomicU64;

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
    homes: Box<[usize]>,
    spares: Box<[Spare]>,
}

struct Spare {
    own: Option<usize>,
    found: AtomicUsize,
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
        let share = Share {
            blocks: count,
            cpus,
            purpose: Purpose::Homes,
        };
        let homes: Box<[usize]> = (0..cpus).filter_map(|cpu| share.home(cpu)).collect();
        let spare = |(cpu, &home)| Spare {
            own: share.spare(cpu),
            found: AtomicUsize::new(home),
        };
        Self {
            blocks: blocks.into(),
            calls: calls.into(),
            spares: homes.iter().enumerate().map(spare).collect(),
            homes,
        }
    }

    #[inline(always)]
    fn take(&self, cpu: usize) -> Option<usize> {
        let home = self.blocks.get(*self.homes.get(cpu)?)?;
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
        let spare = &self.spares[cpu];
        let own = spare.own.filter(|&own| self.blocks[own].free.len() != 0);
        let first = own.unwrap_or_else(|| spare.found.load(Acquire));
        let (block, index) = search::take(|| {
            let (from, before) = self.blocks.split_at(first + 1);
            from.iter().rev().chain(before.iter().rev())
        })
        .ok()?;
        let item = block.first + index as usize;
        let found = self.calls[item].block;
        if found != first {
            spare.found.store(found, Release);
        }
        Some(item)
    }
}
