// SPDX-License-Identifier: GPL-2.0

//! All [stores](super::store) there are, which make a list.

use super::{
    probe::ReturnProbe,
    store::Store,
    wait_for_readers,
    Lock, //
};
use crate::sys::lock::Guarded;
use core::{
    ptr::NonNull,
    sync::atomic::Ordering, //
};

/// Stores.
///
/// # Invariants
///
/// Each is there as long as it is in the list, and in no other one.
struct List(*mut Store);

impl List {
    fn iter(&mut self) -> impl Iterator<Item = &Store> {
        // SAFETY: By the invariant, or NULL.
        let first = unsafe { self.0.as_ref() };
        // SAFETY: As before.
        core::iter::successors(first, |store| unsafe { store.next.as_ref() })
    }

    /// The one at an address, if there is one, and it is that probe's. The address is only
    /// compared: it may be anything.
    fn of(&mut self, probe: &ReturnProbe, store: *const Store) -> Option<&Store> {
        let ours = |found: &&Store| {
            core::ptr::eq(*found, store)
                && core::ptr::eq(found.probe, probe)
                && !found.account.is_left()
        };
        self.iter().find(ours)
    }

    /// Counts the calls of those that have waited, and moves those that are over to another list.
    fn move_over(&mut self, over: &mut Self) {
        let mut place = &raw mut self.0;
        // SAFETY: By the invariant.
        while let Some(store) = NonNull::new(unsafe { *place }) {
            // SAFETY: By the invariant.
            let this = unsafe { store.as_ref() };
            this.count();
            // SAFETY: By the invariant, and nobody else has it.
            let next = unsafe { &raw mut (*store.as_ptr()).next };
            if this.end.get().is_over(&this.account) {
                // INVARIANT: It goes from this list to the other one.
                // SAFETY: As before.
                unsafe { *place = *next };
                // SAFETY: As before.
                unsafe { *next = over.0 };
                over.0 = store.as_ptr();
            } else {
                place = next;
            }
        }
    }
}

// SAFETY: A store does not belong to a task.
unsafe impl Send for List {}

/// All stores.
static STORES: Guarded<List, Lock> = Guarded::new(List(core::ptr::null_mut()));

/// One more.
///
/// # Safety
///
/// It is there, in no list, and nobody else has it.
pub(super) unsafe fn add(store: NonNull<Store>) {
    let mut lock = Lock::new();
    let list = STORES.get(&mut lock);
    // SAFETY: By the precondition.
    unsafe { (*store.as_ptr()).next = list.0 };
    // INVARIANT: By the precondition.
    list.0 = store.as_ptr();
}

/// Does `work` with what is in store for a probe, if that is at `store`, which is for the client to
/// write as well; nobody else changes it meanwhile.
pub(super) fn with<T>(
    probe: &ReturnProbe,
    store: *const Store,
    work: impl FnOnce(&Store) -> T,
) -> Option<T> {
    let mut lock = Lock::new();
    STORES.get(&mut lock).of(probe, store).map(work)
}

/// Makes stores larger for which that was asked, and frees those that are over. For the worker
/// alone.
pub(crate) fn tend() {
    let mut lock = Lock::new();
    let mut waiting = false;
    for store in STORES.get(&mut lock).iter() {
        waiting |= store.is_to_wait();
    }
    drop(lock);
    if waiting {
        wait_for_readers();
    }
    let mut over = List(core::ptr::null_mut());
    let mut lock = Lock::new();
    STORES.get(&mut lock).move_over(&mut over);
    STORES.get(&mut lock).iter().for_each(Store::grow);
    drop(lock);
    if over.0.is_null() {
        return;
    }
    // Somebody may unwind a task that runs again, and look at its calls.
    wait_for_readers();
    while let Some(store) = NonNull::new(over.0) {
        // SAFETY: It is in our list alone.
        over.0 = unsafe { store.as_ref() }.next;
        // SAFETY: Its last call is over, and nobody looks at it.
        unsafe { Store::free(store) };
    }
}

/// How many stores there are, and for how many calls they have room.
pub(crate) fn counts() -> (usize, usize) {
    let mut lock = Lock::new();
    let stores = STORES.get(&mut lock).iter();
    stores.fold((0, 0), |(stores, calls), store| {
        (stores + 1, calls + store.all.load(Ordering::Relaxed))
    })
}
