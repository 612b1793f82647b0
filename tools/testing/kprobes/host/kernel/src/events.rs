// SPDX-License-Identifier: GPL-2.0

//! What has happened, in order.
//!
//! Between any two events there is a [moment](at_every_moment), for what other CPUs may do there.
//! What must never be so, such as text that changes without its lock, is written down as
//! [wrong](complaints); nothing panics here, as the callers are called by C.

use crate::base::*;

/// A lock, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    Registry,
    Cpus,
    Text,
    Slots,
    Returns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Locked(Lock),
    Unlocked(Lock),
    /// A copy of an instruction was written, so long.
    Copied(u64, usize),
    /// A breakpoint was written over an instruction.
    Broken(u64),
    /// An instruction was written over a breakpoint.
    Mended(u64),
    Detoured(u64),
    /// A jump was written over a breakpoint and what is behind it.
    Jumped(u64),
    /// What was behind a breakpoint before there was a jump is there again.
    Untailed(u64),
    /// All CPUs have seen what was written, and none is still in a trap from before.
    Synchronized,
    GracePeriod,
    /// A callback waits for tasks to be elsewhere.
    TasksAsked,
    TasksBegin,
    TasksOver,
    /// The worker is to begin a pass soon.
    Kicked,
    /// Ftrace calls us from there: the plain user, or the IPMODIFY user.
    FtraceAdded(u64, bool),
    /// Ftrace calls that one from there no more.
    FtraceRemoved(u64, bool),
    FtraceRegistered(bool),
    FtraceUnregistered(bool),
    /// Text was searched for branches, from the one address up to the other.
    Searched(u64, u64),
    Decoded(u64),
    PageCame(u64),
    PageFreed(u64),
    Freed(&'static str),
}

static HISTORY: Mutex<Vec<Event>> = Mutex::new(Vec::new());
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HELD: Mutex<Vec<Lock>> = Mutex::new(Vec::new());
static MOMENT: Mutex<Option<fn()>> = Mutex::new(None);
static IN_MOMENT: AtomicBool = AtomicBool::new(false);
static ALONE: Mutex<()> = Mutex::new(());

/// One test at a time has the kernel, which begins without a history.
pub fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    *MOMENT.lock().unwrap() = None;
    HELD.lock().unwrap().clear();
    history();
    complaints();
    perf::records();
    guard
}

/// What has happened since this was last asked.
pub fn history() -> Vec<Event> {
    core::mem::take(&mut *HISTORY.lock().unwrap())
}

pub fn latest() -> Option<Event> {
    HISTORY.lock().unwrap().last().copied()
}

/// What must not be so and was, since this was last asked.
pub fn complaints() -> Vec<String> {
    core::mem::take(&mut *WRONG.lock().unwrap())
}

pub fn wrong(what: String) {
    WRONG.lock().unwrap().push(what);
}

/// From now on `moment` is called before and after each event.
pub fn at_every_moment(moment: fn()) {
    *MOMENT.lock().unwrap() = Some(moment);
}

pub fn searched(text: Range<u64>) {
    note(Event::Searched(text.start, text.end));
}

pub fn decoded(function: u64) {
    note(Event::Decoded(function));
}

pub(crate) fn note(event: Event) {
    during(event, || ());
}

pub(crate) fn during<T>(event: Event, work: impl FnOnce() -> T) -> T {
    pass();
    check(event);
    let result = work();
    HISTORY.lock().unwrap().push(event);
    pass();
    result
}

/// The moment between two events. What happens in it is not an event.
fn pass() {
    let moment = *MOMENT.lock().unwrap();
    let Some(moment) = moment else { return };
    if !IN_MOMENT.swap(true, Ordering::Relaxed) {
        moment();
        IN_MOMENT.store(false, Ordering::Relaxed);
    }
}

/// What must hold for each event.
fn check(event: Event) {
    let mut held = HELD.lock().unwrap();
    let has = |lock| held.contains(&lock);
    let right = match event {
        Event::Locked(Lock::Text) => has(Lock::Cpus) && !has(Lock::Text),
        Event::Locked(lock) => held.iter().all(|&other| other < lock),
        Event::Unlocked(lock) => held.last() == Some(&lock),
        Event::Copied(..) | Event::Broken(_) | Event::Mended(_) => has(Lock::Text),
        Event::Detoured(_) | Event::Jumped(_) | Event::Untailed(_) => has(Lock::Text),
        // What somebody is writing is no instruction.
        Event::Searched(..) => has(Lock::Text),
        // That may take long, and needs others to go on.
        Event::TasksBegin | Event::TasksOver => held.is_empty(),
        Event::Kicked => true,
        Event::Synchronized => has(Lock::Cpus) && has(Lock::Text),
        // Each of these takes one of the inner locks, or waits for who may be waiting for it.
        Event::GracePeriod
        | Event::FtraceAdded(..)
        | Event::FtraceRemoved(..)
        | Event::FtraceRegistered(_)
        | Event::FtraceUnregistered(_) => held.iter().all(|&lock| lock == Lock::Registry),
        Event::Decoded(_) => has(Lock::Registry) && has(Lock::Text),
        Event::TasksAsked | Event::PageCame(_) | Event::PageFreed(_) | Event::Freed(_) => true,
    };
    match event {
        Event::Locked(lock) => held.push(lock),
        Event::Unlocked(lock) => {
            held.retain(|&other| other != lock);
            if lock == Lock::Text {
                perf::is_over();
            }
        }
        Event::Synchronized => text::all_have_seen(),
        _ => (),
    }
    if !right {
        wrong(format!("{event:?} with {held:?} held"));
    }
}
