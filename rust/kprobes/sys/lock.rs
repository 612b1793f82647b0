// SPDX-License-Identifier: GPL-2.0

//! The lock of the registry, and data that belongs to a lock.
//!
//! Who holds the registry's lock says which probes there are. The order of all locks, outermost
//! first: this one, the CPUs' read lock, `text_mutex` (both in [`text::Lock`](super::text::Lock)),
//! that of the slots ([`slots::Lock`](crate::slots::Lock)). A module's notifier takes this one
//! first, too; a hit takes none.

use core::{
    cell::UnsafeCell,
    marker::PhantomData, //
};
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that a lock is held, as a value.
///
/// # Safety
///
/// There is at most one value of the type at a time, in one task; what that task does while it
/// exists is ordered before what the next one's does.
pub(crate) unsafe trait Token {}

/// Evidence that the registry is ours to change.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_mutex` for this value.
pub(crate) struct Lock(NotThreadSafe);

// SAFETY: By its invariant: it is a mutex.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until nobody else changes the registry.
    pub(crate) fn new() -> Self {
        // SAFETY: A mutex of `abi.c` that is initialized at build time; the caller may sleep, as
        // all that register and unregister must.
        unsafe { bindings::mutex_lock(&raw mut bindings::rust_kprobes_mutex) };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::mutex_unlock(&raw mut bindings::rust_kprobes_mutex) };
    }
}

/// What only the holder of a lock may look at.
pub(crate) struct Guarded<T, L: Token>(UnsafeCell<T>, PhantomData<fn(L)>);

// SAFETY: `get` is the only way to the value, and there is one token to get it by. It may be
// changed by another task than the one that made it, as it is `Send`.
unsafe impl<T: Send, L: Token> Sync for Guarded<T, L> {}

impl<T, L: Token> Guarded<T, L> {
    /// A value that the lock guards.
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value), PhantomData)
    }

    /// The value, while the token is ours alone.
    pub(crate) fn get<'a>(&'a self, _lock: &'a mut L) -> &'a mut T {
        // SAFETY: There is no other token, and this one is borrowed mutably for as long as the
        // value is.
        unsafe { &mut *self.0.get() }
    }
}
