// SPDX-License-Identifier: GPL-2.0

//! A block of a [store](super::store): memory for up to 47 return instances.
//!
//! The first cache line is the block's own, and only what takes and gives back instances of this
//! block writes to it. The instances follow. The memory is one piece from `kvmalloc()`.

use super::{
    call::{
        Call,
        Taken, //
    },
    growth::LINE,
    pool::{
        self,
        Free, //
    },
    store::Store, //
};
use crate::{
    atomics::{
        AtomicBool,
        AtomicPtr,
        Ordering, //
    },
    prelude::*, //
};
use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// Memory of blocks.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// A block, which its instances follow.
///
/// # Invariants
///
/// It is at the beginning of a `KVVec` of `lines` lines that was left for it, and has room for
/// `count` instances of `size` bytes each.
#[repr(C, align(64))]
pub(super) struct Block {
    pub(super) free: Free,
    /// The next older block of the store.
    pub(super) next: Place,
    lines: usize,
    size: usize,
    pub(super) count: usize,
    /// Was an instance ever taken?
    pub(super) touched: AtomicBool,
}

const _: () = assert!(size_of::<Block>() == LINE && align_of::<Block>() == LINE);

impl pool::Block for Block {
    #[inline(always)]
    fn free(&self) -> &Free {
        &self.free
    }
}

impl Block {
    /// A block with `count` free instances. `next` is the next older one.
    pub(super) fn new(
        count: usize,
        size: usize,
        store: NonNull<Store>,
        next: Place,
    ) -> Result<NonNull<Self>, Refusal> {
        let lines = 1 + (count * size).div_ceil(LINE);
        let memory = KVVec::from_elem(Line([0; LINE]), lines, GFP_KERNEL);
        let mut memory = ManuallyDrop::new(memory.map_err(|_| Refusal::NoMemory)?);
        let block = NonNull::new(memory.as_mut_ptr().cast::<Self>()).ok_or(Refusal::NoMemory)?;
        let new = Self {
            free: Free::first(count as u32),
            next,
            lines,
            size,
            count,
            touched: AtomicBool::new(false),
        };
        // SAFETY: The first line has room for it.
        unsafe { block.write(new) };
        for index in 0..count as u32 {
            // SAFETY: The lines behind the first have room for so many.
            unsafe { Self::place(block, index).write(Call::new(block, index, store)) };
        }
        Ok(block)
    }

    /// Where an instance of the block is.
    #[inline(always)]
    fn place(block: NonNull<Self>, index: u32) -> NonNull<Call> {
        // SAFETY: The block is there, as its caller has it; `size` never changes.
        let size = unsafe { (*block.as_ptr()).size };
        // It does not overflow, which the compiler cannot know: a hit cannot panic.
        let offset = LINE.wrapping_add((index as usize).wrapping_mul(size));
        // SAFETY: `index` is below `count`, so the offset is within the block's memory.
        unsafe { block.byte_add(offset).cast() }
    }

    /// # Safety
    ///
    /// The instance was taken from the block, which stays until it is given back.
    #[inline(always)]
    pub(super) unsafe fn taken<'a>(block: NonNull<Self>, index: u32) -> Taken<'a> {
        // SAFETY: By the invariant an instance is there, and the caller has taken it.
        unsafe { Taken::new(Self::place(block, index).as_ref()) }
    }

    /// # Safety
    ///
    /// Nobody uses the block any more.
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY: The block is still there, by the precondition.
        let lines = unsafe { block.as_ref() }.lines;
        // SAFETY: By the invariant it was such a list, which nobody else frees.
        drop(unsafe { KVVec::<Line>::from_raw_parts(block.as_ptr().cast(), 0, lines) });
    }
}

/// Where a block is, if there is one.
///
/// # Invariants
///
/// It is NULL, or a block of the store that this belongs to, which stays as long as the store.
pub(super) struct Place(AtomicPtr<Block>);

impl Place {
    /// There is a block, or none.
    pub(super) fn new(block: Option<NonNull<Block>>) -> Self {
        // INVARIANT: The caller passes a block of the store that it makes the place for.
        Self(AtomicPtr::new(
            block.map_or(core::ptr::null_mut(), NonNull::as_ptr),
        ))
    }

    #[inline(always)]
    pub(super) fn at(&self) -> Option<NonNull<Block>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    /// The block.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&Block> {
        // SAFETY: By the invariant it stays as long as the store, which this is borrowed from.
        self.at().map(|block| unsafe { block.as_ref() })
    }

    /// Puts a block of the same store there.
    pub(super) fn set(&self, block: NonNull<Block>) {
        // INVARIANT: The caller passes a block of the same store.
        self.0.store(block.as_ptr(), Ordering::Release);
    }

    /// The same; the block that was there before.
    pub(super) fn replace(&self, block: NonNull<Block>) -> Option<&Block> {
        // INVARIANT: The caller passes a block of the same store.
        let before = NonNull::new(self.0.swap(block.as_ptr(), Ordering::AcqRel));
        // SAFETY: By the invariant, as for `get`.
        before.map(|block| unsafe { block.as_ref() })
    }
}
