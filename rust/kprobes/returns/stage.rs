// SPDX-License-Identifier: GPL-2.0

//! The stages of a pool, from its owner's registration to its end.
//!
//! When a probe is unregistered, its pool is *killed*. A grace period later all CPUs see that, and
//! no hit takes an instance of the pool. After the bitmaps show that all instances are free, the
//! pool is freed another grace period later: until then, the CPU that gave back the last instance,
//! or an unwinder of a task whose call has ended, may use it.
//!
//! Only the bitmaps count. A CPU that gives an instance back checks whether the pool was killed,
//! and asks the worker if so. If the CPU sees no kill, its read-side section of RCU began before
//! the end of the first grace period, and the worker sees the instance.

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

/// A stage. The worker waits for a grace period after each change of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolStage {
    /// The pool has an owner.
    Owned,
    /// Hits do not find the pool any more.
    Killed,
    /// All instances are free.
    Unused,
    /// No CPU uses the pool: it can be freed.
    Gone,
}

impl PoolStage {
    /// Returns the next stage if it is reached, else this one.
    pub(crate) fn next(self, is_killed: bool, is_unused: impl FnOnce() -> bool) -> Self {
        match self {
            Self::Owned if is_killed => Self::Killed,
            Self::Killed if is_unused() => Self::Unused,
            Self::Owned | Self::Killed => self,
            Self::Unused | Self::Gone => Self::Gone,
        }
    }
}

#[cfg_attr(
    CONFIG_RUST_KPROBES_KUNIT_TEST,
    kernel::macros::kunit_tests(rust_kprobes_returns_stage)
)]
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_an_owner_stays() {
        assert_eq!(
            PoolStage::Owned.next(false, || unreachable!()),
            PoolStage::Owned
        );
        assert_eq!(
            PoolStage::Owned.next(true, || unreachable!()),
            PoolStage::Killed
        );
    }

    #[test]
    fn a_pool_stays_while_an_instance_is_in_use() {
        assert_eq!(PoolStage::Killed.next(true, || false), PoolStage::Killed);
        assert_eq!(PoolStage::Killed.next(true, || true), PoolStage::Unused);
        assert_eq!(
            PoolStage::Unused.next(true, || unreachable!()),
            PoolStage::Gone
        );
    }
}
