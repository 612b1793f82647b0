// SPDX-License-Identifier: GPL-2.0

//! Modules: which module an address belongs to, and keeping that module loaded.
//!
//! A registered probe does not keep its module loaded. Only a registration keeps the module loaded
//! while it runs. When the module is unloaded, its notifier handles its probes.

use crate::sys::prelude::*;
use core::ptr::NonNull;
use kernel::sync::rcu;

/// A reference that keeps a module loaded.
///
/// # Invariants
///
/// This value holds a reference to the module.
pub(crate) struct ModRef(Module);

impl ModRef {
    /// Returns the module. The caller uses it only while this value exists.
    pub(crate) fn module(&self) -> Module {
        self.0
    }

    /// Returns the parts of the module, in the order of C's `enum mod_mem_type`: memory that was
    /// allocated together.
    pub(crate) fn parts(&self) -> impl Iterator<Item = TextRange> {
        // SAFETY: The module is not freed as long as this reference exists. The read is volatile,
        // as the parts of init memory are cleared later; then they have no address.
        let parts = unsafe { (&raw const (*self.0.as_c()).mem).read_volatile() };
        parts.into_iter().map(|part| memory(part.base, part.size))
    }

    /// Returns the part of the module that has an address.
    pub(crate) fn part(&self, at: TextAddr) -> Option<TextRange> {
        self.parts().find(|part| part.contains(at))
    }

    /// Returns whether the text at an address was init text, and the module was initialized. Once
    /// init memory is about to be freed, the address is in no part of the module.
    pub(crate) fn has_freed(&self, at: TextAddr) -> bool {
        !self.0.is_coming() && (self.0.contains(at, true) || !self.0.has(at))
    }
}

impl Drop for ModRef {
    fn drop(&mut self) {
        // SAFETY: By the invariant this value holds a reference, which this call releases.
        unsafe { bindings::rust_kprobes_module_put(self.0.as_c()) };
    }
}

/// Returns the module whose text is at an address, or `None` for text of the kernel. Refuses an
/// address that is not text, or is text of a module that is being unloaded, or that is being loaded
/// and is not `announced`: if the load fails, such a module is freed at once, also if there are
/// references.
pub(crate) fn owner(
    at: TextAddr,
    announced: impl FnOnce(Module) -> bool,
) -> Result<Option<ModRef>, Refusal> {
    // SAFETY: The function only compares the address.
    if unsafe { bindings::core_kernel_text(at.get() as usize) } != 0 {
        return Ok(None);
    }
    let module = with(at, true, |module| {
        if module.is_coming() && !announced(module) {
            return Err(Refusal::ModuleComing);
        }
        // SAFETY: RCU keeps the module from being freed while `with` calls this.
        let pinned = unsafe { bindings::rust_kprobes_module_get(module.as_c()) };
        // INVARIANT: The reference was taken just now.
        pinned.then(|| ModRef(module)).ok_or(Refusal::ModuleGoing)
    });
    module.ok_or(Refusal::NotText)?.map(Some)
}

/// Returns the range of memory that a field of `struct module` describes.
pub(super) fn memory(start: *mut c_void, len: c_uint) -> TextRange {
    let start = TextAddr::new(start.addr() as u64);
    TextRange::new(start, TextAddr::new(start.get().wrapping_add(len.into())))
}

/// Returns whether this address is in a module that is loaded.
pub(crate) fn has(at: TextAddr) -> bool {
    with(at, false, |_| ()).is_some()
}

/// Calls `found` with the module that has an address, or with `in_text` has it in its text. The
/// module is not freed before `found` returns.
pub(super) fn with<T>(at: TextAddr, in_text: bool, found: impl FnOnce(Module) -> T) -> Option<T> {
    let _rcu = rcu::read_lock();
    // SAFETY: RCU is read-locked, by the guard above.
    let module = unsafe { bindings::rust_kprobes_module_at(at.get() as usize, in_text) };
    // INVARIANT: RCU keeps the module until `found` returns, and `found` keeps the value only with
    // a reference.
    NonNull::new(module).map(|module| found(Module(module)))
}

/// C's `struct module`, until the notifiers were called for the module's end.
///
/// # Invariants
///
/// The pointer leads to a module that is not freed while any value with the pointer is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Module(NonNull<bindings::module>);

// SAFETY: The fields of a module that are read do not belong to a task.
unsafe impl Send for Module {}
// SAFETY: The state and the parts are read by volatile accesses, and the other fields that are read
// do not change.
unsafe impl Sync for Module {}

impl Module {
    /// # Safety
    ///
    /// `module` is a module. Code that keeps the value drops it when the notifier is called for the
    /// module's end.
    pub(crate) unsafe fn from_c(module: NonNull<bindings::module>) -> Self {
        // INVARIANT: By the precondition the value is not used after the module.
        Self(module)
    }

    /// Returns whether the module is being initialized, or will be.
    pub(crate) fn is_coming(&self) -> bool {
        // SAFETY: By the invariant the module is not freed. The read makes no reference and is
        // volatile, as the state may change meanwhile.
        let state = unsafe { (&raw const (*self.as_c()).state).read_volatile() };
        state == bindings::module_state_MODULE_STATE_COMING
    }

    /// Returns whether this address is in the module.
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        self.contains(at, false)
    }

    /// Returns whether this address is in the module, or with `init_only` in its init memory.
    fn contains(&self, at: TextAddr, init_only: bool) -> bool {
        // SAFETY: By the invariant the module is not freed.
        unsafe { bindings::rust_kprobes_in_module(self.as_c(), at.get() as usize, init_only) }
    }

    /// Returns the pointer to C's `struct module`.
    pub(crate) fn as_c(&self) -> *mut bindings::module {
        self.0.as_ptr()
    }
}

/// Memory that will be freed: a module's, or only its init memory.
#[derive(Clone, Copy)]
pub(crate) struct FreedMemory {
    /// The module.
    pub(crate) module: Module,
    /// Whether the module itself stays.
    pub(crate) init_only: bool,
}

impl FreedMemory {
    /// Returns whether this address is in the memory that will be freed.
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        self.module.contains(at, self.init_only)
    }
}
