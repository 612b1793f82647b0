// SPDX-License-Identifier: GPL-2.0

//! A block of a [store](super::store): memory for so many calls, taken and given back without a
//! lock.

use super::{
    call::{
        Call,
        Taken, //
    },
    store::Store, //
};
use crate::{
    model::refusal::Refusal,
    pool::{
        room::{
            self,
            LINE, //
        },
        search,
        word::Free, //
    }, //
};
use core::{
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        AtomicPtr,
        AtomicU64,
        Ordering, //
    }, //
};
use kernel::prelude::*;

/// Memory of blocks.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// A block. Its calls are behind it.
///
/// # Invariants
///
/// It is at the beginning of a `KVVec` of `lines` lines that was left for it, and has room for
/// `count` calls of `size` bytes each.
#[repr(C, align(64))]
pub(crate) struct Block {
    pub(super) free: Free<AtomicU64>,
    pub(super) next: Place,
    lines: usize,
    size: usize,
    pub(super) count: u32,
    /// Was it ever the home of a CPU, or has one found something there?
    pub(super) within_reach: AtomicBool,
}

const _: () = assert!(size_of::<Block>() == LINE && align_of::<Block>() == LINE);

impl search::Block for Block {
    type Word = AtomicU64;

    #[inline(always)]
    fn free(&self) -> &Free<AtomicU64> {
        &self.free
    }
}

impl Block {
    /// A block with room for `count` calls, which nobody knows yet.
    pub(super) fn new(
        count: u32,
        size: usize,
        store: NonNull<Store>,
    ) -> Result<NonNull<Self>, Refusal> {
        let lines = room::lines(count as usize, size);
        let memory = KVVec::from_elem(Line([0; LINE]), lines, GFP_KERNEL);
        let mut memory = ManuallyDrop::new(memory.map_err(|_| Refusal::NoMemory)?);
        let block = NonNull::new(memory.as_mut_ptr().cast::<Self>()).ok_or(Refusal::NoMemory)?;
        let new = Self {
            free: Free::first(count),
            next: Place::nowhere(),
            lines,
            size,
            count,
            within_reach: AtomicBool::new(false),
        };
        // SAFETY: There is room for it in the first line.
        unsafe { block.write(new) };
        for index in 0..count {
            // SAFETY: There is room behind it, by the number of lines.
            unsafe { Self::place(block, index).write(Call::new(block, index, store)) };
        }
        Ok(block)
    }

    /// Where a call of the block is.
    #[inline(always)]
    fn place(block: NonNull<Self>, index: u32) -> NonNull<Call> {
        // SAFETY: Only adds.
        let size = unsafe { (*block.as_ptr()).size };
        // It does not overflow, which the compiler cannot know: in a hit nobody may panic.
        let offset = LINE.wrapping_add((index as usize).wrapping_mul(size));
        // SAFETY: The room is one piece of memory, by the invariant.
        unsafe { block.byte_add(offset).cast() }
    }

    /// # Safety
    ///
    /// It is taken, and stays.
    #[inline(always)]
    pub(super) unsafe fn taken<'a>(block: NonNull<Self>, index: u32) -> Taken<'a> {
        // SAFETY: There is one, by the invariant, and the rest by the precondition.
        unsafe { Taken::new(Self::place(block, index).as_ref()) }
    }

    /// # Safety
    ///
    /// Nobody uses it any more.
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY: By the precondition.
        let lines = unsafe { block.as_ref() }.lines;
        // SAFETY: By the invariant.
        drop(unsafe { KVVec::<Line>::from_raw_parts(block.as_ptr().cast(), 0, lines) });
    }
}

/// Where a block is, if there is one.
///
/// # Invariants
///
/// It is NULL, or a block of the store that this belongs to, and as much there as the store is.
pub(super) struct Place(AtomicPtr<Block>);

impl Place {
    pub(super) fn nowhere() -> Self {
        // INVARIANT: It is NULL.
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline(always)]
    pub(super) fn at(&self) -> Option<NonNull<Block>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    /// What is there.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&Block> {
        // SAFETY: By the invariant.
        self.at().map(|block| unsafe { block.as_ref() })
    }

    /// Puts a block there, of the same store.
    pub(super) fn set(&self, block: NonNull<Block>) {
        // INVARIANT: As the caller says.
        self.0.store(block.as_ptr(), Ordering::Release);
    }
}
