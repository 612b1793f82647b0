// SPDX-License-Identifier: GPL-2.0

//! Reading what the kernel has of an image: its tables about text, and its symbols.

use super::{
    index::{
        Entry,
        Kind, //
    },
    pieces::Symbol, //
};
use crate::{
    model::symbol,
    prelude::*,
    sys::{
        modules::Pin,
        sort, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// What is read.
struct Reader<T> {
    /// What is said of other text is left out.
    text: TextRange,
    list: KVVec<T>,
    /// Was there no memory for one?
    failed: bool,
}

impl<T: Ord + Copy> Reader<T> {
    /// Has `walk` called with a pointer to a reader; returns what was read, in order.
    fn read(text: TextRange, walk: impl FnOnce(*mut c_void)) -> Result<KVVec<T>, Refusal> {
        let mut reader = Self {
            text,
            list: KVVec::new(),
            failed: false,
        };
        walk((&raw mut reader).cast());
        if reader.failed {
            return Err(Refusal::NoMemory);
        }
        if !reader.list.is_sorted() {
            sort::ascending(&mut reader.list);
        }
        Ok(reader.list)
    }

    /// Takes one that is about `at`. Returns whether the walk goes on.
    fn take(&mut self, at: TextAddr, one: Option<T>) -> bool {
        if let Some(one) = one.filter(|_| self.text.contains(at)) {
            self.failed |= self.list.push(one, GFP_KERNEL).is_err();
        }
        !self.failed
    }
}

/// What the tables of `module`, or of the kernel, say of `text`, in order.
pub(super) fn entries(module: Option<&Pin>, text: TextRange) -> Result<KVVec<Entry>, Refusal> {
    let module = module.map_or(core::ptr::null_mut(), Pin::as_c);
    // SAFETY: The module is NULL or stays, as it is pinned. `entry` is called with `data`, which is
    // a reader of entries that nobody else uses meanwhile. The caller may sleep.
    let walk = |data| unsafe { bindings::rust_kprobes_text_metadata(module, Some(entry), data) };
    Reader::<Entry>::read(text, walk)
}

/// The symbols of `module`, or of the kernel, in `text`, in order.
pub(super) fn symbols(module: Option<&Pin>, text: TextRange) -> Result<KVVec<Symbol>, Refusal> {
    Reader::<Symbol>::read(text, |data| {
        match module {
            // SAFETY: `symbol` is called with `data`, which is a reader of symbols that nobody else
            // uses meanwhile. The caller may sleep.
            None => unsafe { bindings::kallsyms_on_each_symbol(Some(symbol), data) },
            Some(module) => symbols_of(module, data),
        };
    })
}

#[cfg(CONFIG_MODULES)]
fn symbols_of(module: &Pin, data: *mut c_void) -> c_int {
    let name = module.read(|module| module.name);
    // SAFETY: The name ends with NUL; `symbol` and `data` are as in `symbols`, which alone calls
    // this.
    unsafe { bindings::module_kallsyms_on_each_symbol(name.as_ptr(), Some(symbol), data) }
}

#[cfg(not(CONFIG_MODULES))]
fn symbols_of(_module: &Pin, _data: *mut c_void) -> c_int {
    0
}

/// Takes one entry.
///
/// # Safety
///
/// `reader` is a reader of entries that nobody else uses.
unsafe extern "C" fn entry(reader: *mut c_void, kind: c_uint, at: *const c_void, len: usize) {
    // SAFETY: By the precondition `reader` is that, for us alone.
    let reader = unsafe { &mut *reader.cast::<Reader<Entry>>() };
    let kind = match kind {
        bindings::RUST_KPROBES_JUMP_LABEL => Kind::JumpLabel,
        bindings::RUST_KPROBES_STATIC_CALL => Kind::StaticCall,
        bindings::RUST_KPROBES_BUG => Kind::Bug,
        bindings::RUST_KPROBES_LABEL_TARGET => Kind::LabelTarget,
        bindings::RUST_KPROBES_FIXUP_TARGET => Kind::FixupTarget,
        _ => Kind::Start,
    };
    let at = TextAddr::new(at.addr() as u64);
    reader.take(at, Entry::new(reader.text.start(), at, kind, len));
}

/// Takes one symbol; anything but 0 ends the walk.
///
/// # Safety
///
/// `reader` is a reader of symbols that nobody else uses, and `name` ends with NUL.
unsafe extern "C" fn symbol(reader: *mut c_void, name: *const c_char, at: c_ulong) -> c_int {
    // SAFETY: By the precondition `reader` is that, for us alone.
    let reader = unsafe { &mut *reader.cast::<Reader<Symbol>>() };
    // SAFETY: By the precondition it ends with NUL.
    let name = unsafe { CStr::from_char_ptr(name) };
    let at = TextAddr::new(at as u64);
    let group = symbol::split_group(name);
    let goes_on = reader.take(at, symbol::counts(name).then_some(Symbol { at, group }));
    c_int::from(!goes_on)
}
