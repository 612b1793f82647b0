// SPDX-License-Identifier: GPL-2.0

//! What a handler reads behind a pointer.
//!
//! Where an argument leads nobody vouches for: the caller may have been given it by a program, and
//! what is there may go while the handler looks. So it is a number, and what is behind it is copied
//! by functions of C's that go on where nothing can be read. They take any address, and wait for
//! nobody: memory that would have to be brought in first counts as not there.
//!
//! A copy is bytes, of which others may have written some meanwhile. So it is taken for a type that
//! any bytes make a value of, [`FromBytes`].
//!
//! The user's memory is that of the task which has come to the probe. In an interrupt that is
//! whoever was interrupted.

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

/// Why nothing could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is no memory at the address, or none of that kind, or it would have to be brought in
    /// first.
    NotThere,
    /// The task is the kernel's own, and has no memory of a user.
    NoUser,
    /// The buffer has no room for the zero that ends a string.
    NoRoom,
}

impl Unreadable {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotThere => "there is nothing that could be read now",
            Self::NoUser => "the task is the kernel's own, and has no user's memory",
            Self::NoRoom => "the buffer is empty: give it a byte at least",
        }
    }

    /// What C's function has answered, for a length if it is not negative.
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
            /// A copy of what is in the kernel's memory at `from`, which need not be aligned, nor
            /// lead anywhere.
            ///
            /// It can be of any type that [`FromBytes`] can be derived for, such as the first
            /// members of a structure of C's. What is behind the address of a device's registers is
            /// read like all else.
            #[inline]
            pub fn read<T: FromBytes>(&self, from: *const T) -> Result<T, Unreadable> {
                let mut copy = MaybeUninit::<T>::uninit();
                // SAFETY: There is room for it.
                unsafe { kernel(copy.as_mut_ptr().cast(), from.cast(), size_of::<T>()) }?;
                // SAFETY: All its bytes were written, and any will do for a `FromBytes`.
                Ok(unsafe { copy.assume_init() })
            }

            /// As [`Self::read`], of the user's memory.
            #[inline]
            pub fn read_user<T: FromBytes>(&self, from: UserPtr) -> Result<T, Unreadable> {
                let mut copy = MaybeUninit::<T>::uninit();
                // SAFETY: There is room for it.
                unsafe { user(copy.as_mut_ptr().cast(), from, size_of::<T>()) }?;
                // SAFETY: All its bytes were written, and any will do for a `FromBytes`.
                Ok(unsafe { copy.assume_init() })
            }

            /// The string in the kernel's memory at `from`, or as much of it as there is room for,
            /// copied into `room`.
            ///
            /// The zero that ends it is there too, so it has at most one byte less than `room`. If
            /// it has as many as that, there may be more of it.
            #[inline]
            pub fn read_str<'b>(
                &self,
                from: *const c_char,
                room: &'b mut [u8],
            ) -> Result<&'b CStr, Unreadable> {
                let length = kernel_str(room, from)?;
                string(room, length)
            }

            /// As [`Self::read_str`], of the user's memory.
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

/// The string that has `length` bytes of `room`, its end among them.
#[inline]
fn string(room: &[u8], length: usize) -> Result<&CStr, Unreadable> {
    let bytes = room.get(..length).unwrap_or_default();
    // None has no end but that of no bytes.
    CStr::from_bytes_until_nul(bytes).map_err(|_| Unreadable::NoRoom)
}

// What is below is not for modules to inline: what it calls is not exported.

/// Copies `size` bytes from the kernel's memory.
///
/// # Safety
///
/// There is room for them at `to`.
#[inline(never)]
unsafe fn kernel(to: *mut c_void, from: *const c_void, size: usize) -> Result<(), Unreadable> {
    // SAFETY: It takes any address to read from; what it writes is the caller's to vouch for.
    Unreadable::unless(unsafe { bindings::copy_from_kernel_nofault(to, from, size) }).map(|_| ())
}

/// As [`kernel`], from the user's memory.
///
/// # Safety
///
/// There is room for them at `to`.
#[inline(never)]
unsafe fn user(to: *mut c_void, from: UserPtr, size: usize) -> Result<(), Unreadable> {
    let from = from.as_const_ptr();
    // SAFETY: It takes any address to read from; what it writes is the caller's to vouch for.
    Unreadable::unless(unsafe { bindings::rust_kprobes_read_user(to, from, size) }).map(|_| ())
}

/// Copies a string from the kernel's memory; its length, with its end.
#[inline(never)]
fn kernel_str(room: &mut [u8], from: *const c_char) -> Result<usize, Unreadable> {
    let (to, from, most) = (room.as_mut_ptr(), from.cast(), length(room));
    // SAFETY: It takes any address to read from, and writes as many bytes as there are at most.
    Unreadable::unless(unsafe { bindings::strncpy_from_kernel_nofault(to, from, most) })
}

/// As [`kernel_str`], from the user's memory.
#[inline(never)]
fn user_str(room: &mut [u8], from: UserPtr) -> Result<usize, Unreadable> {
    let (to, from, most) = (room.as_mut_ptr(), from.as_const_ptr(), length(room));
    // SAFETY: It takes any address to read from, and writes as many bytes as there are at most.
    Unreadable::unless(unsafe { bindings::rust_kprobes_read_user_str(to, from.cast(), most) })
}

/// How many bytes there are, for C.
fn length(room: &[u8]) -> c_long {
    // None has more than half of all that there are.
    c_long::try_from(room.len()).unwrap_or_default()
}
