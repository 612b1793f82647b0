// SPDX-License-Identifier: GPL-2.0

//! What a client is told who asks why its probe has no jump.

use crate::base::*;

pub type kprobe_no_jump_reason = c_uint;

pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_DECODE: c_uint = 2;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_DEBUGGER: c_uint = 15;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_DETOURS_WAIT: c_uint = 24;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_MODULE_COMING: c_uint = 29;

#[repr(C)]
pub struct kprobe_no_jump {
    pub reason: kprobe_no_jump_reason,
    pub at: c_ulong,
    pub text: *const c_char,
}
