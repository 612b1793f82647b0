// SPDX-License-Identifier: GPL-2.0

//! Reading memory behind a pointer in a handler.
//!
//! Nothing guarantees that an argument points to memory: the caller may have got it from a program,
//! and the memory may be freed while the handler reads. So the pointer is a number, and C functions
//! that handle faults copy the memory. They take any address and do not sleep: memory that would
//! have to be paged in counts as not there.
//!
//! A copy is bytes, some of which may have been written meanwhile. So its type must be valid for
//! any bytes, [`FromBytes`].
//!
//! User memory is the memory of the task that has hit the probe. In an interrupt that is the
//! interrupted task.

use super::Hit;
#[cfg(CONFIG_KRETPROBES)]
use super::Return;
use crate::{
    bindings,
    error::code,
    fmt,
    prelude::*,
    uaccess::UserPtr, //
};
use core::mem::MaybeUninit;

/// The reason why nothing could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// No memory, or no memory of that kind, is at the address, or it would have to be paged in.
    NotThere,
    /// The task is a kernel thread, and has no user memory.
    NoUser,
    /// The buffer has no room for the zero that ends a string.
    NoRoom,
}

impl Unreadable {
    /// Returns the reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotThere => "there is nothing that could be read now",
            Self::NoUser => "the task is the kernel's own, and has no user's memory",
            Self::NoRoom => "the buffer is empty: give it a byte at least",
        }
    }

    /// Converts the result of a C function: a length if it is not negative.
    fn unless(answer: isize) -> Result<usize, Self> {
        const NO_USER: isize = -(bindings::ESRCH as isize);

        usize::try_from(answer).map_err(|_| match answer {
            NO_USER => Self::NoUser,
            _ => Self::NotThere,
        })
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl From<Unreadable> for Error {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::NotThere => code::EFAULT,
            Unreadable::NoUser => code::ESRCH,
            Unreadable::NoRoom => code::EINVAL,
        }
    }
}

macro_rules! reads {
    ($($told:ident)*) => {$(
        impl $told<'_> {
            /// Returns a copy of the kernel's memory at `from`, which need not be aligned or valid.
            ///
            /// The copy can have any type that [`FromBytes`] can be derived for, such as the first
            /// members of a C structure. The registers of a device are read like memory.
            #[inline]
            pub fn read<T: FromBytes>(&self, from: *const T) -> Result<T, Unreadable> {
                let mut copy = MaybeUninit::<T>::uninit();
                // SAFETY: `copy` has room for a `T`.
                unsafe { kernel(copy.as_mut_ptr().cast(), from.cast(), size_of::<T>()) }?;
                // SAFETY: All its bytes were written, and any bytes are a valid `FromBytes`.
                Ok(unsafe { copy.assume_init() })
            }

            /// Returns a copy of user memory, as [`Self::read`] does.
            #[inline]
            pub fn read_user<T: FromBytes>(&self, from: UserPtr) -> Result<T, Unreadable> {
                let mut copy = MaybeUninit::<T>::uninit();
                // SAFETY: `copy` has room for a `T`.
                unsafe { user(copy.as_mut_ptr().cast(), from, size_of::<T>()) }?;
                // SAFETY: All its bytes were written, and any bytes are a valid `FromBytes`.
                Ok(unsafe { copy.assume_init() })
            }

            /// Returns the string in the kernel's memory at `from`, copied into `room`, or its
            /// beginning.
            ///
            /// `room` also has the zero at its end, so the string is at most one byte shorter than
            /// `room`. A string of this length may have been cut.
            #[inline]
            pub fn read_str<'b>(
                &self,
                from: *const c_char,
                room: &'b mut [u8],
            ) -> Result<&'b CStr, Unreadable> {
                let length = kernel_str(room, from)?;
                string(room, length)
            }

            /// Returns a string in user memory, as [`Self::read_str`] does.
            #[inline]
            pub fn read_user_str<'b>(
                &self,
                from: UserPtr,
                room: &'b mut [u8],
            ) -> Result<&'b CStr, Unreadable> {
                let length = user_str(room, from)?;
                string(room, length)
            }
        }
    )*};
}

reads!(Hit);
#[cfg(CONFIG_KRETPROBES)]
reads!(Return);

/// Returns the string in the first `length` bytes of `room`, which have its end.
#[inline]
fn string(room: &[u8], length: usize) -> Result<&CStr, Unreadable> {
    let bytes = room.get(..length).unwrap_or_default();
    // Only an empty buffer has no zero.
    CStr::from_bytes_until_nul(bytes).map_err(|_| Unreadable::NoRoom)
}

// The functions below are not inlined into modules: the C functions are not exported.

/// Copies `size` bytes from the kernel's memory.
///
/// # Safety
///
/// `to` has room for `size` bytes.
#[inline(never)]
unsafe fn kernel(to: *mut c_void, from: *const c_void, size: usize) -> Result<(), Unreadable> {
    // SAFETY: The function reads from any address; by the precondition it may write to `to`.
    Unreadable::unless(unsafe { bindings::copy_from_kernel_nofault(to, from, size) }).map(|_| ())
}

/// Copies `size` bytes from user memory, as [`kernel`] does.
///
/// # Safety
///
/// `to` has room for `size` bytes.
#[inline(never)]
unsafe fn user(to: *mut c_void, from: UserPtr, size: usize) -> Result<(), Unreadable> {
    let from = from.as_const_ptr();
    // SAFETY: The function reads from any address; by the precondition it may write to `to`.
    Unreadable::unless(unsafe { bindings::rust_kprobes_read_user(to, from, size) }).map(|_| ())
}

/// Copies a string from the kernel's memory. Returns its length with the zero.
#[inline(never)]
fn kernel_str(room: &mut [u8], from: *const c_char) -> Result<usize, Unreadable> {
    let (to, from, most) = (room.as_mut_ptr(), from.cast(), length(room));
    // SAFETY: The function reads from any address, and writes at most as many bytes as `room` has.
    Unreadable::unless(unsafe { bindings::strncpy_from_kernel_nofault(to, from, most) })
}

/// Copies a string from user memory, as [`kernel_str`] does.
#[inline(never)]
fn user_str(room: &mut [u8], from: UserPtr) -> Result<usize, Unreadable> {
    let (to, from, most) = (room.as_mut_ptr(), from.as_const_ptr(), length(room));
    // SAFETY: The function reads from any address, and writes at most as many bytes as `room` has.
    Unreadable::unless(unsafe { bindings::rust_kprobes_read_user_str(to, from.cast(), most) })
}

/// Returns the length of a buffer for C.
fn length(room: &[u8]) -> c_long {
    // No buffer is longer than half of the address space.
    c_long::try_from(room.len()).unwrap_or_default()
}
