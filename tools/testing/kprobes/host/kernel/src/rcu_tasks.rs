// SPDX-License-Identifier: GPL-2.0

//! RCU of tasks: callbacks that wait until every task has been elsewhere.

use crate::bindings::callback_head;
use std::sync::Mutex;

type Callback = unsafe extern "C" fn(*mut callback_head);

struct Head(*mut callback_head, Callback);

// SAFETY: It is handed over for that.
unsafe impl Send for Head {}

static WAITING: Mutex<Vec<Head>> = Mutex::new(Vec::new());

/// One more waits.
pub(crate) fn wait(head: *mut callback_head, callback: Callback) {
    WAITING.lock().unwrap().push(Head(head, callback));
}

/// How many wait.
pub fn waiting() -> usize {
    WAITING.lock().unwrap().len()
}

/// A grace period is over for those that wait now.
pub fn grace_period() {
    let heads = core::mem::take(&mut *WAITING.lock().unwrap());
    for Head(head, callback) in heads {
        // SAFETY: Who handed it over wants it called so.
        unsafe { callback(head) };
    }
}
