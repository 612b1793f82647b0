// SPDX-License-Identifier: GPL-2.0

//! Kallsyms: from a name to an address, from an address to the function around it.
//!
//! All of these walk tables that a probed path may also use, and may sleep or take RCU: they are
//! for registration, not for the hit path.

use crate::model::{
    addr::TextAddr,
    symbol, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The address of the symbol of that name (`module:symbol` also).
pub(crate) fn lookup(name: &CStr) -> Option<TextAddr> {
    // SAFETY: `name` is a string that ends with NUL.
    let addr = unsafe { bindings::kallsyms_lookup_name(name.as_char_ptr()) };
    (addr != 0).then(|| TextAddr::new(addr as u64))
}

/// The start of the function around an address, and how far into it the address is.
pub(crate) fn function_around(at: TextAddr) -> Option<(TextAddr, u64)> {
    let addr = usize::try_from(at.get()).ok()?;
    let mut offset = 0;
    // SAFETY:
    // - the size may be NULL, the function then does not tell it;
    // - `offset` is a place to write to.
    let found = unsafe {
        bindings::kallsyms_lookup_size_offset(addr, core::ptr::null_mut(), &raw mut offset)
    };
    let offset = offset as u64;
    (found != 0).then_some((at.before(offset).ok()?, offset))
}

/// The start of the function that the code at an address was split from by the compiler, if it
/// was.
pub(crate) fn split_from(at: TextAddr) -> Option<TextAddr> {
    let addr = usize::try_from(at.get()).ok()?;
    let mut name = [0; bindings::KSYM_NAME_LEN as usize];
    // SAFETY: The function writes up to `KSYM_NAME_LEN` bytes, and so many there are.
    let missing = unsafe { bindings::lookup_symbol_name(addr, name.as_mut_ptr()) };
    if missing != 0 {
        return None;
    }
    lookup(symbol::split_from(&mut name)?)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_symbols)]
mod tests {
    use super::*;

    #[test]
    fn lookup_and_function_around_agree() {
        let entry = lookup(c"kernel_clone");
        assert!(entry.is_some());
        let inside = entry.and_then(|entry| entry.after(9).ok());
        assert!(inside.and_then(function_around) == entry.map(|entry| (entry, 9)));
        assert!(entry.and_then(split_from).is_none());
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(lookup(c"no_such_function").is_none());
        assert!(function_around(TextAddr::new(16)).is_none());
        assert!(split_from(TextAddr::new(16)).is_none());
    }
}
