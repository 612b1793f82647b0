// SPDX-License-Identifier: GPL-2.0

//! Small types.

use core::{cell::UnsafeCell, marker::PhantomData, mem::MaybeUninit};

/// Makes what has it stay with its task.
pub type NotThreadSafe = PhantomData<*mut ()>;

#[expect(non_upper_case_globals, reason = "as in the kernel crate")]
pub const NotThreadSafe: NotThreadSafe = PhantomData;

/// What belongs to C.
#[repr(transparent)]
pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Opaque<T> {
    pub const fn uninit() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    pub fn get(&self) -> *mut T {
        self.0.get().cast()
    }

    /// What C calls `this`.
    pub fn cast_from(this: *const T) -> *const Self {
        this.cast()
    }
}
