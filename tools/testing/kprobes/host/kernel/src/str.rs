// SPDX-License-Identifier: GPL-2.0

//! C's strings.

use crate::prelude::c_char;
use core::ffi::CStr;

pub trait CStrExt {
    /// The string that C has.
    ///
    /// # Safety
    ///
    /// `string` ends with NUL and stays as it is for `'a`.
    unsafe fn from_char_ptr<'a>(string: *const c_char) -> &'a Self;

    fn as_char_ptr(&self) -> *const c_char;
}

impl CStrExt for CStr {
    unsafe fn from_char_ptr<'a>(string: *const c_char) -> &'a Self {
        // SAFETY: By the precondition.
        unsafe { CStr::from_ptr(string.cast()) }
    }

    fn as_char_ptr(&self) -> *const c_char {
        self.as_ptr().cast()
    }
}
