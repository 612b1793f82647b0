// SPDX-License-Identifier: GPL-2.0

//! Executable memory for copies of instructions, a slot for each.
//!
//! A trap, a fault or an unwinder must learn whose copy an address is in. It may be in an NMI, so
//! it takes no lock: the pages of slots are in a table by address, under RCU, and a page has words
//! for each of its slots: the origin, and in a pool of detours what else belongs to one.
//!
//! Which slots are free is a bitmap in each page, [`Bits`]. It belongs to a spinlock ([`Hold`]),
//! as the callback of Tasks RCU cannot sleep. Taking a slot may make a page and holds a mutex
//! besides ([`Lock`]); giving one back does not.
//!
//! A slot that a CPU leaves by a trap is free as soon as it is given back, since it is given back
//! only when no hit is being handled. A slot that a CPU leaves by itself lingers: a task can have
//! been preempted in it, so the slot is free after a grace period of Tasks RCU. Such slots are
//! counted, as a period may take long: while too many wait, nobody is to let a slot linger.
//!
//! Pages without a slot in use are given back, save some, as to make a page executable or writable
//! interrupts all CPUs; see [`Pool::tidy`]. That takes a look at all pages, so [`Returns`] notes
//! whether a slot has come back, and the pool remembers the page that it has taken the last slot
//! from: what a probe costs does not grow with the pages.
//!
//! C counterpart: `__get_insn_slot()` and its neighbours in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

mod bits;

use crate::{
    atomics::{
        AtomicUsize,
        Ordering, //
    },
    prelude::*,
    sys::{
        lock::{
            Guarded,
            Token, //
        },
        preempt::Pinned, //
    },
    table::{
        Owned,
        Retired,
        Table,
        Writer, //
    }, //
};
use bits::Bits;
use core::ptr::NonNull;
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    types::{
        NotThreadSafe,
        Opaque, //
    }, //
};

/// The shortest slot: a page has a bit for each.
const SHORTEST: usize = PAGE_SIZE / u64::BITS as usize;

/// What the pages of a pool get back.
pub(crate) struct Returns {
    counts: Guarded<Counts, Hold>,
    /// How many slots may wait for Tasks RCU.
    limit: usize,
}

struct Counts {
    /// Is a slot free again, so that a page may be without one in use?
    any: bool,
    /// How many slots wait for Tasks RCU.
    waiting: usize,
}

impl Returns {
    /// Nothing yet. Up to `limit` slots may wait before no more are to linger.
    pub(crate) const fn new(limit: usize) -> Self {
        let counts = Counts {
            any: false,
            waiting: 0,
        };
        Self {
            counts: Guarded::new(counts),
            limit,
        }
    }

    /// How many slots wait until no task is in them.
    pub(crate) fn waiting(&self) -> usize {
        self.counts.get(&mut Hold::new()).waiting
    }

    /// May another slot linger? Those that do so already will all the same.
    pub(crate) fn may_linger(&self) -> bool {
        self.waiting() < self.limit
    }

    /// Is any free again? Says no until it happens again.
    fn take(&self) -> bool {
        core::mem::take(&mut self.counts.get(&mut Hold::new()).any)
    }
}

/// A page of slots.
///
/// # Invariants
///
/// `code` is a page from `execmem_alloc()` that this value frees.
pub(crate) struct Page {
    code: NonNull<c_void>,
    slot_len: usize,
    returns: &'static Returns,
    bits: Guarded<Bits, Hold>,
    /// Belongs to who has been told to ask for a grace period, and then to Tasks RCU.
    callback: Opaque<bindings::callback_head>,
    /// The words of the slots, in order: of each, where its instruction comes from, and what else
    /// its owner notes.
    words: KVec<AtomicUsize>,
    of: Pages,
}

// SAFETY: What changes are atomics, what a lock guards, and the callback's head, which one at a
// time may use.
unsafe impl Send for Page {}
// SAFETY: As above.
unsafe impl Sync for Page {}

impl Page {
    fn address(&self) -> TextAddr {
        TextAddr::new(self.code.addr().get() as u64)
    }

    fn new(slot_len: usize, returns: &'static Returns, of: Pages) -> Result<Self, Refusal> {
        let count = PAGE_SIZE / slot_len.max(SHORTEST);
        let mut words = KVec::new();
        for _ in 0..count.wrapping_mul(words_of(of)) {
            let pushed = words.push(AtomicUsize::new(0), GFP_KERNEL);
            pushed.map_err(|_| Refusal::NoMemory)?;
        }
        // SAFETY: The caller may sleep, as whoever registers a probe.
        let code =
            unsafe { bindings::execmem_alloc(bindings::execmem_type_EXECMEM_KPROBES, PAGE_SIZE) };
        // INVARIANT: It is, if it is not NULL.
        Ok(Self {
            code: NonNull::new(code).ok_or(Refusal::NoMemory)?,
            slot_len,
            returns,
            bits: Guarded::new(Bits::new(count)),
            callback: Opaque::uninit(),
            words,
            of,
        })
    }

