// SPDX-License-Identifier: GPL-2.0

//! Registers by their names, for handlers that know which values the compiler keeps in them.

use crate::{
    bindings,
    prelude::*, //
};

/// A register of this machine.
///
/// Its name is looked up once, before the probe is registered, and the result is kept in the state.
///
/// # Invariants
///
/// `offset` is the offset of a register in the kernel's `struct pt_regs`.
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
///     last: Atomic<usize>,
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
    /// Returns the register of this name, as probe events have it after `%`: `ax` on x86-64, `gpr3`
    /// on powerpc, `r2` on s390, `r0` on arm.
    pub fn named(name: &CStr) -> Option<Self> {
        // SAFETY: The name is a string, which is only compared.
        let offset = unsafe { bindings::regs_query_register_offset(name.as_char_ptr()) };
        // INVARIANT: An error is negative; all other values are offsets of registers.
        let offset = u32::try_from(offset).ok()?;
        Some(Self { offset })
    }

    /// Returns the offset of the register.
    #[inline]
    pub(super) fn offset(self) -> u32 {
        self.offset
    }
}
