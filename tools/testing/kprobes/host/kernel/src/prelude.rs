// SPDX-License-Identifier: GPL-2.0

//! What everybody imports.

pub use crate::{
    alloc::{KBox, KVVec, KVec, GFP_KERNEL},
    error::*,
    pr_err, pr_info, pr_warn,
    str::CStrExt,
};
pub use core::ffi::{c_int, c_long, c_uint, c_void, CStr};
pub use macros::export;

/// Types of which zeroes are a value.
///
/// # Safety
///
/// They are.
pub unsafe trait Zeroable {}

// SAFETY: It is a number.
unsafe impl Zeroable for usize {}
// SAFETY: They are numbers.
unsafe impl Zeroable for crate::bindings::pt_regs {}

/// The kernel's characters have no sign.
pub type c_char = u8;
/// As wide as a pointer.
pub type c_ulong = usize;