    /// A free slot, for the instruction at `origin`.
    fn take(&self, origin: TextAddr) -> Option<Slot> {
        let index = self.bits.get(&mut Hold::new()).take()?;
        let origin = origin.get() as usize;
        self.words(index).first()?.store(origin, Ordering::Relaxed);
        let offset = index.wrapping_mul(self.slot_len) as u64;
        // INVARIANT: It is not free any more.
        Some(Slot {
            page: NonNull::from(self),
            at: TextAddr::new(self.address().get().wrapping_add(offset)),
        })
    }

    /// The words of a slot.
    fn words(&self, index: usize) -> &[AtomicUsize] {
        let count = words_of(self.of);
        let first = index.wrapping_mul(count);
        let words = self.words.get(first..first.wrapping_add(count));
        words.unwrap_or_default()
    }

    /// Gives back a slot. Once it is free and the lock is released, the page may go.
    fn give_back(&self, index: usize, lingers: bool) {
        let mut hold = Hold::new();
        if lingers {
            let counts = self.returns.counts.get(&mut hold);
            counts.waiting = counts.waiting.wrapping_add(1);
            let ask = self.bits.get(&mut hold).leave(index);
            drop(hold);
            if ask {
                self.ask();
            }
        } else {
            self.forget(index);
            self.returns.counts.get(&mut hold).any = true;
            self.bits.get(&mut hold).free(index);
        }
    }

    /// A slot is nobody's copy any more.
    fn forget(&self, index: usize) {
        for word in self.words(index) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Asks for a grace period of Tasks RCU.
    fn ask(&self) {
        let head = self.callback.get();
        // SAFETY: The head is ours until the callback has run, which finds the page there: it has
        // slots that are not free.
        unsafe { bindings::rust_kprobes_call_rcu_tasks(head, Some(expired)) };
    }

    /// The number of the slot that `at` is in, and how far into it that is.
    fn which(&self, at: TextAddr) -> Option<(usize, usize)> {
        let offset = at.get().wrapping_sub(self.address().get()) as usize;
        Some((
            offset.checked_div(self.slot_len)?,
            offset.checked_rem(self.slot_len)?,
        ))
    }

    /// The first word of the slot that `at` is in, if it is in use, and how far into it that is.
    fn origin(&self, at: TextAddr) -> Option<(usize, u64)> {
        let (index, into) = self.which(at)?;
        let origin = self.words(index).first()?.load(Ordering::Relaxed);
        (origin != 0).then_some((origin, into as u64))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: By the invariant; nobody runs what is in it, since no slot is in use.
        unsafe { bindings::execmem_free(self.code.as_ptr()) };
    }
}

/// Called by Tasks RCU: no task is in the slots that wait.
///
/// # Safety
///
/// `head` is in a [`Page`] that stays.
unsafe extern "C" fn expired(head: *mut bindings::callback_head) {
    // SAFETY: By the precondition; the field is laid out as what is in it. The page has slots that
    // are not free before the lock is released.
    let page = unsafe { &*kernel::container_of!(Opaque::cast_from(head), Page, callback) };
    let mut hold = Hold::new();
    let mut count = 0_usize;
    let ask = page.bits.get(&mut hold).expired(|index| {
        page.forget(index);
        count = count.wrapping_add(1);
    });
    let counts = page.returns.counts.get(&mut hold);
    counts.waiting = counts.waiting.wrapping_sub(count);
    counts.any = true;
    drop(hold);
    if ask {
        page.ask();
    }
}

/// A slot that is in use.
///
/// There is one for each probe, so it is kept small.
///
/// # Invariants
///
/// Without the bit [`LINGERS`] it is the address of a page, which stays, since this slot of it is
/// not free.
pub(crate) struct Slot {
    page: NonNull<Page>,
    at: TextAddr,
}

/// The bit of a page's address that tells that a CPU may leave the slot by itself.
const LINGERS: usize = 1;
const _: () = assert!(align_of::<Page>() > LINGERS);

// SAFETY: A page may be used from anywhere.
unsafe impl Send for Slot {}
// SAFETY: As above.
unsafe impl Sync for Slot {}

impl Slot {
    /// Where its first byte is.
    #[inline(always)]
    pub(crate) fn at(&self) -> TextAddr {
        self.at
    }

    /// From now on, a CPU may leave it by itself.
    pub(crate) fn linger(&mut self) {
        // INVARIANT: Nothing changes but the bit.
        self.page = self.page.map_addr(|page| page | LINGERS);
    }

