// SPDX-License-Identifier: GPL-2.0

//! Registers by their names, for who knows what the compiler has in them at some instruction.

use crate::{
    bindings,
    prelude::*, //
};

/// A register of this machine.
///
/// Its name is looked up once, before there is a probe, and what was found goes into the state.
///
/// # Invariants
///
/// `offset` is what the kernel calls a register of its `struct pt_regs`.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Handler,
///         Hit,
///         Register, //
///     },
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     }, //
/// };
///
/// struct Look;
///
/// struct Seen {
///     register: Register,
///     last: Atomic<u64>,
/// }
///
/// impl Handler for Look {
///     type State = Seen;
///
///     fn before(seen: &Seen, hit: &Hit<'_>) {
///         seen.last.store(hit.register(seen.register), Relaxed);
///     }
/// }
///
/// # #[cfg(CONFIG_X86_64)]
/// assert!(Register::named(c"ax").is_some());
/// assert_eq!(Register::named(c"no_such_register"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    offset: u32,
}

impl Register {
    /// The one of this name, as probe events have it behind `%`: `ax` on x86-64, `gpr3` on powerpc,
    /// `r2` on s390, `r0` on arm.
    pub fn named(name: &CStr) -> Option<Self> {
        // SAFETY: It is a string, which is compared with others.
        let offset = unsafe { bindings::regs_query_register_offset(name.as_char_ptr()) };
        // INVARIANT: An error is negative; all else is a register's.
        let offset = u32::try_from(offset).ok()?;
        Some(Self { offset })
    }

    /// What the kernel calls it.
    #[inline]
    pub(super) fn offset(self) -> u32 {
        self.offset
    }
}
