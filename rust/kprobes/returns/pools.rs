// SPDX-License-Identifier: GPL-2.0

//! All [pools](super::pool), and the worker that makes them larger and frees them.

use super::*;

/// Evidence that this task has locked the pools.
///
/// # Invariants
///
/// This task has locked `rust_kprobes_returns_mutex` for this value.
struct Lock(NotThreadSafe);

// SAFETY: A mutex is locked by one task at a time, which the invariant says is this one.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until no other task has the lock. It is the innermost lock.
    fn new() -> Self {
        // SAFETY: A mutex of `returns.c` that is initialized at build time; the caller may sleep.
        unsafe { bindings::mutex_lock(&raw mut bindings::rust_kprobes_returns_mutex) };
        // INVARIANT: It was locked just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::mutex_unlock(&raw mut bindings::rust_kprobes_returns_mutex) };
    }
}

/// Pools.
///
/// # Invariants
///
/// Each is there as long as it is in the list.
struct Pools(KVVec<NonNull<Pool>>);

impl Pools {
    fn iter(&self) -> impl Iterator<Item = &Pool> {
        // SAFETY: By the invariant each pool is there.
        self.0.iter().map(|pool| unsafe { pool.as_ref() })
    }
}

// SAFETY: A pool does not belong to a task.
unsafe impl Send for Pools {}

/// All pools.
static POOLS: Guarded<Pools, Lock> = Guarded::new(Pools(KVVec::new()));

/// Adds a pool, which the worker frees.
///
/// # Safety
///
/// The pool came from a box, and is in no list.
pub(super) unsafe fn add(pool: NonNull<Pool>) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    // INVARIANT: By the precondition nobody but the worker frees the pool.
    let pushed = POOLS.get(&mut lock).0.push(pool, GFP_KERNEL);
    pushed.map_err(|_| Refusal::NoMemory)
}

/// Calls `work` with the pool of a probe, if that pool is at `pool` and has an owner. The client
/// may have written anything there: the pointer is only compared. `work` has the lock.
pub(super) fn with<T>(
    probe: &ReturnProbe,
    pool: *const Pool,
    work: impl FnOnce(&Pool) -> T,
) -> Option<T> {
    let is_it = |found: &&Pool| {
        core::ptr::eq(*found, pool) && found.probe == NonNull::from(probe) && !found.is_killed()
    };
    let mut lock = Lock::new();
    let pool = POOLS.get(&mut lock).iter().find(is_it);
    pool.map(work)
}

/// The worker: makes pools larger that asked for it, and frees those that are at their end.
pub(super) fn refill() {
    let mut waits = true;
    while waits {
        waits = false;
        let mut lock = Lock::new();
        POOLS.get(&mut lock).0.retain(|pool| {
            // SAFETY: By the invariant the pool is there.
            let (before, stage) = unsafe { pool.as_ref() }.tend();
            if stage == Stage::Gone {
                // SAFETY: The pool came from a box, and nobody uses it any more.
                drop(unsafe { KBox::from_raw(pool.as_ptr()) });
                return false;
            }
            waits |= stage != before;
            true
        });
        drop(lock);
        if waits {
            preempt::wait_for_all();
        }
    }
}

/// How many pools there are, and how many instances they have together.
pub(crate) fn counts() -> [usize; 2] {
    let mut lock = Lock::new();
    let pools = POOLS.get(&mut lock).iter();
    pools.fold([0; 2], |[pools, instances], pool| {
        [pools + 1, instances + pool.totals().all]
    })
}
