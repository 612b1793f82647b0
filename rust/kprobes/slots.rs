// SPDX-License-Identifier: GPL-2.0

//! Executable memory for copies of instructions and for detours, in slots.
//!
//! A trap, a fault or an unwinder looks up the instruction that an address in a slot belongs to.
//! This may happen in an NMI, so the lookup takes no lock: the pages of a pool are in a table by
//! address, under RCU, and a page has words for each of its slots.
//!
//! Bitmaps in each page, [`Bits`], mark the free slots. Taking a slot may allocate a page, so it
//! locks a mutex ([`Mutex::SLOTS`]). Giving a slot back takes no lock, as the callback of Tasks RCU
//! cannot sleep.
//!
//! A slot belongs to a prepared instruction or to a detour, and both belong to a probe point. When
//! the point is dropped, [`Slot`]'s `drop()` gives the slot back. No CPU handles a hit of the point
//! then: a point that was in the table is dropped after a grace period ([`Retired`]), in
//! unregistration by `RemovedPoints::wait()` of `lifecycle/unregister.rs`. A point in freed text is
//! dropped when its probes are unregistered, or when a new point replaces it.
//!
//! The code in a slot ends in a trap or in a jump:
//!
//! - If all copies in the slot end in a trap, the slot is free at once: with the hit, the CPU has
//!   left the slot.
//! - If a copy ends in a jump, or the slot has a detour, a task may have been preempted in the
//!   slot. The slot is *pending* until a grace period of Tasks RCU is over (`call_rcu_tasks()`),
//!   and then free. That may take long, so each pool counts its pending slots. At a limit, no more
//!   code that ends in a jump is written: see [`may_end_in_jump`](SlotPool::may_end_in_jump).
//!
//! A page is unused if all of its slots are free. [`free_unused_pages`] frees unused pages, at the
//! end of each unregistration and of each pass of the worker. Pending slots that become free wake
//! the worker. Changing the protection of a page interrupts all CPUs, so a pool keeps some unused
//! pages. A pool looks at all of its pages only when the page of the last taken slot is full, or
//! when a page has become unused.
//!
//! C counterpart: `__get_insn_slot()` and its neighbours in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

mod bits;

use crate::{
    atomics::{
        AtomicBool,
        AtomicUsize,
        Ordering, //
    },
    sys::{
        lock::{
            Guarded,
            Mutex, //
        },
        prelude::*,
        probe::{
            Chain,
            EMPTY_CHAIN, //
        },
        worker, //
    },
    table::{
        Entry,
        Retired,
        Table,
        Writer, //
    }, //
};
use bits::Bits;
use core::{
    cell::Cell,
    ptr::NonNull, //
};
use kernel::{
    page::PAGE_SIZE,
    types::Opaque, //
};

/// The number of slots in a page: a bitmap is a word.
const COUNT: usize = usize::BITS as usize;

/// The bytes of a slot: room for two copies of an instruction, or for a detour.
pub(crate) const SLOT_LEN: usize = PAGE_SIZE / COUNT;

/// The bytes for one copy of an instruction and the jump or trap after it.
pub(crate) const COPY_LEN: usize = SLOT_LEN / 2;

/// While as many slots of a pool are pending (256 pages), code in new slots does not end in jumps:
/// copies end in traps, and no detours are made.
const MAX_PENDING: usize = 256 * COUNT;

/// The pool of copies of instructions.
pub(crate) static COPIES: SlotPool = SlotPool::new(
    bindings::KPROBE_INSN_PAGE_SYM,
    Writer::of(&COPIES.table),
    1,
    1,
);

/// The pool of detours. They are made and freed in batches. Freeing a page interrupts all CPUs more
/// often than removing all jumps to it, so the pool keeps at least four pages.
pub(crate) static DETOURS: SlotPool = SlotPool::new(
    bindings::KPROBE_OPTINSN_PAGE_SYM,
    Writer::of(&DETOURS.table),
    2,
    4,
);

/// The first address of the lowest page that ever had slots, and the last one of the highest page.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a slot may have the address. Most faults and frames of stacks are elsewhere, and
/// cost no lookup. The bounds are stored before any text leads to the slot.
#[inline(always)]
pub(crate) fn may_cover(at: TextAddr) -> bool {
    let at = at.get() as usize;
    LOWEST.load(Ordering::Relaxed) <= at && at <= HIGHEST.load(Ordering::Relaxed)
}

