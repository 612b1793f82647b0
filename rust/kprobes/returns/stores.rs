// SPDX-License-Identifier: GPL-2.0

//! All [stores](super::store), in a list, and the worker that makes them larger and frees them.

use super::{
    probe::ReturnProbe,
    store::Store,
    Lock, //
};
use crate::{
    atomics::Ordering,
    sys::{
        lock::Guarded,
        preempt, //
    }, //
};
use core::ptr::NonNull;

/// Stores.
///
/// # Invariants
///
/// Each is there as long as it is in the list, and is in no other one.
struct List(*mut Store);

impl List {
    fn iter(&mut self) -> impl Iterator<Item = &Store> {
        // SAFETY: NULL, or a store that is there, by the invariant.
        let first = unsafe { self.0.as_ref() };
        // SAFETY: As for the first one.
        core::iter::successors(first, |store| unsafe { store.next.as_ref() })
    }

    /// The store at an address, if there is one and it is that probe's. The address may be
    /// anything: it is only compared.
    fn of(&mut self, probe: &ReturnProbe, store: *const Store) -> Option<&Store> {
        self.iter().find(|found| {
            core::ptr::eq(*found, store)
                && core::ptr::eq(found.probe, probe)
                && !found.refs.is_left()
        })
    }

    /// Moves the stores whose calls are all over to another list.
    fn move_over(&mut self, over: &mut Self) {
        let mut place = &raw mut self.0;
        // SAFETY: The place is the list's, or a store's that is in it.
        while let Some(store) = NonNull::new(unsafe { *place }) {
            // SAFETY: The store is in the list, so only we have its `next`.
            let next = unsafe { &raw mut (*store.as_ptr()).next };
            // SAFETY: The store is in the list, so it is there.
            if unsafe { store.as_ref() }.is_over() {
                // INVARIANT: It goes from this list to the other one.
                // SAFETY: Both places are of stores that are there.
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
    // SAFETY: It is there and nobody else has it, by the precondition.
    unsafe { (*store.as_ptr()).next = list.0 };
    // INVARIANT: It is there and in no other list, by the precondition.
    list.0 = store.as_ptr();
}

/// Does `work` with a probe's store, if that is at `store`, a pointer that the client may write.
/// Nobody else changes the store meanwhile.
pub(super) fn with<T>(
    probe: &ReturnProbe,
    store: *const Store,
    work: impl FnOnce(&Store) -> T,
) -> Option<T> {
    let mut lock = Lock::new();
    STORES.get(&mut lock).of(probe, store).map(work)
}

/// The worker: makes stores larger that asked for it, and frees those whose calls are all over.
pub(super) fn tend() {
    let mut lock = Lock::new();
    let stores = STORES.get(&mut lock).iter();
    let waiting = stores.filter(|store| store.refs.begins_to_wait()).count();
    drop(lock);
    if waiting != 0 {
        preempt::wait_for_all();
    }
    let mut over = List(core::ptr::null_mut());
    let mut lock = Lock::new();
    STORES.get(&mut lock).move_over(&mut over);
    STORES.get(&mut lock).iter().for_each(Store::grow);
    drop(lock);
    if over.0.is_null() {
        return;
    }
    // An unwinder of a task that runs again may still read its calls.
    preempt::wait_for_all();
    while let Some(store) = NonNull::new(over.0) {
        // SAFETY: The store is in our list alone, so it is there.
        over.0 = unsafe { store.as_ref() }.next;
        // SAFETY: Its calls are over, a grace period ago, and it is in no list any more.
        unsafe { Store::free(store) };
    }
}

/// How many stores there are, and how many instances they have together.
pub(crate) fn counts() -> (usize, usize) {
    let mut lock = Lock::new();
    let stores = STORES.get(&mut lock).iter();
    stores.fold((0, 0), |(stores, calls), store| {
        (stores + 1, calls + store.all.load(Ordering::Relaxed))
    })
}
