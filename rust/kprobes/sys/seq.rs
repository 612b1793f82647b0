// SPDX-License-Identifier: GPL-2.0

//! Text for who reads a file of ours, in C's formats.

use crate::{
    prelude::*,
    sys::symbols, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// A file that is being read.
pub(crate) struct Seq(*mut bindings::seq_file);

/// What is said of one probe in a list.
pub(crate) struct Line<'a> {
    /// Where it is.
    pub(crate) at: TextAddr,
    /// Its kind, one letter.
    pub(crate) kind: &'a CStr,
    /// The symbol around it, how far into it, and the module that it is of.
    pub(crate) symbol: Option<(&'a CStr, u64, Option<&'a CStr>)>,
    /// What else there is to say.
    pub(crate) notes: [&'a CStr; 4],
}

/// Where a probe was refused.
pub(crate) enum Refused<'a> {
    /// At this address.
    At(TextAddr),
    /// So many bytes into what is of that name.
    Named(&'a CStr, u64),
    /// It is not known.
    Unclear,
}

impl Seq {
    /// # Safety
    ///
    /// `file` is being shown, as long as the value is there.
    pub(crate) unsafe fn from_c(file: *mut bindings::seq_file) -> Self {
        Self(file)
    }

    /// One line of the list of probes.
    pub(crate) fn probe(&self, line: &Line<'_>) {
        let real = core::ptr::with_exposed_provenance::<c_void>(line.at.get() as usize);
        let shown = self.shown(line.at);
        let kind = line.kind.as_char_ptr();
        if let Some((name, offset, module)) = line.symbol {
            let format = c"%px  %s  %s+0x%x  %s ".as_char_ptr();
            let (name, offset) = (name.as_char_ptr(), offset as c_uint);
            let module = module.unwrap_or(c" ").as_char_ptr();
            // SAFETY: The file is being shown; the arguments are what the format says.
            unsafe { bindings::seq_printf(self.0, format, shown, kind, name, offset, module) };
        } else {
            let format = c"%px  %s  %pS ".as_char_ptr();
            // SAFETY: As above.
            unsafe { bindings::seq_printf(self.0, format, shown, kind, real) };
        }
        for note in line.notes {
            self.put(note);
        }
        self.put(c"\n");
    }

    /// One line of the list of functions that nobody may probe.
    pub(crate) fn function(&self, start: TextAddr, end: TextAddr) {
        let name = core::ptr::with_exposed_provenance::<c_void>(start.get() as usize);
        let (start, end) = (self.shown(start), self.shown(end));
        let format = c"0x%px-0x%px\t%ps\n".as_char_ptr();
        // SAFETY: The file is being shown; the arguments are what the format says.
        unsafe { bindings::seq_printf(self.0, format, start, end, name) };
    }

    /// One line of what was refused: where, errno, and the reason in words.
    pub(crate) fn refused(&self, place: Refused<'_>, errno: c_int, why: &CStr) {
        let why = why.as_char_ptr();
        match place {
            Refused::At(at) => {
                let mut text = symbols::Text::new();
                if let Some(text) = symbols::text(at, &mut text) {
                    let (format, text) = (c"%s  %d  %s\n".as_char_ptr(), text.as_char_ptr());
                    // SAFETY: The file is being shown; the arguments are what the format says.
                    unsafe { bindings::seq_printf(self.0, format, text, errno, why) };
                } else {
                    // Its module may be gone; who may not see addresses sees none.
                    let format = c"0x%px  %d  %s\n".as_char_ptr();
                    // SAFETY: As above.
                    unsafe { bindings::seq_printf(self.0, format, self.shown(at), errno, why) };
                }
            }
            Refused::Named(name, offset) => {
                let format = c"%s+0x%lx  %d  %s\n".as_char_ptr();
                let (name, offset) = (name.as_char_ptr(), offset as c_ulong);
                // SAFETY: As above.
                unsafe { bindings::seq_printf(self.0, format, name, offset, errno, why) };
            }
            Refused::Unclear => {
                let format = c"-  %d  %s\n".as_char_ptr();
                // SAFETY: As above.
                unsafe { bindings::seq_printf(self.0, format, errno, why) };
            }
        }
    }

    /// One line of the places without a jump: where, why, and which address is in the way.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) fn unoptimized(&self, at: TextAddr, why: &CStr, way: Option<TextAddr>) {
        self.place(at);
        self.put(c"  ");
        self.put(why);
        if let Some(way) = way {
            self.put(c": ");
            self.place(way);
        }
        self.put(c"\n");
    }

    /// An address as symbol and offset; where there is none, or its module is gone, as a number.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    fn place(&self, at: TextAddr) {
        let mut text = symbols::Text::new();
        if let Some(text) = symbols::text(at, &mut text) {
            return self.put(text);
        }
        let format = c"0x%px".as_char_ptr();
        // SAFETY: The file is being shown; the argument is what the format says.
        unsafe { bindings::seq_printf(self.0, format, self.shown(at)) };
    }

    /// One line of what was counted.
    pub(crate) fn counter(&self, name: &CStr, value: usize) {
        let (name, format) = (name.as_char_ptr(), c"%s %zu\n".as_char_ptr());
        // SAFETY: The file is being shown; the arguments are what the format says.
        unsafe { bindings::seq_printf(self.0, format, name, value) };
    }

    /// Some text.
    pub(crate) fn put(&self, text: &CStr) {
        // SAFETY: The file is being shown.
        unsafe { bindings::seq_write(self.0, text.as_char_ptr().cast(), text.to_bytes().len()) };
    }

    /// An address as who has opened the file may see it.
    fn shown(&self, at: TextAddr) -> *const c_void {
        if self.shows_addresses() {
            core::ptr::with_exposed_provenance(at.get() as usize)
        } else {
            core::ptr::null()
        }
    }

    /// May who has opened the file see addresses of the kernel?
    fn shows_addresses(&self) -> bool {
        // SAFETY: The file is being shown, and who opened it is known.
        unsafe { bindings::rust_kprobes_shows_addresses(self.0) }
    }
}
