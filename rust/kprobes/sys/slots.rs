// SPDX-License-Identifier: GPL-2.0

//! Executable memory for copies of instructions, a slot for each.
//!
//! Pages of slots are found by address without a lock, since a trap must learn whose copy it came
//! from: they are in a table like that of the probed places, and each knows the origin of its
//! slots. Getting a slot takes the lock of the kernel's text, which writing to it takes anyway.
//!
//! Giving one back takes none. A slot that a CPU leaves by a trap is free at once: it is given back
//! only when no hit is being handled. One that a CPU leaves by itself *lingers*: a task can have
//! been preempted in it, and is counted out only by a grace period of Tasks RCU. Such slots are
//! handed to it a page at a time ([`slot`](crate::slot)). So there is never more garbage than pages,
//! nor more than one callback for each.
//!
//! Pages without a slot in use are given back, save one; see [`Pool::tidy`].
//!
//! C counterpart: `__get_insn_slot()` and its neighbours in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    slot::map::{
        Map,
        Then, //
    },
    sys::{
        preempt::Pinned,
        table::{
            Owned,
            Retired,
            Table,
            Writer, //
        }, //
    },
};
use core::{
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        AtomicU64,
        AtomicUsize,
        Ordering, //
    }, //
};
use kernel::{
    bindings,
    page::PAGE_SIZE,
    prelude::*,
    types::Opaque, //
};

/// Words for a set of a page's slots; no slot is shorter than 16 bytes.
const WORDS: usize = PAGE_SIZE / 16 / 64;

/// A page of slots.
///
/// # Invariants
///
/// `code` is a page from `execmem_alloc()` that this value frees.
pub(crate) struct Page {
    code: NonNull<c_void>,
    slot_len: usize,
    slots: Map<AtomicU64, AtomicBool, WORDS>,
    /// Belongs to who has been told to ask for a grace period, and then to Tasks RCU.
    callback: Opaque<bindings::callback_head>,
    /// Where the instructions of the slots come from, in order.
    origins: KVec<AtomicUsize>,
}

// SAFETY: What changes are atomics, and the callback's head, which one at a time may use.
unsafe impl Send for Page {}
// SAFETY: As above.
unsafe impl Sync for Page {}

impl Page {
    fn address(&self) -> TextAddr {
        TextAddr::new(self.code.addr().get() as u64)
    }

    fn new(slot_len: usize) -> Result<Self, Refusal> {
        let count = PAGE_SIZE / slot_len.max(16);
        let mut origins = KVec::new();
        for _ in 0..count {
            let origin = AtomicUsize::new(0);
            origins
                .push(origin, GFP_KERNEL)
                .map_err(|_| Refusal::NoMemory)?;
        }
        // SAFETY: The caller may sleep, as whoever registers a probe.
        let code =
            unsafe { bindings::execmem_alloc(bindings::execmem_type_EXECMEM_KPROBES, PAGE_SIZE) };
        // INVARIANT: It is, if it is not NULL.
        Ok(Self {
            code: NonNull::new(code).ok_or(Refusal::NoMemory)?,
            slot_len,
            slots: Map::new(count, AtomicU64::new, AtomicBool::new(false)),
            callback: Opaque::uninit(),
            origins,
        })
    }

    /// A free slot, for the instruction at `origin`.
    fn take(&self, origin: TextAddr) -> Option<usize> {
        let index = self.slots.take()?;
        self.origins
            .get(index)?
            .store(origin.get() as usize, Ordering::Relaxed);
        Some(index)
    }

    /// Where a slot is.
    fn slot(&self, index: usize) -> TextAddr {
        let offset = index.wrapping_mul(self.slot_len) as u64;
        TextAddr::new(self.address().get().wrapping_add(offset))
    }

    fn give_back(&self, index: usize, lingers: bool) {
        if lingers {
            self.follow_up(self.slots.leave(index));
        } else {
            self.forget(index);
            self.slots.free(index);
        }
    }

    /// A slot is nobody's copy any more.
    fn forget(&self, index: usize) {
        if let Some(origin) = self.origins.get(index) {
            origin.store(0, Ordering::Relaxed);
        }
    }

    fn follow_up(&self, then: Then) {
        if then == Then::Ask {
            let head = self.callback.get();
            // SAFETY: The head is ours until the callback has run, which finds the page there: it
            // has slots that are not free.
            unsafe { bindings::rust_kprobes_call_rcu_tasks(head, Some(expired)) };
        }
    }

