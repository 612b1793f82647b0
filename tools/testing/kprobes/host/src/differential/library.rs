// SPDX-License-Identifier: GPL-2.0

//! Shared libraries, opened when a test runs.
//!
//! So that the tests build where these libraries are not.

use super::*;

const RTLD_NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

pub(super) struct Library(*mut c_void);

impl Library {
    /// The library whose path the environment has under this name; none if it has none.
    pub(super) fn named_by(variable: &str) -> Option<Self> {
        let Ok(path) = env::var(variable) else {
            println!("left out: {variable} names no library");
            return None;
        };
        let name = CString::new(path.clone()).expect("a path");
        // SAFETY: A string; what the library does when it is opened is its own affair.
        let handle = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        assert!(!handle.is_null(), "{variable}: {path} does not open");
        Some(Self(handle))
    }

    /// The function with this name.
    ///
    /// # Safety
    ///
    /// `T` is its type.
    pub(super) unsafe fn function<T: Copy>(&self, name: &CStr) -> T {
        // SAFETY: The library is open, the name is a string.
        let place = unsafe { dlsym(self.0, name.as_ptr()) };
        assert!(!place.is_null(), "no {name:?}");
        assert_eq!(size_of::<T>(), size_of_val(&place));
        // SAFETY: A pointer to a function of that type, by the precondition.
        unsafe { std::mem::transmute_copy(&place) }
    }
}
