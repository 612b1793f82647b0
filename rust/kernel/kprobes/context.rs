// SPDX-License-Identifier: GPL-2.0

//! Contexts in which the caller may sleep.
//!
//! Registering, unregistering, enabling and disabling take locks and wait for all CPUs. A handler
//! must not do that: it would wait for itself, or call the scheduler where other code relies on
//! running without preemption, such as other registrations. So each of these operations takes a
//! [`ProcessContext`], which is evidence that its caller may sleep; only unregistering, which is a
//! drop, takes none.
//!
//! # Why a handler has no token
//!
//! The token is neither [`Send`] nor [`Sync`], so it stays with its thread: no registration's
//! state, no static, and no other value that a handler can use can keep one. A handler gets no
//! token as an argument, so a call that takes one does not compile in it.
//!
//! A handler could still make a token. Types cannot tell the kernel's contexts apart in a function
//! without arguments, and a handler could have any argument that the function asks for. So
//! [`ProcessContext::here`] checks the context, and refuses in a handler, and wherever else the
//! kernel knows that the caller must not sleep. A caller may also keep the token while it takes a
//! spinlock, so each operation checks again.
//!
//! Neither can refuse a *drop*; see [`registration`](super::registration).

use super::{
    Reason,
    Refused, //
};
use crate::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that the caller may sleep: it is no handler, holds no spinlock, and so on.
///
/// # Examples
///
/// ```
/// use kernel::kprobes::ProcessContext;
///
/// let here = ProcessContext::here()?;
/// # let _ = here;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct ProcessContext(NotThreadSafe);

impl ProcessContext {
    /// Returns the token in a process context, and otherwise refuses with [`Reason::MayNotWait`].
    pub fn here() -> Result<Self, Refused> {
        let context = Self(NotThreadSafe);
        context.check()?;
        Ok(context)
    }

    /// Checks that the caller may still sleep.
    pub(super) fn check(&self) -> Result<(), Refused> {
        if may_wait() {
            Ok(())
        } else {
            Err(Refused::because(Reason::MayNotWait))
        }
    }
}

/// Returns whether the caller may sleep.
//
// Not inlined into modules: the C function is not exported.
#[inline(never)]
pub(super) fn may_wait() -> bool {
    // SAFETY: The function has no preconditions.
    unsafe { bindings::rust_kprobes_may_block() }
}
