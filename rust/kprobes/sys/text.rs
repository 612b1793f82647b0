// SPDX-License-Identifier: GPL-2.0

//! The kernel's text: reading it, and keeping others from changing it.
//!
//! Writing to text is the back end's, since how is a matter of the CPU. What all have in common is
//! [`Lock`]: while it is held nobody else patches text and no CPU comes or goes, so that what was
//! read stays true until it is written, and a round to all CPUs reaches all.

use crate::{
    prelude::*,
    sys::lock::Token, //
};
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that the text is ours to change.
///
/// # Invariants
///
/// This task has read-locked the CPUs and locked `text_mutex`, in this order, for this value.
pub(crate) struct Lock(NotThreadSafe);

// SAFETY: By its invariant: there is a mutex in it.
unsafe impl Token for Lock {}

impl Lock {
    /// Waits until the text is free to change. To be taken inside the lock of the registry.
    pub(crate) fn new() -> Self {
        // SAFETY: The caller may sleep, as taking any mutex says.
        unsafe { bindings::rust_kprobes_cpus_read_lock() };
        // SAFETY: A mutex that is initialized at build time; the caller may sleep.
        unsafe { bindings::mutex_lock(&raw mut bindings::text_mutex) };
        // INVARIANT: Done just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has it locked.
        unsafe { bindings::mutex_unlock(&raw mut bindings::text_mutex) };
        // SAFETY: By the invariant, this task has them read-locked.
        unsafe { bindings::rust_kprobes_cpus_read_unlock() };
    }
}

/// The lock, to be taken when it is needed first.
pub(crate) struct Lazy(Option<Lock>);

impl Lazy {
    /// Nobody has needed it yet.
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// The lock, which is kept from now on.
    pub(crate) fn get(&mut self) -> &mut Lock {
        self.0.get_or_insert_with(Lock::new)
    }

    /// Gives it back, if it was taken.
    pub(crate) fn release(&mut self) {
        self.0 = None;
    }
}

/// Lets other tasks run between two pieces of long work. No lock that others need is to be held.
pub(crate) fn let_others_run() {
    // SAFETY: The caller may sleep: only work that takes locks of text calls this.
    unsafe { bindings::rust_kprobes_let_others_run() };
}

/// Reads what is at an address now, breakpoints included; `None` where nothing is.
pub(crate) fn read(at: TextAddr, into: &mut [u8]) -> Option<()> {
    let from = core::ptr::with_exposed_provenance(usize::try_from(at.get()).ok()?);
    // SAFETY: `into` has room for so many bytes; reading what is not there is not a fault.
    let failed =
        unsafe { bindings::copy_from_kernel_nofault(into.as_mut_ptr().cast(), from, into.len()) };
    (failed == 0).then_some(())
}

/// Does the kernel expect the instruction at `at` to fault?
pub(crate) fn has_fixup(at: TextAddr) -> bool {
    // SAFETY: Looks the address up in tables that are there whatever it is; a module's may go,
    // which the function protects itself against, and what it returns is not followed.
    !unsafe { bindings::search_exception_tables(at.get() as usize) }.is_null()
}

/// Does ftrace change any of these bytes?
#[cfg(CONFIG_DYNAMIC_FTRACE)]
pub(crate) fn is_ftraces(within: TextRange) -> bool {
    let pointer = |at: TextAddr| core::ptr::with_exposed_provenance(at.get() as usize);
    let last = within.end().get().wrapping_sub(1);
    let (first, last) = (pointer(within.start()), pointer(TextAddr::new(last)));
    // SAFETY: The function only compares the addresses.
    unsafe { bindings::ftrace_text_reserved(first, last) != 0 }
}

/// Does ftrace change any of these bytes?
#[cfg(not(CONFIG_DYNAMIC_FTRACE))]
pub(crate) fn is_ftraces(_within: TextRange) -> bool {
    false
}

/// Has a debugger put its breakpoint there?
#[cfg(CONFIG_KGDB)]
pub(crate) fn is_debugged(at: TextAddr) -> bool {
    // SAFETY: Only compares the address.
    unsafe { bindings::kgdb_has_hit_break(at.get() as usize) != 0 }
}

/// Has a debugger put its breakpoint there?
#[cfg(not(CONFIG_KGDB))]
pub(crate) fn is_debugged(_at: TextAddr) -> bool {
    false
}

/// Is this where a failed check of an indirect call's target traps?
#[cfg(CONFIG_CFI)]
pub(crate) fn is_cfi_trap(at: TextAddr) -> bool {
    // SAFETY: Only looks the address up.
    unsafe { bindings::is_cfi_trap(at.get() as usize) }
}

/// Is this where a failed check of an indirect call's target traps?
#[cfg(not(CONFIG_CFI))]
pub(crate) fn is_cfi_trap(_at: TextAddr) -> bool {
    false
}
