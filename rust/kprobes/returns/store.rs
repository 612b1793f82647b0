// SPDX-License-Identifier: GPL-2.0

//! What a return probe has in store: its [blocks](super::block), in place of C's `struct rethook`.
//!
//! Blocks come and never go before the store does. A store goes when its probe was unregistered and
//! its last call is over, which may be long after: [`Refs`] says when that is.

use super::{
    ask,
    block::{
        Block,
        Place, //
    },
    call::{
        Call,
        Taken, //
    },
    growth::{
        self,
        Demand,
        Lost, //
    },
    pool::{
        self,
        Returns, //
    },
    probe::ReturnProbe,
    refs::Refs,
    stores, //
};
use crate::{
    atomics::{
        AtomicBool,
        AtomicUsize,
        Ordering, //
    },
    prelude::*, //
};
use core::{
    mem::offset_of,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A store does not grow by a block for each CPU if these had fewer instances.
const FEW: usize = 8;

/// How many instances a store can have, as in C.
const MOST_CALLS: usize = bindings::RUST_KPROBES_MOST_CALLS as usize;

/// The store of a return probe.
#[repr(C)]
pub(super) struct Store {
    /// Its owner, where inlined C finds it.
    pub(super) probe: *const ReturnProbe,
    pub(super) refs: Refs,
    /// Was the worker asked to make it larger?
    asked: AtomicBool,
    lost: Lost,
    /// How many instances there are.
    pub(super) all: AtomicUsize,
    /// The latest block.
    blocks: Place,
    /// The block that each CPU owns, or takes from first.
    own: KVVec<Place>,
    /// Bytes of an instance.
    size: usize,
    /// The next of all stores.
    pub(super) next: *mut Store,
}

// `get_kretprobe()` is part of modules.
const _: () = assert!(offset_of!(Store, probe) == offset_of!(bindings::rethook, data));

/// How large a store becomes by itself. A client that asks for more gets it.
static LIMIT: AtomicUsize = AtomicUsize::new(4096);

/// How many numbers CPUs have, how many CPUs there may be, and how many are online.
fn cpus() -> [usize; 3] {
    let mut counts = [0; 3];
    // SAFETY: There is room for three.
    unsafe { bindings::rust_kprobes_cpus(counts.as_mut_ptr()) };
    counts
}

/// How many calls are watched at once, to begin with, if the client does not say.
pub(super) fn usual() -> usize {
    let [_, possible, _] = cpus();
    (2 * possible).max(10)
}

/// How large a store becomes by itself.
pub(super) fn growth_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Changes how large a store may become by itself.
pub(super) fn limit_growth(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

impl Store {
    /// A store with room for `count` calls of a probe.
    pub(super) fn new(
        probe: &'static ReturnProbe,
        count: usize,
        data: usize,
    ) -> Result<NonNull<Self>, Refusal> {
        let [numbers, possible, _] = cpus();
        let own = KVVec::with_capacity(numbers, GFP_KERNEL);
        let mut own = own.map_err(|_| Refusal::NoMemory)?;
        for _ in 0..numbers {
            let place = Place::new(None);
            own.push(place, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        }
        let store = Self {
            probe,
            refs: Refs::new(),
            asked: AtomicBool::new(false),
            lost: Lost::none(),
            all: AtomicUsize::new(0),
            blocks: Place::new(None),
            own,
            size: size_of::<Call>() + data.next_multiple_of(size_of::<usize>()),
            next: core::ptr::null_mut(),
        };
        let store = KBox::new(store, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        let store = NonNull::new(KBox::into_raw(store)).ok_or(Refusal::NoMemory)?;
        // SAFETY: The store was made just now.
        if let Err(refusal) = unsafe { store.as_ref() }.add(count, possible) {
            // SAFETY: The store was made just now, and nobody else knows it.
            unsafe { Self::free(store) };
            return Err(refusal);
        }
        // SAFETY: The store was made just now, and is in no list.
        unsafe { stores::add(store) };
        Ok(store)
    }

    /// Adds `more` instances, in at least `least` blocks, if there are so many. Only one task at a
    /// time may do so.
    fn add(&self, more: usize, least: usize) -> Result<(), Refusal> {
        if self.all.load(Ordering::Relaxed).saturating_add(more) > MOST_CALLS {
            return Err(Refusal::NoMemory);
        }
        let (blocks, mut left) = (growth::blocks(more, self.size, least), more);
        for number in 0..blocks {
            let count = left.div_ceil(blocks - number);
            let next = Place::new(self.blocks.at());
            let block = Block::new(count, self.size, NonNull::from(self), next)?;
            self.all.fetch_add(count, Ordering::Relaxed);
            self.blocks.set(block);
            left -= count;
        }
        Ok(())
    }

    /// An instance from the block that this CPU owns, if one is free there.
    #[inline(always)]
    pub(super) fn take(&self, cpu: usize) -> Option<Taken<'_>> {
        let block = self.own.get(cpu)?.at()?;
        // SAFETY: A block of the store stays as long as the store.
        let index = unsafe { block.as_ref() }.free.take().ok()?;
        // SAFETY: The instance was taken just now.
        Some(unsafe { Block::taken(block, index) })
    }

    /// An instance from a block that no CPU owns, which this CPU owns from now on; or else from any
    /// block, starting with its own.
    pub(super) fn search(&self, cpu: usize) -> Option<Taken<'_>> {
        let own = self.own.get(cpu)?;
        let claimed = pool::claim(self.blocks());
        let (block, index) = match claimed {
            Some(found) => found,
            None => pool::take(|| self.blocks_from(own.get()))
                .map_err(|returns| self.lose(returns))
                .ok()?,
        };
        if claimed.is_some() {
            own_from_now_on(own, block);
        } else if own.at().is_none() {
            // There are fewer blocks than CPUs: it shares one.
            own.set(NonNull::from(block));
        } else if block.free.len() == 0 {
            self.ask();
        }
        if !block.touched.load(Ordering::Relaxed) {
            block.touched.store(true, Ordering::Relaxed);
            if self.lost.touch(|| self.returns()) {
                self.ask();
            }
        }
        // SAFETY: The instance was taken just now.
        Some(unsafe { Block::taken(NonNull::from(block), index) })
    }

    fn lose(&self, returns: Returns) {
        self.lost.lose(returns);
        self.ask();
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        core::iter::successors(self.blocks.get(), |block| block.next.get())
    }

    /// All blocks, beginning with one of them.
    fn blocks_from<'a>(&'a self, first: Option<&'a Block>) -> impl Iterator<Item = &'a Block> {
        let is_first = move |block| first.is_some_and(|first| core::ptr::eq(first, block));
        let before = self.blocks().take_while(move |&block| !is_first(block));
        let behind = core::iter::successors(first, |block| block.next.get());
        Iterator::chain(behind, before)
    }

    /// Asks the worker to look whether the store must grow. The worker sees what this CPU did.
    fn ask(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            ask();
        }
    }

    /// Makes the store larger if the worker was asked to. With the lock held.
    pub(super) fn grow(&self) {
        if !self.asked.swap(false, Ordering::AcqRel) || self.refs.is_left() {
            return;
        }
        let lost = self.lost.look(|| {
            let touched = |block: &&Block| block.touched.load(Ordering::Relaxed);
            self.blocks().filter(touched).map(|block| block.count).sum()
        });
        let demand = Demand {
            all: self.all.load(Ordering::Relaxed),
            free: self.free_instances(),
            limit: growth_limit(),
            lost,
            returns: self.returns(),
        };
        if demand.is_over() {
            self.lost.forget(&lost);
        }
        let (more, [_, _, online]) = (demand.more(), cpus());
        // Without memory, the next call that finds nothing asks again.
        let _ = self.add(more, online.min(more.div_ceil(FEW)));
    }

    /// What has come back.
    fn returns(&self) -> Returns {
        let returns = self.blocks().map(|block| block.free.returns());
        returns.fold(Returns::NONE, Returns::and)
    }

    fn free_instances(&self) -> usize {
        self.blocks().map(|block| block.free.len()).sum()
    }

    /// Makes the store larger, so that `count` calls find room at once. With the lock held.
    pub(super) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        let more = count.saturating_sub(self.all.load(Ordering::Relaxed));
        self.add(more, cpus()[1])
    }

    /// The owner goes: from a grace period on after this no end of a call is told, and the store is
    /// freed when the last call is over. With the lock held, when no probe leads to the store.
    pub(super) fn leave(&self) {
        self.refs.leave();
        ask();
    }

    /// Are all calls of a store without owner over? With the lock held.
    pub(super) fn is_over(&self) -> bool {
        let all = self.all.load(Ordering::Relaxed);
        (self.refs).is_over(|| all.saturating_sub(self.free_instances()))
    }

    /// The owner, if it still is: for the rest of this read-side section of RCU.
    #[inline(always)]
    pub(super) fn owner(&self) -> Option<Owner<'_>> {
        // INVARIANT: Just asked.
        (!self.refs.is_left()).then_some(Owner(self))
    }

    /// # Safety
    ///
    /// Nobody uses the store any more, and it is in no list.
    pub(super) unsafe fn free(store: NonNull<Self>) {
        // SAFETY: It was in a box, and is nobody's, by the precondition.
        let store = unsafe { KBox::from_raw(store.as_ptr()) };
        let mut next = store.blocks.at();
        while let Some(block) = next {
            // SAFETY: A block of the store, which was not freed yet.
            next = unsafe { block.as_ref() }.next.at();
            // SAFETY: Nobody uses the store, nor its blocks.
            unsafe { Block::free(block) };
        }
    }
}

