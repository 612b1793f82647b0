// SPDX-License-Identifier: GPL-2.0

//! Which of our two users ftrace calls from where: the plain user, or the IPMODIFY user.

use crate::base::*;

/// Places, with the user that is called from there: whether it is the IPMODIFY user.
static FILTERS: Mutex<BTreeSet<(u64, bool)>> = Mutex::new(BTreeSet::new());
static REGISTERED: Mutex<[bool; 2]> = Mutex::new([false; 2]);

/// Whom ftrace calls, and from where.
pub fn calls() -> Vec<(u64, bool)> {
    let registered = *REGISTERED.lock().unwrap();
    let filters = FILTERS.lock().unwrap();
    let called = filters
        .iter()
        .filter(|(_, user)| registered[usize::from(*user)]);
    called.copied().collect()
}

pub fn clear() {
    FILTERS.lock().unwrap().clear();
    *REGISTERED.lock().unwrap() = [false; 2];
}

/// A user is to be called from a place, or no more; `reset`: and from nowhere else.
pub(crate) fn filter(at: u64, user: bool, on: bool, reset: bool) {
    let mut filters = FILTERS.lock().unwrap();
    if reset {
        filters.retain(|&(_, other)| other != user);
    }
    if on {
        filters.insert((at, user));
    } else if !filters.remove(&(at, user)) {
        events::wrong(format!(
            "ftrace is not to call from {at:#x}, which it does not"
        ));
    }
    if is_registered(user) && !filters.iter().any(|&(_, other)| other == user) {
        events::wrong("without a place, ftrace calls from everywhere".into());
    }
}

pub(crate) fn is_registered(user: bool) -> bool {
    REGISTERED.lock().unwrap()[usize::from(user)]
}

pub(crate) fn register(user: bool, on: bool) {
    REGISTERED.lock().unwrap()[usize::from(user)] = on;
}
