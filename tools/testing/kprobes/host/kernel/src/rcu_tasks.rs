// SPDX-License-Identifier: GPL-2.0

//! RCU of tasks: callbacks that wait until every task has been elsewhere.

use crate::base::*;

type Callback = unsafe extern "C" fn(*mut callback_head);

struct Head(*mut callback_head, Callback);

// SAFETY: It is handed over for that.
unsafe impl Send for Head {}

static WAITING: Mutex<Vec<Head>> = Mutex::new(Vec::new());

/// A task that was put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    at: u64,
    /// Where it comes to when it leaves that.
    then: u64,
}

/// The tasks that are put aside, in the order in which they were.
static ASIDE: Mutex<Vec<Task>> = Mutex::new(Vec::new());

/// The detours that are freed when no task is in them.
static DETOURS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// What others do while somebody waits for tasks.
static MEANWHILE: Mutex<Option<fn()>> = Mutex::new(None);

/// A task is put aside at an address, from which it comes to another one.
pub fn put_aside(at: u64, then: u64) {
    let (task, mut aside) = (Task { at, then }, ASIDE.lock().unwrap());
    if !aside.contains(&task) {
        aside.push(task);
    }
}

/// Is a task put aside in there, or does one come there from where it is?
pub(crate) fn is_anybody_in(text: Range<u64>) -> bool {
    let aside = ASIDE.lock().unwrap();
    aside
        .iter()
        .any(|task| text.contains(&task.at) || text.contains(&task.then))
}

pub fn aside() -> usize {
    ASIDE.lock().unwrap().len()
}

/// The detour in a page is freed when no task is in it any more.
pub fn free_detour(page: u64) {
    events::during(Event::TasksAsked, || DETOURS.lock().unwrap().push(page));
}

/// What others do the next time that somebody waits for tasks.
pub fn meanwhile(work: fn()) {
    *MEANWHILE.lock().unwrap() = Some(work);
}

/// Waits for those that are put aside when it begins.
pub(crate) fn synchronize() {
    let count = events::during(Event::TasksBegin, aside);
    let meanwhile = MEANWHILE.lock().unwrap().take();
    if let Some(work) = meanwhile {
        work();
    }
    events::during(Event::TasksOver, || {
        ASIDE.lock().unwrap().drain(..count);
    });
}

pub(crate) fn wait(head: *mut callback_head, callback: Callback) {
    WAITING.lock().unwrap().push(Head(head, callback));
}

pub fn waiting() -> usize {
    WAITING.lock().unwrap().len() + DETOURS.lock().unwrap().len()
}

/// A grace period is over for those that wait now.
pub fn grace_period() {
    ASIDE.lock().unwrap().clear();
    let heads = core::mem::take(&mut *WAITING.lock().unwrap());
    let detours = core::mem::take(&mut *DETOURS.lock().unwrap());
    detours.into_iter().for_each(text::free_page);
    for Head(head, callback) in heads {
        // SAFETY: Who handed it over wants it called so.
        unsafe { callback(head) };
    }
}
