// SPDX-License-Identifier: GPL-2.0

//! What a client is told who asks why its probe has no jump.

use super::{
    clients,
    status, //
};
use crate::{
    optimize::reasons,
    prelude::*, //
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
        [Some(probe)] => reasons::why_no_jump(probe),
        _ => Err(Refusal::NotRegistered),
    });
    match found {
        Ok(Some(found)) => {
            // SAFETY: By the precondition `why` is the caller's, to be written to.
            unsafe { why.write(told(found)) };
            1
        }
        found => status(found.map(drop)),
    }
}

fn told(why: NotOptimized) -> c::kprobe_no_jump {
    c::kprobe_no_jump {
        reason: why.reason.code(),
        at: why.at.map_or(0, |at| at.get() as c_ulong),
        text: why.reason.words().as_char_ptr(),
    }
}
