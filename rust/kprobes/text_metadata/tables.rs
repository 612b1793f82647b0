// SPDX-License-Identifier: GPL-2.0

//! Reads the kernel's tables about the text of an image, and its symbols.

use super::index::{
    EntryKind,
    Symbol,
    TextEntry, //
};
use crate::{
    model::symbol,
    sys::{
        modules::ModRef,
        prelude::*,
        sort, //
    }, //
};

/// A list that is being read.
struct Reader<T> {
    /// Elements outside of this text are left out.
    text: TextRange,
    list: KVVec<T>,
    /// Whether there was no memory for an element.
    failed: bool,
}

impl<T: Ord + Copy> Reader<T> {
    /// Calls `walk` with the module in C, or NULL, and with a pointer to a reader. Returns the list
    /// in order.
    fn read(
        module: Option<&ModRef>,
        text: TextRange,
        walk: impl FnOnce(*mut bindings::module, *mut c_void),
    ) -> Result<KVVec<T>, Refusal> {
        let mut reader = Self {
            text,
            list: KVVec::new(),
            failed: false,
        };
        let module = module.map_or(core::ptr::null_mut(), |module| module.module().as_c());
        walk(module, (&raw mut reader).cast());
        if reader.failed {
            return Err(Refusal::NoMemory);
        }
        if !reader.list.is_sorted() {
            sort::ascending(&mut reader.list);
        }
        Ok(reader.list)
    }

    /// Adds an element about `at`. Returns whether the walk continues.
    fn take(&mut self, at: TextAddr, one: Option<T>) -> bool {
        if let Some(one) = one.filter(|_| self.text.contains(at)) {
            self.failed |= self.list.push(one, GFP_KERNEL).is_err();
        }
        !self.failed
    }
}

/// Returns the entries in the tables of `module`, or of the kernel, about `text`, in order.
pub(super) fn entries(
    module: Option<&ModRef>,
    text: TextRange,
) -> Result<KVVec<TextEntry>, Refusal> {
    Reader::<TextEntry>::read(module, text, |module, data| {
        // SAFETY: The module is NULL, or the caller has a reference to it. `add_entry` is called
        // with `data`, a reader of entries that no other code uses meanwhile. The caller may sleep.
        unsafe { bindings::rust_kprobes_text_metadata(module, Some(add_entry), data) };
    })
}

/// Returns the symbols of `module`, or of the kernel, in `text`, in order.
pub(super) fn symbols(module: Option<&ModRef>, text: TextRange) -> Result<KVVec<Symbol>, Refusal> {
    Reader::<Symbol>::read(module, text, |module, data| {
        // SAFETY: The module is NULL, or the caller has a reference to it. `add_symbol` is called
        // with `data`, a reader of symbols that no other code uses meanwhile. The caller may sleep.
        unsafe { bindings::rust_kprobes_each_symbol(module, Some(add_symbol), data) };
    })
}

/// Adds one entry.
///
/// # Safety
///
/// `reader` leads to a reader of entries that no other code uses.
unsafe extern "C" fn add_entry(reader: *mut c_void, kind: c_uint, at: *const c_void, len: usize) {
    // SAFETY: By the precondition this is a reader of entries, and no other code uses it.
    let reader = unsafe { &mut *reader.cast::<Reader<TextEntry>>() };
    let kind = match kind {
        bindings::RUST_KPROBES_JUMP_LABEL => EntryKind::JumpLabel,
        bindings::RUST_KPROBES_STATIC_CALL => EntryKind::StaticCall,
        bindings::RUST_KPROBES_BUG => EntryKind::Bug,
        bindings::RUST_KPROBES_LABEL_TARGET => EntryKind::LabelTarget,
        bindings::RUST_KPROBES_FIXUP_TARGET => EntryKind::FixupTarget,
        _ => EntryKind::Start,
    };
    let at = TextAddr::new(at.addr() as u64);
    reader.take(at, TextEntry::new(reader.text.start(), at, kind, len));
}

/// Adds one symbol. A result other than 0 ends the walk.
///
/// # Safety
///
/// `reader` leads to a reader of symbols that no other code uses, and `name` ends with NUL.
unsafe extern "C" fn add_symbol(reader: *mut c_void, name: *const c_char, at: c_ulong) -> c_int {
    // SAFETY: By the precondition this is a reader of symbols, and no other code uses it.
    let reader = unsafe { &mut *reader.cast::<Reader<Symbol>>() };
    // SAFETY: By the precondition `name` ends with NUL.
    let name = unsafe { CStr::from_char_ptr(name) };
    let at = TextAddr::new(at as u64);
    let group = symbol::split_group(name);
    let more = reader.take(at, symbol::is_listed(name).then_some(Symbol { at, group }));
    c_int::from(!more)
}
