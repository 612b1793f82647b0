// SPDX-License-Identifier: GPL-2.0

//! What a function gets, and what it returns, as a type.
//!
//! A register has as many bits as a pointer. What a function's declaration says of them is not
//! known here: who names a type says how many of the bits are the argument's, and how they are
//! read. A wrong type is a wrong number, and nothing worse: a pointer that is read here is a raw
//! one, and a bool is whatever is not zero.
//!
//! Integers of more bits than a register are not among the types where registers have 32 bits:
//! there they are in two of them, and which two depends on what comes before.

use crate::uaccess::UserPtr;

/// What fits into a register.
pub trait Argument: sealed::Sealed {
    /// Takes its bits out of `register`.
    fn from_register(register: usize) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Argument for $type {
            #[inline]
            fn from_register(register: usize) -> Self {
                // The upper bits of a register are nobody's.
                register as Self
            }
        }
    )*};
}

integers!(u8, u16, u32, usize, i8, i16, i32, isize);
#[cfg(CONFIG_64BIT)]
integers!(u64, i64);

impl sealed::Sealed for bool {}

impl Argument for bool {
    #[inline]
    fn from_register(register: usize) -> Self {
        u8::from_register(register) != 0
    }
}

impl<T> sealed::Sealed for *const T {}

impl<T> Argument for *const T {
    #[inline]
    fn from_register(register: usize) -> Self {
        core::ptr::with_exposed_provenance(register)
    }
}

impl<T> sealed::Sealed for *mut T {}

impl<T> Argument for *mut T {
    #[inline]
    fn from_register(register: usize) -> Self {
        core::ptr::with_exposed_provenance_mut(register)
    }
}

impl sealed::Sealed for UserPtr {}

impl Argument for UserPtr {
    #[inline]
    fn from_register(register: usize) -> Self {
        Self::from_addr(register)
    }
}
