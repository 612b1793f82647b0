// SPDX-License-Identifier: GPL-2.0

//! Data that a mutex guards.
//!
//! The order of all locks, outermost first:
//!
//! 1. the mutex of the sysctl that allows jumps, in `abi.c`;
//! 2. the mutex of the registry, which the notifiers of modules lock first, too;
//! 3. `module_mutex`, the lock of jump labels, or ftrace's locks: one at a time, and released
//!    before the next lock is taken. The kernel may lock `text_mutex` under the last two;
//! 4. the CPUs' read lock, and under it `text_mutex`: [`text::Lock`](super::text::Lock);
//! 5. the mutex of the slots, or that of the pools of return probes.
//!
//! A hit takes no lock.
//!
//! C defines the mutexes with `DEFINE_MUTEX()`. `global_lock!` would be too late, as a client may
//! register a probe before our initcall has run.

use core::{
    cell::UnsafeCell,
    ops::{
        Deref,
        DerefMut, //
    }, //
};
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// A mutex of C.
///
/// # Invariants
///
/// The mutex is initialized at build time, and never freed.
pub(crate) struct Mutex(*mut bindings::mutex);

// INVARIANT: C defines each of them by `DEFINE_MUTEX()`.
impl Mutex {
    /// The mutex of the registry. Its owner may register and unregister probes.
    pub(crate) const REGISTRY: Self = Self(&raw mut bindings::rust_kprobes_mutex);

    /// The mutex of the slots. Its owner may take slots, and add and remove pages. On s390 it also
    /// guards the targets of EXRL.
    pub(crate) const SLOTS: Self = Self(&raw mut bindings::rust_kprobes_slots_mutex);

    /// The mutex of the pools of return probes. No other lock is taken under it.
    #[cfg(CONFIG_KRETPROBES)]
    pub(crate) const RETURNS: Self = Self(&raw mut bindings::rust_kprobes_returns_mutex);
}

/// A value that only the owner of a mutex may use. A mutex may guard several values.
pub(crate) struct Guarded<T>(Mutex, UnsafeCell<T>);

// SAFETY: Only the task that has locked the mutex uses the value. It may be another task than the
// one that made the value, as the value is `Send`.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Makes a value that the mutex guards.
    pub(crate) const fn new(mutex: Mutex, value: T) -> Self {
        Self(mutex, UnsafeCell::new(value))
    }

    /// Locks the mutex. The caller may sleep.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        // SAFETY: By the invariant of `Mutex` it is initialized. The caller may sleep, as all
        // functions that register and unregister may.
        unsafe { bindings::mutex_lock(self.0 .0) };
        // INVARIANT: The mutex was locked just now.
        Guard(self, NotThreadSafe)
    }
}

/// A value whose mutex is locked until the guard is dropped.
///
/// # Invariants
///
/// This task has locked the mutex for this guard.
pub(crate) struct Guard<'a, T>(&'a Guarded<T>, NotThreadSafe);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the invariant no other task uses the value.
        unsafe { &*self.0 .1.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the invariant no other task uses the value, and this task has one guard of it,
        // which is borrowed.
        unsafe { &mut *self.0 .1.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has locked the mutex.
        unsafe { bindings::mutex_unlock(self.0 .0 .0) };
    }
}
