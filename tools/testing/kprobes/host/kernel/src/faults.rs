// SPDX-License-Identifier: GPL-2.0

//! What the kernel is to refuse.

use crate::base::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Allocate,
    ExecutablePage,
    /// That ftrace calls from a place, or no more: the filter.
    FtraceFilter,
    FtraceRegister,
    FtraceUnregister,
}

/// What keeps jumps away for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A debugger's breakpoint in what the jump would be over.
    Debugger,
    /// One elsewhere in the function, over a part of an instruction.
    NoInsn,
    /// All the detours that wait for tasks.
    Detours,
}

static OBSTACLE: Mutex<Option<Obstacle>> = Mutex::new(None);

pub fn obstruct(by: Option<Obstacle>) {
    *OBSTACLE.lock().unwrap() = by;
}

pub fn obstacle() -> Option<Obstacle> {
    *OBSTACLE.lock().unwrap()
}

/// What is refused once so many of its kind were granted.
static PLANNED: Mutex<Option<(Call, usize)>> = Mutex::new(None);

/// The next `call` but `after` is refused, and that only.
pub fn refuse(call: Call, after: usize) {
    *PLANNED.lock().unwrap() = Some((call, after));
}

/// Nothing is refused; tells whether something was to be, and was not.
pub fn none() -> bool {
    PLANNED.lock().unwrap().take().is_some()
}

pub(crate) fn refuses(call: Call) -> bool {
    let mut planned = PLANNED.lock().unwrap();
    match &mut *planned {
        Some((which, after)) if *which == call => {
            if *after == 0 {
                *planned = None;
                return true;
            }
            *after -= 1;
            false
        }
        _ => false,
    }
}
