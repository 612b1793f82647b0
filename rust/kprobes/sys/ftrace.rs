// SPDX-License-Identifier: GPL-2.0

//! Probe points that ftrace calls from.
//!
//! We have two ftrace users, `rust_kprobe_ftrace_ops[]` of `abi.c`: the plain user, and the
//! IPMODIFY user, which may change where the function continues (`FTRACE_OPS_FL_IPMODIFY`). ftrace
//! allows one IPMODIFY user at a function; a livepatch is one. A probe point remembers the user
//! that hits it, to be removed from this user later. It also remembers whether it was added to the
//! IPMODIFY user only to keep other IPMODIFY users away.
//!
//! C counterpart: `arm_kprobe_ftrace()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::flags::Armed;
use crate::prelude::*;
#[cfg(CONFIG_DYNAMIC_FTRACE)]
use kernel::bindings;
use kernel::prelude::*;

/// The two users.
pub(crate) struct Users {
    plain: User,
    ipmodify: User,
}

/// An ftrace user. It is registered without a probe point if ftrace refused to unregister it.
struct User {
    points: usize,
    registered: bool,
}

impl User {
    const EMPTY: Self = Self {
        points: 0,
        registered: false,
    };
}

impl Users {
    /// No probe points.
    pub(crate) const EMPTY: Self = Self {
        plain: User::EMPTY,
        ipmodify: User::EMPTY,
    };

    /// Returns the user that a point is armed by.
    fn user(&mut self, armed: Armed) -> &mut User {
        match armed {
            Armed::FtraceIpmodify => &mut self.ipmodify,
            _ => &mut self.plain,
        }
    }
}

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
impl Users {
    /// Lets ftrace call the user of `armed` from `at`.
    pub(crate) fn add(&mut self, at: TextAddr, armed: Armed) -> Result<(), Refusal> {
        let user = self.user(armed);
        // The first probe point resets an old filter.
        filter(at, armed, false, user.points == 0)?;
        if !user.registered {
            // SAFETY: The ops are variables of `abi.c`, never freed, and not registered yet.
            check(unsafe { bindings::register_ftrace_function(ops(armed)) })?;
        }
        user.registered = true;
        user.points += 1;
        Ok(())
    }

    /// Stops the calls of ftrace from `at`. If ftrace refuses, its calls continue as before.
    ///
    /// With `must`, the probe point will be removed in any case. If ftrace refuses then, the calls
    /// continue and find no probe point, and the address stays in the user's filter. If it was the
    /// last point, the user stays registered. When the user gets its next point, the filter is
    /// reset; when it loses that point, it is unregistered.
    pub(crate) fn remove(&mut self, at: TextAddr, armed: Armed, must: bool) -> Result<(), Refusal> {
        // SAFETY: All writers of this variable of `abi.c` write one value; readers may see it late.
        if unsafe { (&raw const bindings::kprobe_ftrace_disabled).read_volatile() } {
            return Ok(());
        }
        let user = self.user(armed);
        let removed = if user.points == 1 {
            // SAFETY: The ops are variables of `abi.c`, and are registered, as there is a point.
            check(unsafe { bindings::unregister_ftrace_function(ops(armed)) })
                .inspect(|()| user.registered = false)
        } else {
            filter(at, armed, true, false)
        };
        if removed.is_ok() || must {
            user.points = user.points.saturating_sub(1);
        }
        removed
    }
}

#[cfg(not(CONFIG_KPROBES_ON_FTRACE))]
impl Users {
    pub(crate) fn add(&mut self, _at: TextAddr, _armed: Armed) -> Result<(), Refusal> {
        Err(Refusal::FtraceOnly)
    }

    pub(crate) fn remove(&mut self, _: TextAddr, _: Armed, _must: bool) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
fn ops(armed: Armed) -> *mut bindings::ftrace_ops {
    let first = (&raw mut bindings::rust_kprobe_ftrace_ops).cast::<bindings::ftrace_ops>();
    first.wrapping_add(usize::from(armed == Armed::FtraceIpmodify))
}

fn check(status: c_int) -> Result<(), Refusal> {
    match status {
        0.. => Ok(()),
        _ => Err(Refusal::Ftrace(status)),
    }
}

/// Adds an address to the filter of a user, or removes it. With `reset`, the other addresses are
/// removed first.
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
fn filter(at: TextAddr, armed: Armed, remove: bool, reset: bool) -> Result<(), Refusal> {
    let (ops, at) = (ops(armed), at.get() as usize);
    // SAFETY: The ops are variables of `abi.c` and are never freed; ftrace looks the address up.
    check(unsafe { bindings::ftrace_set_filter_ip(ops, at, remove.into(), reset.into()) })
}

/// Returns whether ftrace calls another user's trampoline from `at`. That trampoline has a stack
/// frame, and runs before the CPU continues at the address in the registers.
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) fn has_other_trampoline(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    unsafe { bindings::rust_kprobes_has_trampoline(at.get() as usize) }
}

/// Returns whether a call of ftrace, or the room for one, starts at `at`.
#[cfg(CONFIG_DYNAMIC_FTRACE)]
pub(crate) fn calls_from(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    let found = unsafe { bindings::ftrace_location(at.get() as usize) };
    found as u64 == at.get()
}

/// Returns whether a call of ftrace, or the room for one, starts at `at`.
#[cfg(not(CONFIG_DYNAMIC_FTRACE))]
pub(crate) fn calls_from(_at: TextAddr) -> bool {
    false
}
