// SPDX-License-Identifier: GPL-2.0

//! Output to our files in debugfs, in C's formats.

use super::symbols;
use crate::sys::prelude::*;

/// A file that is being shown.
///
/// # Invariants
///
/// The pointer leads to a `struct seq_file` that is being shown as long as the value exists.
pub(crate) struct Seq(*mut bindings::seq_file);

/// Writes to a [`Seq`] in a format of `seq_printf()`. The arguments match the format: C integers,
/// strings that end with NUL, and pointers; those for `%px` come from [`Seq::shown`].
macro_rules! put {
    ($to:expr, $format:literal, $($argument:expr),+) => {
        // SAFETY: By the invariant of `Seq` the file is being shown, and each use of this macro has
        // arguments that match its format.
        unsafe { bindings::seq_printf($to.0, $format.as_char_ptr(), $($argument),+) }
    };
}

impl Seq {
    /// # Safety
    ///
    /// `file` is being shown as long as the value exists.
    pub(crate) unsafe fn from_c(file: *mut bindings::seq_file) -> Self {
        // INVARIANT: By the precondition the file is being shown.
        Self(file)
    }

    /// Begins a line of the list of probes: the address, the kind as one letter, and the symbol
    /// around the address, with the offset in the symbol and the module of the symbol.
    pub(crate) fn probe(
        &self,
        at: TextAddr,
        kind: &CStr,
        symbol: Option<(&CStr, u64, Option<&CStr>)>,
    ) {
        let (shown, kind) = (self.shown(at), kind.as_char_ptr());
        if let Some((name, offset, module)) = symbol {
            let (name, offset) = (name.as_char_ptr(), offset as c_uint);
            let module = module.unwrap_or(c" ").as_char_ptr();
            put!(
                self,
                c"%px  %s  %s+0x%x  %s ",
                shown,
                kind,
                name,
                offset,
                module
            );
        } else {
            put!(self, c"%px  %s  %pS ", shown, kind, pointer(at));
        }
    }

    /// Writes one line of the list of functions on the blacklist.
    pub(crate) fn function(&self, start: TextAddr, end: TextAddr) {
        let (from, to) = (self.shown(start), self.shown(end));
        put!(self, c"0x%px-0x%px\t%ps\n", from, to, pointer(start));
    }

    /// Writes an offset from the symbol of that name.
    pub(crate) fn named(&self, name: &CStr, offset: u64) {
        put!(self, c"%s+0x%lx", name.as_char_ptr(), offset as c_ulong);
    }

    /// Writes the rest of a line of the refusals: the errno, and the reason in words.
    pub(crate) fn refusal(&self, errno: c_int, why: &CStr) {
        put!(self, c"  %d  %s\n", errno, why.as_char_ptr());
    }

    /// Writes one line of the probe points without a jump: the address, the reason, and the address
    /// that prevents the jump.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) fn unoptimized(&self, at: TextAddr, why: &CStr, by: Option<TextAddr>) {
        self.symbol_and_offset(at);
        put!(self, c"  %s", why.as_char_ptr());
        if let Some(by) = by {
            self.put(c": ");
            self.symbol_and_offset(by);
        }
        self.put(c"\n");
    }

    /// Writes one line of the counters.
    pub(crate) fn counter(&self, name: &CStr, value: usize) {
        put!(self, c"%s %zu\n", name.as_char_ptr(), value);
    }

    /// Writes text.
    pub(crate) fn put(&self, text: &CStr) {
        put!(self, c"%s", text.as_char_ptr());
    }

    /// Writes an address as symbol and offset, or as a number if it has no symbol, or the symbol's
    /// module was unloaded.
    pub(crate) fn symbol_and_offset(&self, at: TextAddr) {
        let mut buffer = symbols::Buffer::new();
        match symbols::text(at, &mut buffer) {
            Some(text) => self.put(text),
            None => put!(self, c"0x%px", self.shown(at)),
        }
    }

    /// Returns an address as the task that opened the file may see it: the address, or NULL.
    fn shown(&self, at: TextAddr) -> *const c_void {
        // SAFETY: By the invariant the file is being shown, so it was opened by a task.
        if unsafe { bindings::rust_kprobes_shows_addresses(self.0) } {
            pointer(at)
        } else {
            core::ptr::null()
        }
    }
}

fn pointer(at: TextAddr) -> *const c_void {
    core::ptr::with_exposed_provenance(at.get() as usize)
}
