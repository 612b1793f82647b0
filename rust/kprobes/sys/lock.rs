// SPDX-License-Identifier: GPL-2.0

//! The lock of the registry, and data that belongs to a lock.
//!
//! The owner of the registry's lock may register and unregister probes. The order of all locks,
//! outermost first: this one, the CPUs' read lock and `text_mutex` (both in
//! [`text::Lock`](super::text::Lock)), the lock of the slots
//! ([`slots::Lock`](crate::slots::Lock)). The notifiers of modules take this lock first, too; a hit
//! takes no lock.
//!
//! The mutex is a `DEFINE_MUTEX()` of C, and no `global_lock!`, as a client may register a probe
//! before our initcall has run.

use core::{
    cell::UnsafeCell,
    marker::PhantomData, //
};
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// A type whose values are evidence that a lock is held.
///
/// # Safety
///
/// There is at most one value of the type at a time, in one task; what that task does while it
/// exists is ordered before what the next one's does.
pub(crate) unsafe trait Token {}

/// Evidence that only the owner of this value may change the registry.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_mutex` for this value.
pub(crate) struct Lock(NotThreadSafe);

// SAFETY: By the invariant of `Lock` a mutex is held as long as the value is there.
unsafe impl Token for Lock {}

impl Lock {
    /// Locks the registry.
    pub(crate) fn new() -> Self {
        // SAFETY: The mutex of `abi.c` is initialized at build time; the caller may sleep, as all
        // functions that register and unregister may.
        unsafe { bindings::mutex_lock(&raw mut bindings::rust_kprobes_mutex) };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has locked the mutex.
        unsafe { bindings::mutex_unlock(&raw mut bindings::rust_kprobes_mutex) };
    }
}

/// Data that only the owner of a lock may use.
pub(crate) struct Guarded<T, L: Token>(UnsafeCell<T>, PhantomData<fn(L)>);

// SAFETY: `get` is the only access to the value, and there is at most one token to call it with.
// Another task than the one that made the value may change it, as it is `Send`.
unsafe impl<T: Send, L: Token> Sync for Guarded<T, L> {}

impl<T, L: Token> Guarded<T, L> {
    /// A value that the lock guards.
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value), PhantomData)
    }

    /// The value, while the lock is held.
    pub(crate) fn get<'a>(&'a self, _lock: &'a mut L) -> &'a mut T {
        // SAFETY: By the contract of `Token` there is no other token, and this one is borrowed
        // mutably for as long as the value is.
        unsafe { &mut *self.0.get() }
    }
}