    /// The words of it that its owner notes something in. Each is zero when the slot is taken, and
    /// stays where it is until no task is in the slot.
    pub(crate) fn notes(&self) -> &[AtomicUsize] {
        let words = self.page().words(self.index());
        words.get(1..).unwrap_or_default()
    }

    /// Says something else than an address of what is in it. It is not zero.
    pub(crate) fn set_origin(&self, origin: usize) {
        if let Some(word) = self.page().words(self.index()).first() {
            word.store(origin, Ordering::Relaxed);
        }
    }

    /// May a CPU leave it by itself?
    pub(crate) fn lingers(&self) -> bool {
        self.page.addr().get() & LINGERS != 0
    }

    fn page(&self) -> &Page {
        let page = self.page.as_ptr().map_addr(|page| page & !LINGERS);
        // SAFETY: By the invariant.
        unsafe { &*page }
    }

    /// Its number in the page.
    fn index(&self) -> usize {
        self.page().which(self.at).map_or(0, |(index, _)| index)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.page().give_back(self.index(), self.lingers());
    }
}

/// Evidence that the pools are ours to change.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_slots_mutex` for this value.
pub(crate) struct Lock(NotThreadSafe);

// SAFETY: By its invariant: it is a mutex.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until nobody else changes a pool. To be taken inside all other locks but [`Hold`].
    pub(crate) fn new() -> Self {
        // SAFETY: A mutex of `abi.c` that is initialized at build time; the caller may sleep.
        unsafe { bindings::mutex_lock(&raw mut bindings::rust_kprobes_slots_mutex) };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::mutex_unlock(&raw mut bindings::rust_kprobes_slots_mutex) };
    }
}

/// Evidence that the bitmaps of all pages, and what is counted of them, are ours.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_bits_lock` for this value.
struct Hold(NotThreadSafe);

// SAFETY: By its invariant: it is a spinlock.
unsafe impl Token for Hold {}

impl Hold {
    /// Waits until nobody else has them. To be taken inside all other locks.
    fn new() -> Self {
        // SAFETY: May be called from where softirqs are off, as the callback of Tasks RCU is.
        unsafe { bindings::rust_kprobes_bits_lock() };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::rust_kprobes_bits_unlock() };
    }
}

/// How many pages without a slot in use are looked for at once.
const SWEEP: usize = 32;

/// All slots of a back end.
pub(crate) struct Pool {
    pages: Writer<Page>,
    slot_len: usize,
    of: Pages,
    /// How many pages are kept even if nobody needs them.
    kept: usize,
    returns: &'static Returns,
    /// The page that had a slot to give when one was last taken.
    open: TextAddr,
}

impl Pool {
    /// No slots yet, of `slot_len` bytes each, a power of two not below 64. So many
    /// pages are `kept`, once there are as many, even if nobody needs them.
    pub(crate) const fn new(
        table: &'static Table<Page>,
        returns: &'static Returns,
        slot_len: usize,
        of: Pages,
        kept: usize,
    ) -> Self {
        Self {
            pages: Writer::of(table),
            slot_len,
            of,
            kept,
            returns,
            open: TextAddr::new(0),
        }
    }

    /// A slot for the instruction at `origin`.
    pub(crate) fn take(&mut self, origin: TextAddr) -> Result<Slot, Refusal> {
        let open = self.pages.get(self.open);
        if let Some(slot) = open.and_then(|page| page.take(origin)) {
            return Ok(slot);
        }
        let mut pages = self.pages.iter();
        let found = pages.find_map(|(base, page)| Some((base, page.take(origin)?)));
        if let Some((base, slot)) = found {
            self.open = base;
            return Ok(slot);
        }
        let page = Page::new(self.slot_len, self.returns, self.of)?;
        let base = page.address();
        self.pages.insert(Owned::new(base, page)?)?;
        announce(base, self.of, true);
        self.open = base;
        let page = self.pages.get(base);
        page.and_then(|page| page.take(origin))
            .ok_or(Refusal::NoMemory)
    }

    /// Takes the pages out that nobody needs, save some. Looks for them only if slots have come
    /// back.
    pub(crate) fn tidy(&mut self, retired: &mut Retired<Page>) {
        if !self.returns.take() {
            return;
        }
        while self.take_out(retired) == SWEEP {}
        self.pages.tidy();
    }