    /// The instruction that the copy at `at` is of.
    fn origin(&self, at: TextAddr) -> Option<(TextAddr, u64)> {
        let offset = at.get().wrapping_sub(self.address().get()) as usize;
        let index = offset.checked_div(self.slot_len)?;
        let into = offset.checked_rem(self.slot_len)?;
        let origin = self.origins.get(index)?.load(Ordering::Relaxed);
        (origin != 0).then(|| (TextAddr::new(origin as u64), into as u64))
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
/// It is called with softirqs off, which a grace period of RCU waits for: a page that is found to be
/// unused meanwhile stays until this returns.
///
/// # Safety
///
/// `head` is in a [`Page`] that stays.
unsafe extern "C" fn expired(head: *mut bindings::callback_head) {
    // SAFETY: By the precondition; the field is laid out as what is in it.
    let page = unsafe { &*kernel::container_of!(Opaque::cast_from(head), Page, callback) };
    page.follow_up(page.slots.expired(|index| page.forget(index)));
}

/// A slot that is in use.
///
/// # Invariants
///
/// The page stays, since this slot of it is not free.
pub(crate) struct Slot {
    page: NonNull<Page>,
    at: TextAddr,
    index: usize,
    lingers: bool,
}

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
        self.lingers = true;
    }

    fn page(&self) -> &Page {
        // SAFETY: By the invariant.
        unsafe { self.page.as_ref() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.page().give_back(self.index, self.lingers);
    }
}

/// All slots of a back end.
pub(crate) struct Pool {
    pages: Writer<Page>,
    slot_len: usize,
}

impl Pool {
    /// No slots yet, of `slot_len` bytes each, a power of two not below 16.
    pub(crate) const fn new(table: &'static Table<Page>, slot_len: usize) -> Self {
        Self {
            pages: Writer::of(table),
            slot_len,
        }
    }

    /// A slot for the instruction at `origin`.
    pub(crate) fn take(&mut self, origin: TextAddr) -> Result<Slot, Refusal> {
        if let Some(slot) = self
            .pages
            .iter()
            .find_map(|(_, page)| slot_of(page, origin))
        {
            return Ok(slot);
        }
        let page = Page::new(self.slot_len)?;
        let base = page.address();
        self.pages.insert(Owned::new(base, page)?)?;
        announce(base, true);
        let page = self.pages.get(base);
        page.and_then(|page| slot_of(page, origin))
            .ok_or(Refusal::NoMemory)
    }

    /// Takes the pages out that nobody needs, save one.
    pub(crate) fn tidy(&mut self, retired: &mut Retired<Page>) {
        while self.pages.len() > 1 {
            let empty = self.pages.iter().find(|(_, page)| page.slots.is_unused());
            let Some((base, _)) = empty else {
                return;
            };
            announce(base, false);
            if let Ok(page) = self.pages.remove(base) {
                retired.push(page);
            }
        }
    }

    /// Where page number `number` is.
    pub(crate) fn page(&self, number: usize) -> Option<TextAddr> {
        self.pages.iter().nth(number).map(|(base, _)| base)
    }
}

fn slot_of(page: &Page, origin: TextAddr) -> Option<Slot> {
    // INVARIANT: It is not free any more.
    page.take(origin).map(|index| Slot {
        page: NonNull::from(page),
        at: page.slot(index),
        index,
        lingers: false,
    })
}

/// Tells perf that a page of slots has come, or is about to go.
fn announce(base: TextAddr, here: bool) {
    // SAFETY: Only tells the address and the length.
    unsafe { bindings::rust_kprobes_ksymbol(base.get() as usize, !here) };
}

/// Is there a slot at `at`?
pub(crate) fn covers(table: &Table<Page>, at: TextAddr, pinned: &Pinned) -> bool {
    page_of(table, at, pinned).is_some()
}

/// The instruction that the copy at `at` is of, and how far into it `at` is.
pub(crate) fn origin(
    table: &Table<Page>,
    at: TextAddr,
    pinned: &Pinned,
) -> Option<(TextAddr, u64)> {
    page_of(table, at, pinned)?.origin(at)
}

fn page_of<'a>(table: &'a Table<Page>, at: TextAddr, pinned: &'a Pinned) -> Option<&'a Page> {
    let base = at.get() & !(PAGE_SIZE as u64 - 1);
    table.find(TextAddr::new(base), pinned)
}