/// All slots of one kind.
pub(crate) struct SlotPool {
    table: Table<Page>,
    /// The name of a page's symbol in kallsyms and in perf, which ends with NUL.
    name: &'static [u8],
    /// The number of words for a slot: the address of its instruction, and for a detour its chain.
    words: usize,
    /// The number of pages that are kept even if they are unused.
    min_pages: usize,
    /// Whether a page has become unused since the last [`free_unused_pages`].
    has_unused: AtomicBool,
    /// The number of pending slots.
    pending: AtomicUsize,
    /// The writer of the table, and the page that the last slot was taken from.
    pages: Guarded<(Writer<Page>, TextAddr)>,
}

impl SlotPool {
    const fn new(name: &'static [u8], writer: Writer<Page>, words: usize, min: usize) -> Self {
        Self {
            table: Table::empty(),
            name,
            words,
            min_pages: min,
            has_unused: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
            pages: Guarded::new(Mutex::SLOTS, (writer, TextAddr::new(0))),
        }
    }

    /// Takes a slot for the instruction at `origin`.
    pub(crate) fn take(&'static self, origin: TextAddr) -> Result<Slot, Refusal> {
        let (writer, last_page) = &mut *self.pages.lock();
        if let Some(slot) = writer.get(*last_page).and_then(|page| page.take(origin)) {
            return Ok(slot);
        }
        let mut pages = writer.iter();
        let found = pages.find_map(|page| Some((page.at, page.value.take(origin)?)));
        if let Some((base, slot)) = found {
            *last_page = base;
            return Ok(slot);
        }
        let page = Page::new(self)?;
        *last_page = page.address();
        writer.insert(Entry::new(*last_page, page)?)?;
        self.announce(*last_page, false);
        let slot = writer.get(*last_page).and_then(|page| page.take(origin));
        slot.ok_or(Refusal::NoMemory)
    }

    /// Returns whether code in a new slot may end in a jump: not too many slots are pending.
    pub(crate) fn may_end_in_jump(&self) -> bool {
        self.pending.load(Ordering::Relaxed) < MAX_PENDING
    }

    /// Returns whether a page of slots has the address.
    #[inline(always)]
    pub(crate) fn covers(&self, at: TextAddr) -> bool {
        may_cover(at) && self.page(at, &PreemptOff::new()).is_some()
    }

    /// Returns the first word of the slot and the offset in the slot if `at` is in a slot that is
    /// not free. The word is the address of the instruction, or the value of
    /// [`Slot::set_first_word`].
    pub(crate) fn first_word(&self, at: TextAddr, no_preempt: &PreemptOff) -> Option<(usize, u64)> {
        let (index, offset) = slot_and_offset(at);
        let page = self.page(at, no_preempt)?;
        let word = page.words(index).first()?.load(Ordering::Relaxed);
        (word != 0).then_some((word, offset))
    }

    fn page<'a>(&'a self, at: TextAddr, no_preempt: &'a PreemptOff) -> Option<&'a Page> {
        let base = at.get() & !(PAGE_SIZE as u64 - 1);
        self.table.find(TextAddr::new(base), no_preempt)
    }

    /// Removes unused pages from the table, but keeps some. Looks for them only if there may be
    /// one. A kept page is used before another is made, and is noted when it is unused again.
    fn remove_unused_pages(&self, retired: &mut Retired<Page>) {
        if !self.has_unused.load(Ordering::Relaxed) {
            return;
        }
        // An exchange, not a store: the slots that are free by now must be seen.
        self.has_unused.swap(false, Ordering::Acquire);
        let writer = &mut self.pages.lock().0;
        let spare = Cell::new(writer.len().saturating_sub(self.min_pages));
        let goes = |page: &Page| {
            let goes = spare.get() != 0 && page.bits.is_unused();
            if goes {
                spare.set(spare.get().wrapping_sub(1));
                self.announce(page.address(), true);
            }
            goes
        };
        writer.remove_all(goes, retired);
        writer.shrink();
    }

    /// Tells perf that a page of slots was allocated, or will be freed.
    fn announce(&self, base: TextAddr, gone: bool) {
        // SAFETY: The name ends with NUL; perf only records the address and the length.
        unsafe { bindings::rust_kprobes_ksymbol(base.get() as usize, gone, self.name.as_ptr()) };
    }
}

/// Returns the address of page number `number`, and its symbol, if there are so many. May be called
/// anywhere, even while all other CPUs are stopped. A page that is added or freed changes the
/// numbers of others.
pub(crate) fn nth_page(
    number: usize,
    no_preempt: &PreemptOff,
) -> Option<(TextAddr, &'static [u8])> {
    let pages =
        |pool: &'static SlotPool| pool.table.iter(no_preempt).map(|page| (page.at, pool.name));
    Iterator::chain(pages(&COPIES), pages(&DETOURS)).nth(number)
}

