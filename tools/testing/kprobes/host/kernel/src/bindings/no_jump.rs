// SPDX-License-Identifier: GPL-2.0

//! What a client is told who asks why its probe has no jump.

use crate::base::*;

pub type kprobe_no_jump_reason = c_uint;

pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_NEAR_END: c_uint = 1;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_DECODE: c_uint = 2;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_READ: c_uint = 3;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_INIT_TEXT: c_uint = 4;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_INDIRECT_JUMP: c_uint = 5;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_SPLIT_JUMP: c_uint = 6;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_JUMP_INTO: c_uint = 7;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_ENTERED: c_uint = 8;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_LABEL_TARGET: c_uint = 9;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_FIXUP_TARGET: c_uint = 10;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_FTRACE: c_uint = 11;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_JUMP_LABEL: c_uint = 12;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_STATIC_CALL: c_uint = 13;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_BUG: c_uint = 14;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_DEBUGGER: c_uint = 15;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_CALL_CHECK: c_uint = 16;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_MAY_FAULT: c_uint = 17;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_LANDING_PAD: c_uint = 18;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_SHORT_LOOP: c_uint = 19;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_INDIRECT_CALL: c_uint = 20;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_MOVE: c_uint = 21;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_TOO_FAR: c_uint = 22;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_NO_MEMORY: c_uint = 23;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_DETOURS_WAIT: c_uint = 24;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_POST_HANDLER: c_uint = 25;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_PROBE_INSIDE: c_uint = 26;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_SWITCHED_OFF: c_uint = 27;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_JPROBE: c_uint = 28;
pub const kprobe_no_jump_reason_KPROBE_NO_JUMP_MODULE_COMING: c_uint = 29;

#[repr(C)]
pub struct kprobe_no_jump {
    pub reason: kprobe_no_jump_reason,
    pub at: c_ulong,
    pub text: *const c_char,
}
