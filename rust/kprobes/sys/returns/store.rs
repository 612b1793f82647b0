// SPDX-License-Identifier: GPL-2.0

//! What is in store for a return probe: in place of C's `struct rethook`.
//!
//! It consists of [blocks](crate::pool), each in memory of its own, which come and never go before
//! the store does. A store goes when its probe has been unregistered and the last call that was
//! taken from it is over, which may be long after: until then it belongs to nobody, and is in the
//! list of all stores. Who gives back the last one asks for it to be freed, and does not look at it
//! any more.

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
    probe::ReturnProbe,
    stores, //
};
use crate::{
    model::refusal::Refusal,
    pool::{
        account::{
            Account,
            End,
            Over, //
        },
        growth::Demand,
        homes::{
            Cpu,
            Purpose,
            Ranks,
            Share, //
        },
        peak::Peak,
        room,
        search, //
    }, //
};
use core::{
    cell::Cell,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        AtomicIsize,
        AtomicU64,
        AtomicUsize,
        Ordering, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A store does not grow by a block for each CPU if that had fewer calls.
const FEW: usize = 8;

/// What all calls together may take, as in C.
const MOST_CALLS: usize = bindings::RUST_KPROBES_MOST_CALLS as usize;

/// Where a CPU looks for something that has nothing at home.
struct Spare {
    /// It stays, too, as long as there is anything in it.
    own: Place,
    /// Where a search has found something last.
    found: Place,
}

/// So many, by numbers of CPUs.
fn each<T>(numbers: usize, new: impl Fn() -> T) -> Result<KVVec<T>, Refusal> {
    let mut all = KVVec::with_capacity(numbers, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    for _ in 0..numbers {
        all.push(new(), GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    }
    Ok(all)
}

/// What is in store for a return probe.
#[repr(C)]
pub(crate) struct Store {
    /// Whose it is, where inlined C finds it.
    pub(super) probe: *const ReturnProbe,
    /// Which calls are not over when it is nobody's any more.
    pub(super) account: Account<AtomicBool, AtomicIsize>,
    /// Was somebody asked to make it larger?
    asked: AtomicBool,
    /// For how many calls at once it is known to be too small.
    peak: Peak<AtomicU64>,
    /// How far it is from nobody's to nobody's knowing it. For who has the lock.
    pub(super) end: Cell<End>,
    /// How many there are, taken or not.
    pub(super) all: AtomicUsize,
    blocks: Place,
    /// From which block each CPU takes. Hits only read this.
    homes: KVVec<Place>,
    /// What is written only where there is nothing at home.
    spares: KVVec<Spare>,
    /// Bytes of a call.
    size: usize,
    /// The next of all stores.
    pub(super) next: *mut Store,
}

// `get_kretprobe()` is part of modules.
const _: () = assert!(offset_of!(Store, probe) == offset_of!(bindings::rethook, data));

/// How large a store becomes by itself. Who asks for more gets it.
static LIMIT: AtomicUsize = AtomicUsize::new(4096);

/// CPUs: how many numbers they have, how many there may be, and how many there are.
fn cpus() -> [usize; 3] {
    let mut counts = [0; 3];
    // SAFETY: There is room for three.
    unsafe { bindings::rust_kprobes_cpus(counts.as_mut_ptr()) };
    counts
}

/// What a CPU is now, by its number, of which there are so many.
fn cpu(number: usize) -> Cpu {
    // SAFETY: There is such a number.
    match unsafe { bindings::rust_kprobes_cpu(number as c_uint) } {
        0 => Cpu::Impossible,
        1 => Cpu::Offline,
        _ => Cpu::Online,
    }
}

/// How many calls are watched at once, to begin with, if the client does not say.
pub(crate) fn usual() -> usize {
    let [_, possible, _] = cpus();
    (2 * possible).max(10)
}

impl Store {
    /// With room for `count` calls of a probe.
    pub(crate) fn new(
        probe: &'static ReturnProbe,
        count: usize,
        data: usize,
    ) -> Result<NonNull<Self>, Refusal> {
        let [numbers, possible, _] = cpus();
        let store = Self {
            probe,
            account: Account::new(),
            asked: AtomicBool::new(false),
            peak: Peak::new(),
            end: Cell::new(End::Used),
            all: AtomicUsize::new(0),
            blocks: Place::nowhere(),
            homes: each(numbers, Place::nowhere)?,
            spares: each(numbers, || Spare {
                own: Place::nowhere(),
                found: Place::nowhere(),
            })?,
            size: size_of::<Call>() + data.next_multiple_of(size_of::<usize>()),
            next: core::ptr::null_mut(),
        };
        let store = KBox::new(store, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        let store = NonNull::new(KBox::into_raw(store)).ok_or(Refusal::NoMemory)?;
        // SAFETY: It was made just now.
        let made = unsafe { store.as_ref() }.add(count, possible, Purpose::Homes);
        if let Err(refusal) = made {
            // SAFETY: As before.
            unsafe { Self::free(store) };
            return Err(refusal);
        }
        // SAFETY: As before; it is in no list yet.
        unsafe { stores::add(store) };
        Ok(store)
    }

    /// Adds room for `more` calls, in no less than `least` blocks, if there are so many. One at a
    /// time may do so.
    fn add(&self, more: usize, least: usize, purpose: Purpose) -> Result<(), Refusal> {
        if more == 0 {
            return Ok(());
        }
        if self.all.load(Ordering::Relaxed).saturating_add(more) > MOST_CALLS {
            return Err(Refusal::NoMemory);
        }
        let share = Share {
            blocks: room::blocks(more, self.size, least),
            cpus: cpus()[1],
            purpose,
        };
        let made = KVVec::with_capacity(share.given_out(), GFP_KERNEL);
        let mut made = made.map_err(|_| Refusal::NoMemory)?;
        let mut left = more;
        for number in 0..share.blocks {
            let count = left.div_ceil(share.blocks - number);
            let block = Block::new(count as u32, self.size, NonNull::from(self))?;
            if let Some(first) = self.blocks.at() {
                // SAFETY: It was made just now.
                unsafe { block.as_ref() }.next.set(first);
            }
            self.all.fetch_add(count, Ordering::Relaxed);
            self.blocks.set(block);
            if number < share.given_out() {
                made.push(block, GFP_KERNEL)
                    .map_err(|_| Refusal::NoMemory)?;
            }
            left -= count;
        }
        self.give_out(&made, share);
        Ok(())
    }

    /// New blocks become homes and spares.
    fn give_out(&self, made: &[NonNull<Block>], share: Share) {
        let [_, _, online] = cpus();
        let mut ranks = Ranks::new(online);
        let places = self.homes.iter().zip(self.spares.iter());
        for (number, (home, spare)) in places.enumerate() {
            let Some(rank) = ranks.next(cpu(number)) else {
                continue;
            };
            if let Some(block) = share.spare(rank).and_then(|spare| made.get(spare)) {
                self.lend(&spare.own, *block);
            }
            if let Some(block) = share.home(rank).and_then(|home| made.get(home)) {
                self.move_in(home, &spare.own, *block, share);
            }
        }
    }

    /// Makes a block a CPU's spare, if that has none with anything in it.
    fn lend(&self, spare: &Place, block: NonNull<Block>) {
        if spare.get().is_none_or(|now| now.free.len() == 0) {
            spare.set(block);
        }
    }

    /// Makes a block a CPU's home, if it has none, or should leave it; that is a spare then. While
    /// the first homes are given out a store is not known yet, so nobody comes to it who has none.
    fn move_in(&self, home: &Place, spare: &Place, block: NonNull<Block>, share: Share) {
        let before = home.at();
        // SAFETY: It was made just now.
        let new = unsafe { block.as_ref() };
        if !share.is_to_move(home.get().map(|home| home.count), new.count) {
            return;
        }
        self.reach(new);
        home.set(block);
        if let Some(before) = before {
            self.lend(spare, before);
        }
    }

    /// A block becomes the home of a CPU, from which it takes without looking at anything else; or
    /// one finds something there.
    fn reach(&self, block: &Block) {
        let is_known = || block.within_reach.swap(true, Ordering::Relaxed);
        if block.within_reach.load(Ordering::Relaxed) || is_known() {
            return;
        }
        let returns = || search::returns(self.blocks());
        if self.peak.reach(block.count as usize, returns) {
            self.ask();
        }
    }

    /// Room for a call on this CPU, if there is any at home.
    #[inline(always)]
    pub(crate) fn take(&self, cpu: usize) -> Option<Taken<'_>> {
        let home = self.homes.get(cpu)?.at()?;
        // SAFETY: A block of this store.
        let index = unsafe { home.as_ref() }.free.take().ok()?;
        // SAFETY: It was taken just now.
        Some(unsafe { Block::taken(home, index) })
    }

    /// The same, where there is nothing at home.
    pub(crate) fn search(&self, cpu: usize) -> Option<Taken<'_>> {
        let spare = self.spares.get(cpu)?;
        let first = self.first(cpu, spare);
        let lose = |returns| {
            self.peak.lose(returns);
            self.ask();
        };
        let found = search::take(|| self.blocks_from(first)).map_err(lose);
        let (block, index) = found.ok()?;
        self.reach(block);
        if !first.is_some_and(|first| core::ptr::eq(first, block)) {
            spare.found.set(NonNull::from(block));
            if block.free.len() == 0 {
                self.ask();
            }
        }
        // SAFETY: It was taken just now.
        Some(unsafe { Block::taken(NonNull::from(block), index) })
    }

    /// Where a CPU begins to search: not all with the same block, or all would find the same one.
    fn first<'a>(&'a self, cpu: usize, spare: &'a Spare) -> Option<&'a Block> {
        let own = spare.own.get().filter(|own| own.free.len() != 0);
        let found = own.or_else(|| spare.found.get());
        found.or_else(|| self.homes.get(cpu)?.get())
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        core::iter::successors(self.blocks.get(), |block| block.next.get())
    }

    /// All, from one of them on.
    fn blocks_from<'a>(&'a self, first: Option<&'a Block>) -> impl Iterator<Item = &'a Block> {
        let is_first = move |block| first.is_some_and(|first| core::ptr::eq(first, block));
        let before = self.blocks().take_while(move |&block| !is_first(block));
        let behind = core::iter::successors(first, |block| block.next.get());
        Iterator::chain(behind, before)
    }

    /// Who makes it larger after this sees what this CPU did before.
    fn ask(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            ask();
        }
    }

    /// What it is to who uses it, if it is still somebody's. To be asked in a read-side section of
    /// RCU, and not to be kept longer.
    #[inline(always)]
    pub(crate) fn used(&self) -> Option<Used<'_>> {
        // INVARIANT: Nobody had left it just now.
        (!self.account.is_left()).then_some(Used(self))
    }

    /// Makes it larger, so that `count` calls find room at once. To be done with the lock held.
    pub(super) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        let more = count.saturating_sub(self.all.load(Ordering::Relaxed));
        self.add(more, cpus()[1], Purpose::Homes)
    }

    /// Makes it larger if it was asked for.
    pub(super) fn grow(&self) {
        if !self.asked.swap(false, Ordering::AcqRel) || self.account.is_left() {
            return;
        }
        let demand = Demand {
            all: self.all.load(Ordering::Relaxed),
            free: self.blocks().map(|block| block.free.len() as usize).sum(),
            most: self.peak.most(),
            bound: growth_limit(),
        };
        if demand.is_at_bound() {
            self.peak.forget();
        }
        let (more, [_, _, online]) = (demand.more(), cpus());
        let least = online.min(more.div_ceil(FEW));
        // Without memory, whoever finds nothing next asks again.
        let _ = self.add(more, least, Purpose::Spares);
    }

    /// It is nobody's any more: from a grace period on after this nobody is told of the end of a
    /// call, and it is freed when the last one is over. To be done when no probe leads to it, with
    /// the lock held.
    pub(super) fn leave(&self) {
        self.account.leave();
        ask();
    }

    /// If it was left, its calls are to be counted a grace period from now on; tells whether. To be
    /// asked with the lock held.
    pub(super) fn is_to_wait(&self) -> bool {
        let next = self.end.get().wait(&self.account);
        next.inspect(|&next| self.end.set(next)).is_some()
    }

    /// Its calls are counted, if it has waited for that. To be done with the lock held.
    pub(super) fn count(&self) {
        let next = self.end.get().count(&self.account, || {
            let free = self.blocks().map(|block| block.free.take_all() as usize);
            self.all.load(Ordering::Relaxed).saturating_sub(free.sum())
        });
        if let Some((next, _)) = next {
            self.end.set(next);
        }
    }

    /// # Safety
    ///
    /// Nobody uses it any more.
    pub(super) unsafe fn free(store: NonNull<Self>) {
        // SAFETY: By the precondition; it was in a box.
        let store = unsafe { KBox::from_raw(store.as_ptr()) };
        let mut next = store.blocks.at();
        while let Some(block) = next {
            // SAFETY: By the precondition.
            next = unsafe { block.as_ref() }.next.at();
            // SAFETY: By the precondition.
            unsafe { Block::free(block) };
        }
    }
}

