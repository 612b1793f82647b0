// SPDX-License-Identifier: GPL-2.0

//! Modules: which module an address belongs to, and keeping that module loaded.
//!
//! A registered probe does not keep the module that it is on loaded. Only while it is being
//! registered does the registration keep the module loaded. When the module is unloaded, its
//! notifier handles its probes.

use crate::prelude::*;
use core::ptr::NonNull;
use kernel::{
    bindings,
    sync::rcu, //
};

/// What the text at an address belongs to.
pub(crate) enum Owner {
    /// The kernel proper.
    Kernel,
    /// A module, which stays as long as this value.
    Module(Pin),
}

impl Owner {
    /// The module, if the text belongs to one.
    pub(crate) fn module(&self) -> Option<&Pin> {
        match self {
            Self::Kernel => None,
            Self::Module(module) => Some(module),
        }
    }
}

/// A module that stays loaded.
///
/// # Invariants
///
/// This value holds a reference to the module.
pub(crate) struct Pin(Loaded);

impl Pin {
    /// The module, to be used while this value is there.
    pub(crate) fn module(&self) -> Loaded {
        self.0
    }

    /// The part of the module that an address is in: the text that was allocated together.
    pub(crate) fn part(&self, at: TextAddr) -> Option<TextRange> {
        // SAFETY: The loader has allocated the parts before the module came.
        let parts = unsafe { self.0.read(|module| module.mem) };
        parts.iter().find_map(|part| {
            let start = TextAddr::new(part.base.addr() as u64);
            let part = TextRange::with_len(start, part.size.into()).ok()?;
            part.contains(at).then_some(part)
        })
    }

    /// Is the module being initialized, or about to be?
    pub(crate) fn is_coming(&self) -> bool {
        // SAFETY: The state is one word, which is read as it is.
        unsafe { self.0.read(|module| module.state) == bindings::module_state_MODULE_STATE_COMING }
    }

    /// Is the text at an address freed when the module has been initialized, and is that over?
    pub(crate) fn has_freed(&self, at: TextAddr) -> bool {
        self.0.contains(at, true) && !self.is_coming()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: By the invariant this value holds a reference, which goes with it.
        unsafe { bindings::rust_kprobes_module_put(self.0.as_c()) };
    }
}

/// Returns the owner of the text at an address. Refuses an address that is not text, or is text of
/// a module that is being unloaded.
pub(crate) fn owner(at: TextAddr) -> Result<Owner, Refusal> {
    // SAFETY: The function only compares the address.
    if unsafe { bindings::core_kernel_text(at.get() as usize) } != 0 {
        return Ok(Owner::Kernel);
    }
    let pinned = with(at, true, |module| {
        // SAFETY: RCU keeps the module while `with` calls this.
        let pinned = unsafe { bindings::rust_kprobes_module_get(module.as_c()) };
        // INVARIANT: The reference is the one that was got just now.
        pinned.then(|| Owner::Module(Pin(module)))
    });
    pinned.ok_or(Refusal::NotText)?.ok_or(Refusal::ModuleGoing)
}

/// Is this address in a module that is loaded?
pub(crate) fn has(at: TextAddr) -> bool {
    with(at, false, |_| ()).is_some()
}

/// Calls `found` with the module that an address is in, or that has it in its text. The module
/// stays until `found` returns.
pub(super) fn with<T>(at: TextAddr, in_text: bool, found: impl FnOnce(Loaded) -> T) -> Option<T> {
    let _rcu = rcu::read_lock();
    // SAFETY: RCU is read-locked, by the guard above.
    let module = unsafe { bindings::rust_kprobes_module_at(at.get() as usize, in_text) };
    // INVARIANT: RCU keeps the module until `found` returns, and `found` keeps the value only with
    // a reference.
    NonNull::new(module).map(|module| found(Loaded(module)))
}

/// A module, known from when it comes until the notifiers have been told that it goes.
///
/// # Invariants
///
/// The pointer leads to a module, which stays as long as any value with the pointer is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loaded(NonNull<bindings::module>);

// SAFETY: The fields that are read of a module do not belong to a task.
unsafe impl Send for Loaded {}
// SAFETY: As above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// # Safety
    ///
    /// `module` is a module. Code that keeps the value drops it when it is told that the module
    /// goes.
    pub(crate) unsafe fn from_c(module: NonNull<bindings::module>) -> Self {
        // INVARIANT: By the precondition the value is not used after the module.
        Self(module)
    }

    /// Reads a field of the module.
    ///
    /// # Safety
    ///
    /// `field` reads what does not change once the module has come, or the state of the module.
    pub(super) unsafe fn read<T>(&self, field: impl FnOnce(&bindings::module) -> T) -> T {
        // SAFETY: By the invariant the module stays, and by the precondition no word is read while
        // it changes, but for the state.
        field(unsafe { self.0.as_ref() })
    }

    /// Is this address in the module?
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        self.contains(at, false)
    }

    /// Is this address in the module, or in its init memory?
    fn contains(&self, at: TextAddr, init_only: bool) -> bool {
        // SAFETY: By the invariant the module stays.
        unsafe { bindings::rust_kprobes_in_module(self.as_c(), at.get() as usize, init_only) }
    }

    /// The pointer that C knows the module by.
    pub(crate) fn as_c(&self) -> *mut bindings::module {
        self.0.as_ptr()
    }
}

/// Memory that is about to be freed: a module's, or only its init memory.
#[derive(Clone, Copy)]
pub(crate) struct Going {
    /// The module.
    pub(crate) module: Loaded,
    /// Does the module itself stay?
    pub(crate) init_only: bool,
}

impl Going {
    /// Is this address in the memory that goes?
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        self.module.contains(at, self.init_only)
    }
}
