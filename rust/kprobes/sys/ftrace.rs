// SPDX-License-Identifier: GPL-2.0

//! Probes on places that ftrace calls from.
//!
//! There are two users of ftrace here, `rust_kprobe_ftrace_ops[]` of `abi.c`, in whose name others
//! look for that of C's: one that only watches, and one that may change where the function goes on,
//! of which a function bears one (livepatches are others). A place remembers by which of them it is
//! hit, so that it leaves by the same, and whether the second is there only to keep others out.
//!
//! C counterpart: `arm_kprobe_ftrace()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::prelude::*;

/// What is known of each of the two.
#[cfg_attr(not(CONFIG_KPROBES_ON_FTRACE), expect(dead_code))]
pub(crate) struct Users {
    watching: User,
    changing: User,
}

/// A user of ftrace. It may be registered without a place, where ftrace would not let it go.
struct User {
    places: usize,
    registered: bool,
}

impl Users {
    /// No places.
    pub(crate) const NONE: Self = Self {
        watching: User::IDLE,
        changing: User::IDLE,
    };
}

impl User {
    const IDLE: Self = Self {
        places: 0,
        registered: false,
    };
}

#[cfg(CONFIG_KPROBES_ON_FTRACE)]
mod ops {
    use super::*;
    use kernel::bindings;

    impl Users {
        /// Lets ftrace call from `at`.
        pub(crate) fn add(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
            let user = self.user(changing);
            // The first one forgets what was left in the filter.
            filter(at, changing, Filter::Add(user.places == 0))?;
            if !user.registered {
                // SAFETY: Ops of `abi.c`, which stay, and are not registered.
                let status = unsafe { bindings::register_ftrace_function(ops(changing)) };
                if status < 0 {
                    // Taking out what was put in does not fail; if it did, nothing would follow,
                    // as nobody calls.
                    let _ = filter(at, changing, Filter::Remove);
                    return Err(Refusal::Ftrace(status));
                }
            }
            user.registered = true;
            user.places += 1;
            Ok(())
        }

        /// Lets ftrace call from `at` no more.
        ///
        /// If that is refused, ftrace goes on to call, as before.
        pub(crate) fn remove(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
            if killed() {
                return Ok(());
            }
            let user = self.user(changing);
            if user.places == 1 {
                // SAFETY: Ops of `abi.c`, which are registered, as there is a place.
                let status = unsafe { bindings::unregister_ftrace_function(ops(changing)) };
                if status < 0 {
                    return Err(Refusal::Ftrace(status));
                }
                user.registered = false;
            }
            user.places = user.places.saturating_sub(1);
            // What stays in the filter is called from for nothing: no place is found there.
            let _ = filter(at, changing, Filter::Remove);
            Ok(())
        }

        /// The same for a place that is to be no more, whatever ftrace says.
        ///
        /// If that is refused, ftrace goes on to call for nothing. It was the last place of its
        /// user, and stays in the filter: who has none there is called from everywhere. The next
        /// place of this user takes it out, and lets the user go with itself.
        pub(crate) fn give_up(&mut self, at: TextAddr, changing: bool) -> Result<(), Refusal> {
            let removed = self.remove(at, changing);
            if removed.is_err() {
                self.user(changing).places = 0;
            }
            removed
        }

        fn user(&mut self, changing: bool) -> &mut User {
            if changing {
                &mut self.changing
            } else {
                &mut self.watching
            }
        }
    }

    fn ops(changing: bool) -> *mut bindings::ftrace_ops {
        let first = (&raw mut bindings::rust_kprobe_ftrace_ops).cast::<bindings::ftrace_ops>();
        first.wrapping_add(usize::from(changing))
    }

    /// What becomes of the places that ftrace calls a user from.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Filter {
        /// One more; is it to be the only one?
        Add(bool),
        /// One less.
        Remove,
    }

    fn filter(at: TextAddr, changing: bool, change: Filter) -> Result<(), Refusal> {
        let (ops, at) = (ops(changing), at.get() as usize);
        let (remove, reset) = (change == Filter::Remove, change == Filter::Add(true));
        // SAFETY: Ops of `abi.c`, which stay; the function looks the address up.
        let status =
            unsafe { bindings::ftrace_set_filter_ip(ops, at, remove.into(), reset.into()) };
        if status < 0 {
            return Err(Refusal::Ftrace(status));
        }
        Ok(())
    }

    /// Has ftrace stopped for good?
    fn killed() -> bool {
        // SAFETY: A variable of `abi.c` that is only ever set, and that may be seen late.
        unsafe { (&raw const bindings::kprobe_ftrace_disabled).read_volatile() }
    }
}

#[cfg(not(CONFIG_KPROBES_ON_FTRACE))]
mod ops {
    use super::*;

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
}

/// Has the CPU that ftrace calls from `at`, which stays, somebody else's trampoline before it, with
/// a frame of its own, wherever it is told to go on?
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
pub(crate) fn leads_elsewhere(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    unsafe { kernel::bindings::rust_kprobes_has_trampoline(at.get() as usize) }
}

/// Is this very address the room for a call of ftrace?
#[cfg(CONFIG_DYNAMIC_FTRACE)]
pub(crate) fn calls_from(at: TextAddr) -> bool {
    // SAFETY: The function looks the address up.
    let found = unsafe { kernel::bindings::ftrace_location(at.get() as usize) };
    found as u64 == at.get()
}

/// Is this very address the room for a call of ftrace?
#[cfg(not(CONFIG_DYNAMIC_FTRACE))]
pub(crate) fn calls_from(_at: TextAddr) -> bool {
    false
}