/// Returns the number of pending slots: tasks may be in them.
pub(crate) fn pending() -> usize {
    let pending = |pool: &SlotPool| pool.pending.load(Ordering::Relaxed);
    pending(&COPIES).wrapping_add(pending(&DETOURS))
}

/// Frees unused pages, but keeps some. May wait: called outside of all locks.
///
/// Does not lock the CPUs: an unarmed probe may be unregistered while a CPU is hotplugged.
pub(crate) fn free_unused_pages() {
    let mut retired = Retired::new();
    COPIES.remove_unused_pages(&mut retired);
    DETOURS.remove_unused_pages(&mut retired);
}

/// Returns the probes whose handlers a detour calls.
///
/// # Safety
///
/// `word` is the word of a detour that this task is in.
#[inline(always)]
pub(crate) unsafe fn chain(word: *const AtomicUsize, _no_preempt: &PreemptOff) -> &Chain {
    // SAFETY: The page of the word is not freed while this task is in one of its detours.
    let chain = unsafe { &*word }.load(Ordering::Acquire);
    let chain = core::ptr::with_exposed_provenance::<Chain>(chain);
    // SAFETY: A chain is freed a grace period after the word has changed, and preemption is off.
    unsafe { &*chain }
}

/// Returns the original address if `at` is in a copy of an instruction.
pub(crate) fn original(at: TextAddr, no_preempt: &PreemptOff) -> Option<TextAddr> {
    let (origin, offset) = COPIES.first_word(at, no_preempt)?;
    let offset = offset % COPY_LEN as u64;
    Some(TextAddr::new((origin as u64).wrapping_add(offset)))
}

/// Returns the number of the slot that has `at` in its page, and the offset of `at` in the slot.
fn slot_and_offset(at: TextAddr) -> (usize, u64) {
    let index = at.get() as usize / SLOT_LEN % COUNT;
    (index, at.get() % SLOT_LEN as u64)
}

/// A page of slots.
///
/// # Invariants
///
/// `code` is a page from `execmem_alloc()` that this value frees.
pub(crate) struct Page {
    code: NonNull<c_void>,
    pool: &'static SlotPool,
    bits: Bits,
    /// Belongs to the caller of [`Page::call_rcu_tasks`], and then to Tasks RCU.
    callback: Opaque<bindings::callback_head>,
    /// The words of all slots, in order.
    words: KVec<AtomicUsize>,
}

// SAFETY: Changing fields are atomics, or the callback's head, which one task at a time uses.
unsafe impl Send for Page {}
// SAFETY: As for `Send`.
unsafe impl Sync for Page {}

impl Page {
    fn new(pool: &'static SlotPool) -> Result<Self, Refusal> {
        let mut words = KVec::new();
        for _ in 0..COUNT.wrapping_mul(pool.words) {
            words.push(AtomicUsize::new(0), GFP_KERNEL)?;
        }
        // SAFETY: The caller holds a mutex, so it may sleep.
        let code = unsafe { bindings::rust_kprobes_slot_page() };
        let code = NonNull::new(code).ok_or(Refusal::NoMemory)?;
        LOWEST.fetch_min(code.addr().get(), Ordering::Relaxed);
        HIGHEST.fetch_max(code.addr().get() | (PAGE_SIZE - 1), Ordering::Relaxed);
        // INVARIANT: `code` is such a page.
        Ok(Self {
            code,
            pool,
            bits: Bits::new(usize::MAX),
            callback: Opaque::uninit(),
            words,
        })
    }

    fn address(&self) -> TextAddr {
        TextAddr::new(self.code.addr().get() as u64)
    }

    /// Takes a free slot, for the instruction at `origin`.
    fn take(&self, origin: TextAddr) -> Option<Slot> {
        let index = self.bits.take()?;
        let word = self.words(index).first()?;
        word.store(origin.get() as usize, Ordering::Relaxed);
        let offset = index.wrapping_mul(SLOT_LEN) as u64;
        // INVARIANT: `bits.take` has returned this slot, so it is not free.
        Some(Slot {
            page: NonNull::from(self),
            at: TextAddr::new(self.address().get().wrapping_add(offset)),
        })
    }

