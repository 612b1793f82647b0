// SPDX-License-Identifier: GPL-2.0

//! Values that one CPU changes while others read them.
//!
//! They are `core`'s and not the `kernel` crate's: those are calls into C that a probe could be on.

use core::sync::atomic::{
    AtomicBool,
    AtomicU32,
    AtomicU8,
    AtomicUsize,
    Ordering, //
};

/// A value that one CPU changes while any number read it.
pub(crate) trait Atomic<T> {
    /// One that nobody reads yet.
    fn new(value: T) -> Self;

    /// What it is.
    fn load(&self, order: Ordering) -> T;

    /// Changes it.
    fn store(&self, value: T, order: Ordering);
}

macro_rules! are_atomic {
    ($($atomic:ty: $value:ty),*) => {$(
        impl Atomic<$value> for $atomic {
            fn new(value: $value) -> Self {
                Self::new(value)
            }

            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                self.load(order)
            }

            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                self.store(value, order);
            }
        }
    )*};
}
are_atomic!(AtomicBool: bool, AtomicU8: u8, AtomicU32: u32, AtomicUsize: usize);