/// A CPU owns this block from now on, and not the one before.
fn own_from_now_on(own: &Place, block: &Block) {
    let block = NonNull::from(block);
    if own.at().is_none() {
        return own.set(block);
    }
    // An interrupt's hit may have come in between, and have claimed one for this CPU, too.
    if let Some(before) = own.replace(block) {
        before.free.disown();
    }
}

/// The store of a return probe that is registered.
///
/// # Invariants
///
/// The store was not left yet in this read-side section of RCU.
pub(super) struct Owner<'a>(&'a Store);

impl<'a> Owner<'a> {
    /// The return probe.
    #[inline(always)]
    pub(super) fn probe(&self) -> &'a ReturnProbe {
        // SAFETY: By the invariant: the probe stays for a grace period after its store was left.
        unsafe { &*self.0.probe }
    }
}

impl Taken<'_> {
    /// A call of a store with an owner is over.
    #[inline(always)]
    pub(super) fn give_back_to(self, _owner: Owner<'_>) {
        let call = self.call();
        // SAFETY: A block stays as long as an instance is taken from it, which this call is.
        unsafe { call.block.as_ref() }.free.give(call.ticket);
    }

    /// The call is over, or was not watched.
    #[inline(always)]
    pub(super) fn give_back(self) {
        let call = self.call();
        let is_last = call.store().refs.put(|| {
            // SAFETY: A block stays as long as an instance is taken from it, which this call is.
            unsafe { call.block.as_ref() }.free.give(call.ticket);
        });
        // Nobody else asks, and the store may be gone.
        if is_last {
            ask();
        }
    }
}