    /// Returns the words of a slot.
    fn words(&self, index: usize) -> &[AtomicUsize] {
        let count = self.pool.words;
        let first = index.wrapping_mul(count);
        let words = self.words.get(first..first.wrapping_add(count));
        words.unwrap_or_default()
    }

    /// Gives back a slot in use: it is free, or pending if its code ends in a jump.
    fn give_back(&self, index: usize, ends_in_jump: bool) {
        let slot = 1_usize.wrapping_shl(index as u32);
        if !ends_in_jump {
            self.free_slots(slot);
            return;
        }
        self.pool.pending.fetch_add(1, Ordering::Relaxed);
        if self.bits.mark_pending(slot) {
            self.call_rcu_tasks();
        }
    }

    /// Makes slots free, which then belong to no instruction. The page may be freed during this.
    fn free_slots(&self, slots: usize) {
        let mut left = slots;
        while left != 0 {
            for word in self.words(left.trailing_zeros() as usize) {
                word.store(0, Ordering::Relaxed);
            }
            left &= left.wrapping_sub(1);
        }
        let pool = self.pool;
        if self.bits.mark_free(slots) {
            pool.has_unused.store(true, Ordering::Release);
        }
    }

    /// Calls [`tasks_rcu_callback`] after a grace period of Tasks RCU.
    fn call_rcu_tasks(&self) {
        let head = self.callback.get();
        // SAFETY: One caller at a time has the head, until the callback has run. The page is not
        // freed before that, as some of its slots are not free.
        unsafe { bindings::rust_kprobes_call_rcu_tasks(head, Some(tasks_rcu_callback)) };
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: By the invariant; all slots are free, so no CPU runs code of the page.
        unsafe { bindings::execmem_free(self.code.as_ptr()) };
    }
}

/// Frees the covered slots of a page, as its callback of Tasks RCU: no task is in them any more.
///
/// # Safety
///
/// `head` is in a [`Page`] that is not freed.
unsafe extern "C" fn tasks_rcu_callback(head: *mut bindings::callback_head) {
    // SAFETY: By the precondition; an `Opaque` has the layout of its value. The page is not freed
    // before the covered slots are free.
    let page = unsafe { &*kernel::container_of!(Opaque::cast_from(head), Page, callback) };
    let (covered, pending) = page.bits.end_grace_period();
    let count = covered.count_ones() as usize;
    page.pool.pending.fetch_sub(count, Ordering::Relaxed);
    if pending {
        page.call_rcu_tasks();
    }
    page.free_slots(covered);
    worker::wake();
}

/// A slot in use, which a prepared instruction or a detour owns. Dropping it gives the slot back.
/// Most points have a slot, so it is small.
///
/// # Invariants
///
/// Without the bit [`ENDS_IN_JUMP`], `page` is the address of a page, which is not freed, since
/// this slot of it is not free.
pub(crate) struct Slot {
    page: NonNull<Page>,
    at: TextAddr,
}

/// The bit of a page's address that says that code in the slot ends in a jump. A field of its own
/// would make [`Slot`], and so each probe point, a word larger.
const ENDS_IN_JUMP: usize = 1;
const _: () = assert!(align_of::<Page>() > ENDS_IN_JUMP);

// SAFETY: A slot is an address and a pointer to a `Page`, which is `Sync`.
unsafe impl Send for Slot {}
// SAFETY: What a shared slot changes are atomics of its page.
unsafe impl Sync for Slot {}

impl Slot {
    /// Returns the address of the first byte.
    #[inline(always)]
    pub(crate) fn at(&self) -> TextAddr {
        self.at
    }

    /// Returns the address of the second copy, which ends in a jump: C boosts the instruction.
    pub(crate) fn boosted_copy(&self) -> TextAddr {
        TextAddr::new(self.at.get().wrapping_add(COPY_LEN as u64))
    }

    /// Notes that code in the slot ends in a jump.
    pub(crate) fn set_ends_in_jump(&mut self) {
        // INVARIANT: Only the bit changes.
        self.page = self.page.map_addr(|page| page | ENDS_IN_JUMP);
    }

    /// Returns whether code in the slot ends in a jump.
    pub(crate) fn ends_in_jump(&self) -> bool {
        self.page.addr().get() & ENDS_IN_JUMP != 0
    }

    /// Replaces the address of the instruction by another word, which is not zero.
    pub(crate) fn set_first_word(&self, new: usize) {
        if let Some(word) = self.words().first() {
            word.store(new, Ordering::Relaxed);
        }
    }