/// How large a store becomes by itself.
pub(crate) fn growth_limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Says how large a store may become by itself.
pub(crate) fn limit_growth(limit: usize) {
    LIMIT.store(limit, Ordering::Relaxed);
}

/// A store that is somebody's.
///
/// # Invariants
///
/// It was not left yet in this read-side section of RCU.
pub(crate) struct Used<'a>(&'a Store);

impl<'a> Used<'a> {
    /// Whose it is.
    #[inline(always)]
    pub(crate) fn probe(&self) -> &'a ReturnProbe {
        // SAFETY: The probe stays for a grace period after its store was left.
        unsafe { &*self.0.probe }
    }
}

impl Taken<'_> {
    /// The call of a store that is somebody's is over.
    #[inline(always)]
    pub(crate) fn give_back_to(self, _used: Used<'_>) {
        let call = self.call();
        // SAFETY: A block stays as long as a call is taken from it.
        unsafe { call.block.as_ref() }.free.give(call.ticket);
    }

    /// The call is over, or was not watched.
    #[inline(always)]
    pub(crate) fn give_back(self) {
        let call = self.call();
        let over = call.store().account.back(|| {
            // SAFETY: A block stays as long as a call is taken from it.
            let block = unsafe { call.block.as_ref() };
            block.free.give(call.ticket);
        });
        // That it is over nobody else may say, and the store may be gone.
        if over == Over::ByThis {
            ask();
        }
    }
}
