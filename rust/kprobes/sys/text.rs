// SPDX-License-Identifier: GPL-2.0

//! The kernel's text: reading it, and locking it against changes.
//!
//! The back end writes text. [`Lock`] is the same on all architectures: while a task holds it, no
//! other task patches text, and no CPU is hotplugged. So bytes do not change between reading and
//! writing them, and an interprocessor interrupt reaches all CPUs.

use crate::prelude::*;
use kernel::{
    bindings,
    types::NotThreadSafe, //
};

/// Evidence that only the owner of this value may change text.
///
/// # Invariants
///
/// This task has read-locked the CPUs and locked `text_mutex`, in this order, for this value.
pub(crate) struct Lock(NotThreadSafe);

impl Lock {
    /// Takes both locks, inside of the lock of the registry.
    pub(crate) fn new() -> Self {
        // SAFETY: The caller may sleep, as it takes a mutex next.
        unsafe { bindings::rust_kprobes_cpus_read_lock() };
        // SAFETY: The mutex is initialized at build time; the caller may sleep.
        unsafe { bindings::mutex_lock(&raw mut bindings::text_mutex) };
        // INVARIANT: Both were locked just now.
        Self(NotThreadSafe)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: By the invariant, this task has locked the mutex.
        unsafe { bindings::mutex_unlock(&raw mut bindings::text_mutex) };
        // SAFETY: By the invariant, this task has read-locked the CPUs.
        unsafe { bindings::rust_kprobes_cpus_read_unlock() };
    }
}

/// Calls `cond_resched()`, between two pieces of long work. The caller holds the lock of the
/// registry, for which other registrations wait, but not the text lock.
pub(crate) fn cond_resched() {
    // SAFETY: The callers may sleep: they take the text lock before and after this.
    unsafe { bindings::rust_kprobes_cond_resched() };
}

/// Reads the bytes at an address, breakpoints included; `None` if they cannot be read.
pub(crate) fn read(at: TextAddr, into: &mut [u8]) -> Option<()> {
    let from = core::ptr::with_exposed_provenance(usize::try_from(at.get()).ok()?);
    // SAFETY: `into` has room for so many bytes; the function handles faults of the read.
    let failed =
        unsafe { bindings::copy_from_kernel_nofault(into.as_mut_ptr().cast(), from, into.len()) };
    (failed == 0).then_some(())
}

/// Returns whether the exception table has an entry for the instruction at `at`.
pub(crate) fn has_fixup(at: TextAddr) -> bool {
    // SAFETY: The function looks any address up, and takes RCU for the tables of modules. The
    // pointer that it returns is not followed.
    !unsafe { bindings::search_exception_tables(at.get() as usize) }.is_null()
}

/// Returns whether ftrace changes any of these bytes.
#[cfg(CONFIG_DYNAMIC_FTRACE)]
pub(crate) fn is_reserved_by_ftrace(within: TextRange) -> bool {
    let pointer = |at: TextAddr| core::ptr::with_exposed_provenance(at.get() as usize);
    let last = within.end().get().wrapping_sub(1);
    let (first, last) = (pointer(within.start()), pointer(TextAddr::new(last)));
    // SAFETY: The function only compares the addresses.
    unsafe { bindings::ftrace_text_reserved(first, last) != 0 }
}

/// Returns whether ftrace changes any of these bytes.
#[cfg(not(CONFIG_DYNAMIC_FTRACE))]
pub(crate) fn is_reserved_by_ftrace(_within: TextRange) -> bool {
    false
}

/// Returns whether KGDB has a breakpoint at this address.
#[cfg(CONFIG_KGDB)]
pub(crate) fn is_debugged(at: TextAddr) -> bool {
    // SAFETY: The function only compares the address.
    unsafe { bindings::kgdb_has_hit_break(at.get() as usize) != 0 }
}

/// Returns whether KGDB has a breakpoint at this address.
#[cfg(not(CONFIG_KGDB))]
pub(crate) fn is_debugged(_at: TextAddr) -> bool {
    false
}

/// Returns whether kCFI traps at this address when the target of an indirect call fails its check.
#[cfg(CONFIG_CFI)]
pub(crate) fn is_cfi_trap(at: TextAddr) -> bool {
    // SAFETY: The function only looks the address up.
    unsafe { bindings::is_cfi_trap(at.get() as usize) }
}

/// Returns whether kCFI traps at this address when the target of an indirect call fails its check.
#[cfg(not(CONFIG_CFI))]
pub(crate) fn is_cfi_trap(_at: TextAddr) -> bool {
    false
}
