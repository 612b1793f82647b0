// SPDX-License-Identifier: GPL-2.0

//! C's numbers for what went wrong.

use core::ffi::c_int;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(c_int);

impl Error {
    pub fn from_errno(errno: c_int) -> Self {
        Self(errno)
    }

    pub fn to_errno(self) -> c_int {
        self.0
    }
}

macro_rules! numbers {
    ($($name:ident = $number:literal),*) => {
        $(#[allow(missing_docs)] pub const $name: Error = Error(-$number);)*
    };
}
numbers!(
    ENOENT = 2,
    E2BIG = 7,
    EAGAIN = 11,
    ENOMEM = 12,
    EBUSY = 16,
    EEXIST = 17,
    EINVAL = 22,
    ERANGE = 34,
    EILSEQ = 84,
    EOPNOTSUPP = 95
);