    /// Returns the address of the word of a detour's slot that points to its chain: the probes
    /// whose handlers it calls. The word is not freed while a task is in the slot.
    pub(crate) fn chain_word(&self) -> Option<u64> {
        let word = core::ptr::from_ref(self.words().get(1)?);
        Some(word.expose_provenance() as u64)
    }

    /// Makes the detour call the handlers of these probes, or no handler.
    pub(crate) fn set_chain(&self, chain: Option<&Chain>) {
        let chain = core::ptr::from_ref(chain.unwrap_or(&EMPTY_CHAIN));
        if let Some(word) = self.words().get(1) {
            word.store(chain.expose_provenance(), Ordering::Release);
        }
    }

    fn words(&self) -> &[AtomicUsize] {
        let (index, _) = slot_and_offset(self.at);
        self.page().words(index)
    }

    fn page(&self) -> &Page {
        let page = self.page.as_ptr().map_addr(|page| page & !ENDS_IN_JUMP);
        // SAFETY: The page is not freed, by the invariant.
        unsafe { &*page }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let (index, _) = slot_and_offset(self.at);
        self.page().give_back(index, self.ends_in_jump());
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_slots)]
mod tests {
    use super::*;
    use kernel::time::{
        delay::fsleep,
        Delta, //
    };

    const PAGES: usize = 67;

    const ORIGIN: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    /// Takes `count` slots.
    fn take(pool: &'static SlotPool, count: usize) -> Result<KVec<Slot>, Refusal> {
        let mut slots = KVec::with_capacity(count, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        for _ in 0..count {
            let pushed = slots.push(pool.take(ORIGIN)?, GFP_KERNEL);
            pushed.map_err(|_| Refusal::NoMemory)?;
        }
        Ok(slots)
    }

    fn free_unused(pool: &SlotPool) {
        let mut retired = Retired::new();
        pool.remove_unused_pages(&mut retired);
        retired.wait();
    }

    fn pages(pool: &SlotPool) -> usize {
        pool.pages.lock().0.len()
    }

    fn has_unused(pool: &SlotPool) -> bool {
        pool.has_unused.load(Ordering::Relaxed)
    }

    /// Gives back the pages that are left.
    fn close(pool: &SlotPool) -> Result<(), Refusal> {
        let writer = &mut pool.pages.lock().0;
        let first = |writer: &Writer<Page>| writer.iter().next().map(|page| page.at);
        while let Some(base) = first(writer) {
            drop(writer.remove(base)?);
        }
        Ok(())
    }

    #[test]
    fn a_page_is_made_only_when_all_are_full() -> Result<(), Refusal> {
        static POOL: SlotPool = SlotPool::new(b"one\0", Writer::of(&POOL.table), 1, 1);
        let (first, second) = (take(&POOL, COUNT)?, take(&POOL, 1)?);
        assert_eq!(pages(&POOL), 2);
        drop(first);
        let more = take(&POOL, 2 * COUNT - 1)?;
        assert_eq!(pages(&POOL), 2);
        drop((second, more));
        free_unused(&POOL);
        assert_eq!(pages(&POOL), 1);
        close(&POOL)
    }

    #[test]
    fn pages_without_a_slot_in_use_are_given_back() -> Result<(), Refusal> {
        static POOL: SlotPool = SlotPool::new(b"two\0", Writer::of(&POOL.table), 2, 4);
        let many = PAGES * COUNT;
        let (some, kept) = (take(&POOL, many)?, take(&POOL, 1)?);
        free_unused(&POOL);
        assert_eq!(pages(&POOL), PAGES + 1);
        drop(some);
        assert!(has_unused(&POOL));
        free_unused(&POOL);
        assert_eq!(pages(&POOL), POOL.min_pages);
        assert!(!has_unused(&POOL));
        drop(kept);
        free_unused(&POOL);
        assert_eq!(pages(&POOL), POOL.min_pages);
        close(&POOL)
    }

    /// No probe is unregistered meanwhile.
    #[test]
    fn pages_that_were_left_by_jumps_are_given_back() -> Result<(), Refusal> {
        let most = pages(&COPIES).max(COPIES.min_pages) + 1;
        let mut many = take(&COPIES, PAGES * COUNT)?;
        many.iter_mut().for_each(Slot::set_ends_in_jump);
        drop(many);
        assert!(pages(&COPIES) > most);
        let mut left = 300;
        while pages(&COPIES) > most && left != 0 {
            left -= 1;
            fsleep(Delta::from_millis(100));
        }
        assert!(pages(&COPIES) <= most);
        Ok(())
    }
}
