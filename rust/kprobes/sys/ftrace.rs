// SPDX-License-Identifier: GPL-2.0

//! Probe points that ftrace calls from.
//!
//! There are two ftrace users here, `rust_kprobe_ftrace_ops[]` of `abi.c`: one that only watches,
//! and one that may change where the function goes on (`FTRACE_OPS_FL_IPMODIFY`), of which ftrace
//! allows one at a function; livepatches are others. A probe point remembers by which of the two
//! users it is hit, so that it leaves the same one, and whether it has the second one only to keep
//! others out.
//!
//! C counterpart: `arm_kprobe_ftrace()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::prelude::*;
#[cfg(CONFIG_DYNAMIC_FTRACE)]
use kernel::bindings;
use kernel::prelude::*;

/// The two users.
pub(crate) struct Users {
    watching: User,
    changing: User,
}

/// An ftrace user. It may be registered without a probe point, if ftrace refused to unregister it.
struct User {
    points: usize,
    registered: bool,
}

impl User {
    const IDLE: Self = Self {
        points: 0,
        registered: false,
    };
}

impl Users {
    /// No probe points.
    pub(crate) const NONE: Self = Self {
        watching: User::IDLE,
        changing: User::IDLE,
    };

    fn user(&mut self, changing: bool) -> &mut User {
        if changing {
            &mut self.changing
        } else {
            &mut self.watching
        }
    }
}

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
impl Users {
    /// Lets ftrace call from `at`.
    pub(crate) fn add(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
        let user = self.user(changing);
        // The first probe point resets a filter that was left.
        filter(at, changing, false, user.points == 0)?;
        if !user.registered {
            // SAFETY: The ops are those of `abi.c`, which stay, and are not registered.
            let status = unsafe { bindings::register_ftrace_function(ops(changing)) };
            if let Err(refusal) = check(status) {
                // Removing what was added does not fail; if it did, ftrace would still not call,
                // as the user is not registered.
                let _ = filter(at, changing, true, false);
                return Err(refusal);
            }
        }
        user.registered = true;
        user.points += 1;
        Ok(())
    }

    /// Lets ftrace call from `at` no more. If ftrace refuses, it goes on to call as before.
    pub(crate) fn remove(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
        // SAFETY: A variable of `abi.c` that is only ever set, and that may be seen late.
        if unsafe { (&raw const bindings::kprobe_ftrace_disabled).read_volatile() } {
            return Ok(());
        }
        let user = self.user(changing);
        if user.points == 1 {
            // SAFETY: The ops are those of `abi.c`, which are registered, as there is a point.
            check(unsafe { bindings::unregister_ftrace_function(ops(changing)) })?;
            user.registered = false;
        }
        user.points = user.points.saturating_sub(1);
        // If it fails, ftrace calls for nothing: the handler finds no probe point.
        let _ = filter(at, changing, true, false);
        Ok(())
    }

    /// The same for a probe point that goes, whatever ftrace says.
    ///
    /// If ftrace refuses, it goes on to call for nothing. The probe point was the last one of its
    /// user, and stays in the filter, as ftrace calls a user without a filter from everywhere. The
    /// next probe point of this user resets the filter, and the user is unregistered with it.
    pub(crate) fn give_up(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
        let removed = self.remove(at, changing);
        if removed.is_err() {
            self.user(changing).points = 0;
        }
        removed
    }
}

#[cfg(not(CONFIG_KPROBES_ON_FTRACE))]
impl Users {
    pub(crate) fn add(&mut self, _at: TextAddr, _changing: bool) -> Result<(), Refusal> {
        Err(Refusal::FtraceOnly)
    }

    pub(crate) fn remove(&mut self, _at: TextAddr, _changing: bool) -> Result<(), Refusal> {
        Ok(())
    }

    pub(crate) fn give_up(&mut self, _at: TextAddr, _changing: bool) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
fn ops(changing: bool) -> *mut bindings::ftrace_ops {
    let first = (&raw mut bindings::rust_kprobe_ftrace_ops).cast::<bindings::ftrace_ops>();
    first.wrapping_add(usize::from(changing))
}

fn check(status: c_int) -> Result<(), Refusal> {
    match status {
        0.. => Ok(()),
        _ => Err(Refusal::Ftrace(status)),
    }
}

/// Adds an address to the filter of a user, or removes it; with `reset`, it is the only address
/// then.
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
fn filter(at: TextAddr, changing: bool, remove: bool, reset: bool) -> Result<(), Refusal> {
    let (ops, at) = (ops(changing), at.get() as usize);
    // SAFETY: The ops are those of `abi.c`, which stay; the function looks the address up.
    check(unsafe { bindings::ftrace_set_filter_ip(ops, at, remove.into(), reset.into()) })
}

/// Does ftrace call another user's trampoline from `at`, with a frame of its own, before the CPU
/// goes on where the registers say?
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) fn leads_elsewhere(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    unsafe { bindings::rust_kprobes_has_trampoline(at.get() as usize) }
}

/// Does a call of ftrace stand, or have room, at this very address?
#[cfg(CONFIG_DYNAMIC_FTRACE)]
pub(crate) fn calls_from(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    let found = unsafe { bindings::ftrace_location(at.get() as usize) };
    found as u64 == at.get()
}

/// Does a call of ftrace stand, or have room, at this very address?
#[cfg(not(CONFIG_DYNAMIC_FTRACE))]
pub(crate) fn calls_from(_at: TextAddr) -> bool {
    false
}
