// SPDX-License-Identifier: GPL-2.0

//! Modules: whose text an address is, and keeping it there.
//!
//! A probe does not keep the module that it is on from being unloaded; the registration does, while
//! it lasts. What happens to a probe whose module goes is in `core/vanish.rs`.

use crate::prelude::*;
use core::ptr::NonNull;
use kernel::bindings;

/// Whose text an address is.
pub(crate) enum Owner {
    /// The kernel's own.
    Kernel,
    /// A module's, which stays as long as this.
    Module(Pin),
}

impl Owner {
    /// The module, if it is one.
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
/// We hold a reference to the module.
pub(crate) struct Pin(NonNull<bindings::module>);

impl Pin {
    /// What `field` finds in the module.
    pub(crate) fn read<T: Copy>(&self, field: impl FnOnce(&bindings::module) -> T) -> T {
        // SAFETY: The module stays, by the invariant; the fields that are read here are written
        // before it can be found by address, and those that change are read as they are.
        field(unsafe { self.0.as_ref() })
    }

    /// Is it this module?
    pub(crate) fn is(&self, module: Loaded) -> bool {
        self.0 == module.0
    }

    /// The part of the module that an address is in: what was allocated together.
    #[cfg(CONFIG_MODULES)]
    pub(crate) fn part(&self, at: TextAddr) -> Option<TextRange> {
        let parts = self.read(|module| module.mem);
        parts.iter().find_map(|part| {
            let start = TextAddr::new(part.base.addr() as u64);
            let part = TextRange::with_len(start, part.size.into()).ok()?;
            part.contains(at).then_some(part)
        })
    }

    #[cfg(not(CONFIG_MODULES))]
    pub(crate) fn part(&self, _at: TextAddr) -> Option<TextRange> {
        None
    }

    /// What C calls it.
    pub(crate) fn as_c(&self) -> *mut bindings::module {
        self.0.as_ptr()
    }

    /// Is it being initialized, or about to be?
    pub(crate) fn is_coming(&self) -> bool {
        self.read(|module| module.state) == bindings::module_state_MODULE_STATE_COMING
    }

    /// Is this text that goes when the module has been initialized, and is that over?
    pub(crate) fn has_freed(&self, at: TextAddr) -> bool {
        // SAFETY: The module stays, by the invariant.
        let init =
            unsafe { bindings::rust_kprobes_in_module(self.0.as_ptr(), at.get() as usize, true) };
        init && !self.is_coming()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: By the invariant.
        unsafe { bindings::rust_kprobes_module_put(self.0.as_ptr()) };
    }
}

/// Whose text `at` is; says no if it is nobody's, or a module's that is going.
pub(crate) fn owner(at: TextAddr) -> Result<Owner, Refusal> {
    let addr = at.get() as usize;
    // SAFETY: Only compares the address.
    if unsafe { bindings::core_kernel_text(addr) } != 0 {
        return Ok(Owner::Kernel);
    }
    pin(addr).map(Owner::Module)
}

/// Is this in a module that is there?
#[cfg(CONFIG_MODULES)]
pub(crate) fn has(at: TextAddr) -> bool {
    let _rcu = kernel::sync::rcu::read_lock();
    // SAFETY: RCU is read-locked, by the guard above.
    !unsafe { bindings::__module_address(at.get() as usize) }.is_null()
}

/// Is this in a module that is there?
#[cfg(not(CONFIG_MODULES))]
pub(crate) fn has(_at: TextAddr) -> bool {
    false
}

#[cfg(CONFIG_MODULES)]
fn pin(addr: usize) -> Result<Pin, Refusal> {
    let _rcu = kernel::sync::rcu::read_lock();
    // SAFETY: RCU is read-locked, by the guard above.
    let module = NonNull::new(unsafe { bindings::__module_text_address(addr) });
    let module = module.ok_or(Refusal::NotText)?;
    // SAFETY: It is a module, which RCU keeps.
    if !unsafe { bindings::rust_kprobes_module_get(module.as_ptr()) } {
        return Err(Refusal::ModuleGoing);
    }
    // INVARIANT: We have got a reference.
    Ok(Pin(module))
}

#[cfg(not(CONFIG_MODULES))]
fn pin(_addr: usize) -> Result<Pin, Refusal> {
    Err(Refusal::NotText)
}

/// A module, known from when it comes until those who are told that it goes have been told.
///
/// # Invariants
///
/// It is a module, which stays as long as any value that leads to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loaded(NonNull<bindings::module>);

// SAFETY: What is read of it does not belong to a task.
unsafe impl Send for Loaded {}
// SAFETY: As above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// # Safety
    ///
    /// `module` is a module, and whoever keeps the value drops it when told that the module goes.
    pub(crate) unsafe fn from_c(module: NonNull<bindings::module>) -> Self {
        // INVARIANT: By the precondition.
        Self(module)
    }

    /// What `field` finds in the module.
    pub(crate) fn read<T>(&self, field: impl FnOnce(&bindings::module) -> T) -> T {
        // SAFETY: By the invariant; what is read here was written before the module came.
        field(unsafe { self.0.as_ref() })
    }

    /// Is it in there?
    #[cfg(CONFIG_MODULES)]
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        let going = Going {
            module: *self,
            init_only: false,
        };
        going.has(at)
    }

    /// Is it in there?
    #[cfg(not(CONFIG_MODULES))]
    pub(crate) fn has(&self, _at: TextAddr) -> bool {
        false
    }

    /// What C calls it.
    pub(crate) fn as_c(&self) -> *mut bindings::module {
        self.0.as_ptr()
    }
}

/// What goes: a module, or the part of it that was for its beginning.
#[derive(Clone, Copy)]
pub(crate) struct Going {
    /// The module.
    pub(crate) module: Loaded,
    /// Does the module itself stay?
    pub(crate) init_only: bool,
}

#[cfg(CONFIG_MODULES)]
impl Going {
    /// Is it in there?
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        let (module, addr) = (self.module.as_c(), at.get() as usize);
        // SAFETY: It is a module.
        unsafe { bindings::rust_kprobes_in_module(module, addr, self.init_only) }
    }
}
