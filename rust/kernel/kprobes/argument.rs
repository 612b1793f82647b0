// SPDX-License-Identifier: GPL-2.0

//! The types of a function's arguments and of its return value.
//!
//! A register has as many bits as a pointer. The types in a function's declaration are not known
//! here: the type in the handler says how many of the bits are the argument's, and how they are
//! read. A wrong type gives a wrong number, and nothing worse: pointers are read as raw pointers,
//! and a bool is true if it is not zero.
//!
//! A 64-bit integer is in two registers if registers have 32 bits. The registers depend on the
//! earlier arguments, so [`Arguments`] can read it, but its number alone does not suffice
//! ([`InRegister`]).
//!
//! [`Arguments`]: super::Arguments

use crate::uaccess::UserPtr;

/// A type of arguments and return values.
#[diagnostic::on_unimplemented(
    message = "no function of the kernel is given a `{Self}` that could be read",
    label = "not the type of an argument",
    note = "integers, `bool`, raw pointers and `UserPtr` are; \
            a reference is for who can vouch for what it leads to, \
            see `Hit::read()` for what is behind a pointer"
)]
pub trait Argument: sealed::Sealed {
    /// Makes a value of the lowest bits of `bits`.
    fn from_bits(bits: u64) -> Self;
}

/// A type that fits one register on this machine, or one word of the stack.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not in one register on this machine",
    label = "not the type of an argument in one register",
    note = "where registers have 32 bits, 64 are in two of them: see `Entry::arguments()`"
)]
pub trait InRegister: Argument {}

/// A type that a handler may have where the function's declaration has the type `P`.
///
/// That is the same type, or one of a few with the same bits: a const pointer for any pointer to
/// the same type, [`UserPtr`] for any pointer, and `*const c_void` for a pointer to a function.
#[diagnostic::on_unimplemented(
    message = "the function has a `{P}` where the handler has a `{Self}`",
    label = "not what the function's declaration has",
    note = "the types must be the same; `*const T` will do for `*mut T`, \
            `UserPtr` for any pointer, and `*const c_void` for a pointer to a function"
)]
pub trait StandsFor<P>: Argument {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Argument for $type {
            #[inline]
            fn from_bits(bits: u64) -> Self {
                // The bits above are undefined.
                bits as Self
            }
        }
    )*};
}

macro_rules! in_register {
    ($($type:ty),*) => {$(
        impl InRegister for $type {}
    )*};
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
in_register!(u8, u16, u32, usize, i8, i16, i32, isize, bool, UserPtr);
#[cfg(CONFIG_64BIT)]
in_register!(u64, i64);

impl sealed::Sealed for bool {}

impl Argument for bool {
    #[inline]
    fn from_bits(bits: u64) -> Self {
        u8::from_bits(bits) != 0
    }
}

impl<T> sealed::Sealed for *const T {}

impl<T> Argument for *const T {
    #[inline]
    fn from_bits(bits: u64) -> Self {
        core::ptr::with_exposed_provenance(usize::from_bits(bits))
    }
}

impl<T> InRegister for *const T {}

impl<T> sealed::Sealed for *mut T {}

impl<T> Argument for *mut T {
    #[inline]
    fn from_bits(bits: u64) -> Self {
        core::ptr::with_exposed_provenance_mut(usize::from_bits(bits))
    }
}

impl<T> InRegister for *mut T {}

impl sealed::Sealed for UserPtr {}

impl Argument for UserPtr {
    #[inline]
    fn from_bits(bits: u64) -> Self {
        Self::from_addr(usize::from_bits(bits))
    }
}

impl<T: Argument> StandsFor<T> for T {}

impl<T> StandsFor<*mut T> for *const T {}

impl<T> StandsFor<*const T> for UserPtr {}

impl<T> StandsFor<*mut T> for UserPtr {}

/// Bindings have a C function pointer as an `Option`, since it may be NULL.
impl<F> StandsFor<Option<F>> for *const crate::ffi::c_void {}
