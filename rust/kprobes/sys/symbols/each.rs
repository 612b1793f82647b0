// SPDX-License-Identifier: GPL-2.0

//! Where the symbols are, all of them.
//!
//! Not for the hit path.

use crate::{
    model::{
        addr::TextAddr,
        not_optimized::NotOptimized,
        symbol::{
            self,
            Family, //
        }, //
    },
    sys::modules::Pin, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Is told where a symbol is, and of the family of its name.
pub(crate) type Found<'a> = &'a mut dyn FnMut(TextAddr, Family) -> Result<(), NotOptimized>;

/// Tells `found` of the symbols of the kernel proper.
pub(crate) fn of_the_kernel(found: Found<'_>) -> Result<(), NotOptimized> {
    let mut walk = Walk {
        found,
        done: Ok(()),
    };
    let data = (&raw mut walk).cast();
    // SAFETY: `one` is called with `data`, which leads to the walk, and may sleep as the caller.
    unsafe { bindings::kallsyms_on_each_symbol(Some(one), data) };
    walk.done
}

/// Tells `found` of the symbols of a module, in any order: for the kernel, asking about one address
/// is a walk over all of them.
#[cfg(CONFIG_MODULES)]
pub(crate) fn of(module: &Pin, found: Found<'_>) -> Result<(), NotOptimized> {
    let mut walk = Walk {
        found,
        done: Ok(()),
    };
    let (name, data) = (module.read(|module| module.name), (&raw mut walk).cast());
    // SAFETY: The name ends with NUL, and `one` is called with `data`, which leads to the walk.
    unsafe { bindings::module_kallsyms_on_each_symbol(name.as_ptr(), Some(one), data) };
    walk.done
}

/// There are none.
#[cfg(not(CONFIG_MODULES))]
pub(crate) fn of(_module: &Pin, _found: Found<'_>) -> Result<(), NotOptimized> {
    Ok(())
}

/// A walk over symbols.
struct Walk<'a> {
    found: Found<'a>,
    done: Result<(), NotOptimized>,
}

/// One symbol; anything but 0 ends the walk.
///
/// # Safety
///
/// `walk` is a [`Walk`] that nobody else uses, and `name` ends with NUL.
unsafe extern "C" fn one(walk: *mut c_void, name: *const c_char, at: c_ulong) -> c_int {
    // SAFETY: By the precondition.
    let (walk, name) = unsafe { (&mut *walk.cast::<Walk<'_>>(), CStr::from_char_ptr(name)) };
    if symbol::counts(name) {
        walk.done = (walk.found)(TextAddr::new(at as u64), symbol::family(name));
    }
    c_int::from(walk.done.is_err())
}