    /// Takes out some of the pages that nobody needs; tells how many.
    fn take_out(&mut self, retired: &mut Retired<Page>) -> usize {
        let most = self.pages.len().saturating_sub(self.kept).min(SWEEP);
        let mut bases = [None; SWEEP];
        let unused = |(_, page): &(_, &Page)| page.bits.get(&mut Hold::new()).is_unused();
        let empty = self.pages.iter().filter(unused);
        for (place, (base, _)) in bases.iter_mut().take(most).zip(empty) {
            *place = Some(base);
        }
        let mut count = 0;
        for base in bases.into_iter().flatten() {
            announce(base, self.of, false);
            if let Ok(page) = self.pages.remove(base) {
                retired.push(page);
                count += 1;
            }
        }
        count
    }
}

/// How many words a slot has.
fn words_of(pages: Pages) -> usize {
    match pages {
        Pages::Copies => 1,
        Pages::Detours => 2,
    }
}

/// Tells perf that a page of slots has come, or is about to go.
fn announce(base: TextAddr, of: Pages, here: bool) {
    let detours = of == Pages::Detours;
    // SAFETY: Only tells the address and the length.
    unsafe { bindings::rust_kprobes_ksymbol(base.get() as usize, !here, detours) };
}

/// Where page number `number` is, or how many there are. The numbers of others change when pages
/// come and go.
pub(crate) fn page(table: &Table<Page>, number: usize, pinned: &Pinned) -> Result<TextAddr, usize> {
    let mut count = 0;
    for place in table.places(pinned) {
        if count == number {
            return Ok(place);
        }
        count += 1;
    }
    Err(count)
}

/// Is there a slot at `at`?
pub(crate) fn covers(table: &Table<Page>, at: TextAddr, pinned: &Pinned) -> bool {
    page_of(table, at, pinned).is_some()
}

/// Where the instruction is that the slot at `at` has a copy of, or what else its owner has said of
/// it, and how far into the slot `at` is.
pub(crate) fn origin(table: &Table<Page>, at: TextAddr, pinned: &Pinned) -> Option<(usize, u64)> {
    page_of(table, at, pinned)?.origin(at)
}

fn page_of<'a>(table: &'a Table<Page>, at: TextAddr, pinned: &'a Pinned) -> Option<&'a Page> {
    let base = at.get() & !(PAGE_SIZE as u64 - 1);
    table.find(TextAddr::new(base), pinned)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_slots)]
mod tests {
    use super::*;

    /// How many pages are to be kept.
    const KEPT: usize = 3;

    const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    /// So many slots.
    fn take(pool: &mut Pool, count: usize) -> Result<KVec<Slot>, Refusal> {
        let mut slots = KVec::with_capacity(count, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        for _ in 0..count {
            let pushed = slots.push(pool.take(ORIGIN)?, GFP_KERNEL);
            pushed.map_err(|_| Refusal::NoMemory)?;
        }
        Ok(slots)
    }

    fn tidy(pool: &mut Pool) {
        let mut retired = Retired::new();
        pool.tidy(&mut retired);
        retired.wait();
    }

    /// Gives back the pages that are left.
    fn close(mut pool: Pool) -> Result<(), Refusal> {
        let first = |pool: &Pool| pool.pages.iter().next().map(|(base, _)| base);
        while let Some(base) = first(&pool) {
            drop(pool.pages.remove(base)?);
        }
        Ok(())
    }

    #[test]
    fn a_page_is_made_only_when_all_are_full() -> Result<(), Refusal> {
        static PAGES: Table<Page> = Table::empty();
        static RETURNS: Returns = Returns::new(1);
        let mut pool = Pool::new(&PAGES, &RETURNS, PAGE_SIZE / 4, Pages::Copies, 1);
        let (first, second) = (take(&mut pool, 4)?, take(&mut pool, 1)?);
        assert_eq!(pool.pages.len(), 2);
        drop(first);
        let more = take(&mut pool, 7)?;
        assert_eq!(pool.pages.len(), 2);
        drop((second, more));
        tidy(&mut pool);
        assert_eq!(pool.pages.len(), 1);
        close(pool)
    }

    #[test]
    fn pages_without_a_slot_in_use_are_given_back() -> Result<(), Refusal> {
        static PAGES: Table<Page> = Table::empty();
        static RETURNS: Returns = Returns::new(1);
        let mut pool = Pool::new(&PAGES, &RETURNS, PAGE_SIZE, Pages::Detours, KEPT);
        let (some, kept) = (take(&mut pool, 2 * SWEEP + 3)?, take(&mut pool, 1)?);
        tidy(&mut pool);
        assert_eq!(pool.pages.len(), 2 * SWEEP + 4);
        drop(some);
        assert!(RETURNS.counts.get(&mut Hold::new()).any);
        tidy(&mut pool);
        assert_eq!(pool.pages.len(), KEPT);
        assert!(!RETURNS.counts.get(&mut Hold::new()).any);
        drop(kept);
        tidy(&mut pool);
        assert_eq!(pool.pages.len(), KEPT);
        close(pool)
    }
}
