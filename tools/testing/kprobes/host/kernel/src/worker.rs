// SPDX-License-Identifier: GPL-2.0

//! The worker that the kernel runs: here, when a test says so, or when somebody waits for it.

use crate::base::*;

static PASS: Mutex<Option<fn()>> = Mutex::new(None);
static KICKED: AtomicBool = AtomicBool::new(false);

pub fn does(pass: fn()) {
    *PASS.lock().unwrap() = Some(pass);
    KICKED.store(false, Relaxed);
}

/// It begins a pass, if it is to; tells whether it did.
pub fn run() -> bool {
    let pass = *PASS.lock().unwrap();
    let kicked = KICKED.swap(false, Relaxed);
    match pass {
        Some(pass) if kicked => pass(),
        _ => return false,
    }
    true
}

/// Queues a pass; tells whether none was queued.
pub(crate) fn kick() -> bool {
    !KICKED.swap(true, Relaxed)
}

pub(crate) fn flush() {
    if !run() {
        events::wrong("somebody waits for a pass that never comes".into());
    }
}
