// SPDX-License-Identifier: GPL-2.0

//! Kallsyms: from a name to an address, from an address to the function around it.
//!
//! All of these walk tables that a probed path may also use, and may sleep or take RCU: they are
//! for registration, not for the hit path.

use super::modules;
use crate::{
    model::symbol::{
        self,
        Kind, //
    },
    prelude::*, //
};
use kernel::{
    bindings,
    prelude::*,
    sync::rcu, //
};

/// The address of the symbol of that name (`module:symbol` also).
pub(crate) fn lookup(name: &CStr) -> Option<TextAddr> {
    // SAFETY: `name` is a string that ends with NUL.
    let addr = unsafe { bindings::kallsyms_lookup_name(name.as_char_ptr()) };
    (addr != 0).then(|| TextAddr::new(addr as u64))
}

/// A function, or what else a symbol names: all that probing asks of it, so that it is looked up
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// From its first byte up to the next symbol.
    pub(crate) text: TextRange,
    /// The start of the function that the compiler split it from, if it did.
    pub(crate) split_from: Option<TextAddr>,
    /// What it is.
    pub(crate) kind: Kind,
    /// What it has in common with all that was split from it.
    pub(crate) group: SplitGroup,
}

/// The function around an address.
pub(crate) fn function(at: TextAddr) -> Option<Function> {
    let addr = usize::try_from(at.get()).ok()?;
    let mut name = [0; bindings::KSYM_NAME_LEN as usize];
    let (mut len, mut offset, mut module) = (0, 0, core::ptr::null_mut());
    // SAFETY:
    // - `len`, `offset` and `module` are places to write to;
    // - the function writes up to `KSYM_NAME_LEN` bytes, and so many there are, with NUL.
    let found = unsafe {
        bindings::kallsyms_lookup(addr, &mut len, &mut offset, &mut module, &raw mut name[0])
    };
    // Ftrace keeps the names of a module's functions that were for its beginning, after these have
    // gone.
    if found.is_null() || !module.is_null() && !modules::has(at) {
        return None;
    }
    let whole = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    let (kind, group) = (symbol::kind(whole), symbol::split_group(whole));
    Some(Function {
        text: TextRange::with_len(at.before(offset as u64).ok()?, len as u64).ok()?,
        split_from: symbol::split_from(&mut name).and_then(lookup),
        kind,
        group,
    })
}

/// Is this the text that the kernel shows to user space?
pub(crate) fn is_gate(at: TextAddr) -> bool {
    // SAFETY: Only compares the address.
    unsafe { bindings::rust_kprobes_is_gate(at.get() as usize) }
}

/// Room for the name of a symbol.
pub(crate) struct Buffer([c_char; bindings::KSYM_NAME_LEN as usize]);

impl Buffer {
    /// Empty.
    pub(crate) fn new() -> Self {
        Self([0; bindings::KSYM_NAME_LEN as usize])
    }
}

/// The symbol around an address: its name, how far into it, and the module that it is of.
pub(crate) fn describe<'a>(
    at: TextAddr,
    name: &'a mut Buffer,
    _rcu: &'a rcu::Guard,
) -> Option<(&'a CStr, u64, Option<&'a CStr>)> {
    let (mut offset, mut module) = (0, core::ptr::null_mut());
    let (addr, len) = (at.get() as usize, core::ptr::null_mut());
    // SAFETY:
    // - the length may be NULL;
    // - `offset` and `module` are places to write to, and the name is long enough.
    let found = unsafe {
        bindings::kallsyms_lookup(addr, len, &mut offset, &mut module, name.0.as_mut_ptr())
    };
    // SAFETY: NULL, or the name that it has written, with its NUL.
    let found = (!found.is_null()).then(|| unsafe { CStr::from_char_ptr(found) })?;
    // SAFETY: NULL, or the module's name, which stays while RCU is read-locked, since it was found.
    let module = (!module.is_null()).then(|| unsafe { CStr::from_char_ptr(module) });
    Some((found, offset as u64, module))
}

/// Room for what the kernel says of an address.
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) struct Text([c_char; bindings::RUST_KPROBES_SYMBOL_LEN as usize]);

#[cfg(CONFIG_DEBUG_FS)]
impl Text {
    /// Empty.
    pub(crate) fn new() -> Self {
        Self([0; bindings::RUST_KPROBES_SYMBOL_LEN as usize])
    }
}

/// What the kernel says of an address that is in what it has a symbol for.
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) fn text(at: TextAddr, text: &mut Text) -> Option<&CStr> {
    // SAFETY: There is room for what the function writes, with its NUL.
    unsafe { bindings::sprint_symbol(text.0.as_mut_ptr(), at.get() as usize) };
    let text = CStr::from_bytes_until_nul(&text.0).ok()?;
    // Without a symbol it says the address itself, and no symbol begins so.
    (!text.to_bytes().starts_with(b"0x")).then_some(text)
}

/// The length of the symbol that an address is the start of, or somewhere in.
pub(crate) fn len(at: TextAddr) -> Option<u64> {
    let mut len = 0;
    // SAFETY: `len` is a place to write to; the offset may be NULL.
    let found = unsafe {
        bindings::kallsyms_lookup_size_offset(
            at.get() as usize,
            &raw mut len,
            core::ptr::null_mut(),
        )
    };
    (found != 0).then_some(len as u64)
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
        let around = inside.and_then(function);
        assert!(around.is_some_and(|around| {
            Some(around.text.start()) == entry
                && around.split_from.is_none()
                && around.kind == Kind::Function
        }));
        let end = around.map(|around| around.text.end());
        let next = end.and_then(function);
        assert!(next.is_some_and(|next| Some(next.text.start()) == end));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(lookup(c"no_such_function").is_none());
        assert!(function(TextAddr::new(16)).is_none());
    }
}
