// SPDX-License-Identifier: GPL-2.0

//! What a client is told who asks why its probe has no jump.

use super::{
    clients,
    status, //
};
use crate::{
    life::optimize,
    model::{
        not_optimized::NotOptimized,
        refusal::Refusal, //
    },
};
use kernel::{
    bindings as c,
    prelude::*, //
};

/// # Safety
///
/// `p` is as for [`clients`], and `why` is the caller's.
#[export]
unsafe extern "C" fn kprobe_why_no_jump(p: *mut c::kprobe, why: *mut c::kprobe_no_jump) -> c_int {
    // SAFETY: By the precondition.
    let found = unsafe { clients(&p, 1) }.and_then(|one| match one {
        [Some(probe)] => optimize::why_not_of(probe),
        _ => Err(Refusal::NotRegistered),
    });
    match found {
        Ok(Some(reason)) => {
            // SAFETY: By the precondition.
            unsafe { why.write(told(reason)) };
            1
        }
        found => status(found.map(drop)),
    }
}

fn told(reason: NotOptimized) -> c::kprobe_no_jump {
    c::kprobe_no_jump {
        reason: number(reason),
        at: reason.at().map_or(0, |at| at.get() as c_ulong),
        text: reason.words().as_char_ptr(),
    }
}

fn number(reason: NotOptimized) -> c::kprobe_no_jump_reason {
    match reason {
        NotOptimized::NearEnd => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_NEAR_END,
        NotOptimized::CannotDecode(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_DECODE,
        NotOptimized::CannotRead(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_READ,
        NotOptimized::InitText => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_INIT_TEXT,
        NotOptimized::IndirectJump(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_INDIRECT_JUMP,
        NotOptimized::SplitJump => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_SPLIT_JUMP,
        NotOptimized::JumpInto(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_JUMP_INTO,
        NotOptimized::Entered(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_ENTERED,
        NotOptimized::LabelTarget(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_LABEL_TARGET,
        NotOptimized::FixupTarget(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_FIXUP_TARGET,
        NotOptimized::OfFtrace => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_FTRACE,
        NotOptimized::OfJumpLabel => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_JUMP_LABEL,
        NotOptimized::OfStaticCall => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_STATIC_CALL,
        NotOptimized::OfBug => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_BUG,
        NotOptimized::OfDebugger => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_OF_DEBUGGER,
        NotOptimized::CallCheck(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_CALL_CHECK,
        NotOptimized::MayFault(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_MAY_FAULT,
        NotOptimized::LandingPad(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_LANDING_PAD,
        NotOptimized::ShortLoop(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_SHORT_LOOP,
        NotOptimized::IndirectCall(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_INDIRECT_CALL,
        NotOptimized::CannotMove(_, _) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_MOVE,
        NotOptimized::TooFar(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_TOO_FAR,
        NotOptimized::NoMemory => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_NO_MEMORY,
        NotOptimized::DetoursWait => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_DETOURS_WAIT,
        NotOptimized::PostHandler => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_POST_HANDLER,
        NotOptimized::ProbeInside(_) => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_PROBE_INSIDE,
        NotOptimized::SwitchedOff => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_SWITCHED_OFF,
        NotOptimized::Jprobe => c::kprobe_no_jump_reason_KPROBE_NO_JUMP_JPROBE,
    }
}
