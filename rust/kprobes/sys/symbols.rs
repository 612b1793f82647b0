// SPDX-License-Identifier: GPL-2.0

//! Kallsyms: finds the address of a name, and the function around an address.
//!
//! Except for [`function_address`], these functions walk tables with functions that may be probed,
//! and may sleep or take RCU. So they are not for the hit path.

use super::modules;
use crate::{
    model::symbol::{
        self,
        FunctionKind, //
    },
    sys::prelude::*, //
};
use kernel::sync::rcu;

/// Returns the address of the symbol with that name (also `module:symbol`).
pub(crate) fn lookup(name: &CStr) -> Option<TextAddr> {
    // SAFETY: `name` is a string that ends with NUL.
    let addr = unsafe { bindings::kallsyms_lookup_name(name.as_char_ptr()) };
    (addr != 0).then(|| TextAddr::new(addr as u64))
}

/// Returns the address of the function that a pointer leads to: clears the Thumb bit of a function
/// pointer on arm.
pub(crate) fn function_address(pointer: usize) -> TextAddr {
    TextAddr::new((pointer & !usize::from(cfg!(CONFIG_THUMB2_KERNEL))) as u64)
}

/// A function, or other text that a symbol names, with all data that registration needs, so that
/// the symbol is looked up once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// The text from the first byte of the symbol up to the next symbol.
    pub(crate) text: TextRange,
    /// The start of the function that the compiler split this function from, if any.
    pub(crate) split_from: Option<TextAddr>,
    /// The kind of text that the symbol names.
    pub(crate) kind: FunctionKind,
    /// The split-function group of its name.
    pub(crate) group: SplitGroup,
}

/// Returns the function around an address.
pub(crate) fn function(at: TextAddr) -> Option<Function> {
    let mut buffer = Buffer::new();
    let (found, offset, module, len) = at_address(at, &mut buffer)?;
    // Ftrace keeps the names of a module's init functions after these were freed.
    if !module.is_null() && !modules::has(at) {
        return None;
    }
    let (kind, group) = (symbol::kind(found), symbol::split_group(found));
    Some(Function {
        text: TextRange::with_len(at.before(offset).ok()?, len).ok()?,
        split_from: symbol::split_from(&mut buffer.0).and_then(lookup),
        kind,
        group,
    })
}

/// Returns whether the address is in text that the kernel shows to user space.
pub(crate) fn is_gate(at: TextAddr) -> bool {
    // SAFETY: The function only compares the address.
    unsafe { bindings::rust_kprobes_is_gate(at.get() as usize) }
}

/// Room for the text that `sprint_symbol()` writes: the name of a symbol and more.
pub(crate) struct Buffer([c_char; bindings::RUST_KPROBES_SYMBOL_LEN as usize]);

impl Buffer {
    /// Makes an empty buffer.
    pub(crate) fn new() -> Self {
        Self([0; bindings::RUST_KPROBES_SYMBOL_LEN as usize])
    }
}

/// Returns the symbol around an address: its name, the offset of the address in it, its module or
/// NULL, and its length.
fn at_address(at: TextAddr, name: &mut Buffer) -> Option<(&CStr, u64, *mut c_char, u64)> {
    let (mut len, mut offset, mut module) = (0, 0, core::ptr::null_mut());
    let (addr, name) = (at.get() as usize, name.0.as_mut_ptr());
    // SAFETY:
    // - `len`, `offset` and `module` may be written to;
    // - the function writes up to `KSYM_NAME_LEN` bytes, with NUL, and the buffer is longer.
    let found =
        unsafe { bindings::kallsyms_lookup(addr, &mut len, &mut offset, &mut module, name) };
    // SAFETY: If not NULL, this is the buffer, and the function has written the name into it.
    let found = (!found.is_null()).then(|| unsafe { CStr::from_char_ptr(found) })?;
    Some((found, offset as u64, module, len as u64))
}

/// Returns the symbol around an address: its name, the offset of the address, and its module.
pub(crate) fn describe<'a>(
    at: TextAddr,
    name: &'a mut Buffer,
    _rcu: &'a rcu::Guard,
) -> Option<(&'a CStr, u64, Option<&'a CStr>)> {
    let (found, offset, module, _) = at_address(at, name)?;
    // SAFETY: If not NULL, this is the name of a module. It is not freed while RCU is read-locked,
    // as the lookup was made under the same guard.
    let module = (!module.is_null()).then(|| unsafe { CStr::from_char_ptr(module) });
    Some((found, offset, module))
}

/// Returns the text of `%pS` for an address, if the address has a symbol.
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) fn text(at: TextAddr, buffer: &mut Buffer) -> Option<&CStr> {
    // SAFETY: The buffer has room for the longest text of the function, with NUL.
    unsafe { bindings::sprint_symbol(buffer.0.as_mut_ptr(), at.get() as usize) };
    let text = CStr::from_bytes_until_nul(&buffer.0).ok()?;
    // Without a symbol, the text is the address itself. No symbol begins with "0x".
    (!text.to_bytes().starts_with(b"0x")).then_some(text)
}

/// Returns the length of the symbol around an address.
pub(crate) fn len(at: TextAddr) -> Option<u64> {
    let (addr, mut len, offset) = (at.get() as usize, 0, core::ptr::null_mut());
    // SAFETY: `len` may be written to; the offset may be NULL.
    let found = unsafe { bindings::kallsyms_lookup_size_offset(addr, &raw mut len, offset) };
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
                && around.kind == FunctionKind::Function
        }));
        let end = around.map(|around| around.text.end());
        let next = end.and_then(function);
        assert!(next.is_some_and(|next| Some(next.text.start()) == end));
    }

    #[test]
    fn unknown_names_and_addresses_are_not_found() {
        assert!(lookup(c"no_such_function").is_none());
        assert!(function(TextAddr::new(16)).is_none());
    }
}
