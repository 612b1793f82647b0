// SPDX-License-Identifier: GPL-2.0

//! All [pools](super::pool), and the worker that grows and frees them.

use super::*;

/// A list of pools.
///
/// # Invariants
///
/// No pool in the list is freed.
struct Pools(KVVec<NonNull<Pool>>);

impl Pools {
    fn iter(&self) -> impl Iterator<Item = &Pool> {
        // SAFETY: By the invariant no pool in the list is freed.
        self.0.iter().map(|pool| unsafe { pool.as_ref() })
    }
}

// SAFETY: A pool does not belong to a task, so any task may use the list.
unsafe impl Send for Pools {}

/// All pools.
static POOLS: Guarded<Pools> = Guarded::new(Mutex::RETURNS, Pools(KVVec::new()));

/// Adds a pool, which the worker will free.
///
/// # Safety
///
/// The pool came from a box, and is in no list.
pub(super) unsafe fn add(pool: NonNull<Pool>) -> Result<(), Refusal> {
    // INVARIANT: By the precondition only the worker frees the pool.
    Ok(POOLS.lock().0.push(pool, GFP_KERNEL)?)
}

/// Calls `work` with the pool of a probe, if that pool is at `pool` and has an owner. The client
/// may have written any pointer: it is only compared. `work` runs with the lock held.
pub(super) fn with<T>(
    probe: &ReturnProbe,
    pool: *const Pool,
    work: impl FnOnce(&Pool) -> T,
) -> Option<T> {
    let is_it = |found: &&Pool| {
        core::ptr::eq(*found, pool) && found.probe == NonNull::from(probe) && !found.is_killed()
    };
    let pools = POOLS.lock();
    let pool = pools.iter().find(is_it);
    pool.map(work)
}

/// Runs the worker: grows the pools that asked for it, and frees the pools at their end.
pub(super) fn service() {
    let mut waits = true;
    while waits {
        waits = false;
        let mut pools = POOLS.lock();
        pools.0.retain(|pool| {
            // SAFETY: By the invariant no pool in the list is freed.
            let (before, stage) = unsafe { pool.as_ref() }.service();
            if stage == PoolStage::Gone {
                // SAFETY: The pool came from a box, and at the stage `Gone` no code uses it.
                drop(unsafe { KBox::from_raw(pool.as_ptr()) });
                return false;
            }
            waits |= stage != before;
            true
        });
        drop(pools);
        if waits {
            preempt::synchronize_rcu();
        }
    }
}

/// Returns the number of pools and the number of their instances.
pub(crate) fn counts() -> [usize; 2] {
    POOLS
        .lock()
        .iter()
        .fold([0; 2], |[pools, instances], pool| {
            [pools + 1, instances + pool.totals().all]
        })
}
