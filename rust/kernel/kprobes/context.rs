// SPDX-License-Identifier: GPL-2.0

//! Who may wait for others.
//!
//! To register, to unregister, to enable and to disable takes locks and waits for all CPUs. A
//! handler must not do that: it would wait for itself, or have the scheduler run where that breaks
//! what others rely on, among them the end of other registrations. So each of these operations
//! wants a [`ProcessContext`], which says that its caller may wait.
//!
//! # Why a handler has none
//!
//! The token is neither [`Send`] nor [`Sync`], so it stays with the thread that has it: no state of
//! a registration can keep one, no static, and nothing else that a handler gets at. A handler is
//! not given one either, so a call that wants one does not compile in it.
//!
//! What remains is that a handler makes one for itself. Types cannot tell the contexts of the
//! kernel apart in a function without arguments, and whatever argument would be asked for a handler
//! could get at as well. So [`ProcessContext::here`] looks, and refuses in a handler, and wherever
//! else one must not wait as far as the kernel knows. As somebody may also keep the token while he
//! takes a spinlock, each operation looks again.
//!
//! What is *dropped* cannot be refused by either; see [`registration`](super::registration).

use super::{
    Reason,
    Refused, //
};
use crate::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that the caller may wait for others: that he is no handler, holds no spinlock, and so
/// on.
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
    /// Says that this is a process context, or refuses with [`Reason::MayNotWait`].
    pub fn here() -> Result<Self, Refused> {
        let context = Self(NotThreadSafe);
        context.check()?;
        Ok(context)
    }

    /// Is it still so?
    pub(super) fn check(&self) -> Result<(), Refused> {
        if may_wait() {
            Ok(())
        } else {
            Err(Refused::because(Reason::MayNotWait))
        }
    }
}

/// May the caller wait for others?
//
// Not for modules to inline: what it calls is not exported.
#[inline(never)]
pub(super) fn may_wait() -> bool {
    // SAFETY: It has no preconditions.
    unsafe { bindings::rust_kprobes_may_block() }
}
