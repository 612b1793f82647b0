// SPDX-License-Identifier: GPL-2.0

//! The kernel's own decoder, `arch/x86/lib/insn.c`, as a judge.
//!
//! It is made to find the ends of valid instructions and takes most other bytes for instructions
//! too, so it judges lengths only.

use super::*;

type Decode = unsafe extern "C" fn(*const u8, c_int, *mut c_int) -> c_int;

pub(super) struct InsnC {
    decode: Decode,
}

impl InsnC {
    pub(super) fn open() -> Option<Self> {
        let library = Library::named_by("KPROBES_INSN_C")?;
        // SAFETY: These are the types in insn_c.c.
        let decode = unsafe { library.function::<Decode>(c"insn_c_decode") };
        Some(Self { decode })
    }

    fn ask(&self, text: &Text) -> (c_int, c_int) {
        let mut displacement = -1;
        let size = text.len() as c_int;
        // SAFETY: The text is as large as said.
        let len = unsafe { (self.decode)(text.as_ptr(), size, &mut displacement) };
        (len, displacement)
    }

    /// Where the displacement is that the end is added to, if it is an instruction of `len` bytes.
    pub(super) fn rip_displacement(&mut self, text: &Text, len: usize) -> Option<usize> {
        let (its_len, place) = self.ask(text);
        let place = usize::try_from(place).ok()?;
        (usize::try_from(its_len) == Ok(len)).then_some(place)
    }
}

impl Judge for InsnC {
    fn name(&self) -> &'static str {
        "insn.c"
    }

    fn len(&mut self, text: &Text) -> Option<usize> {
        usize::try_from(self.ask(text).0).ok()
    }

    fn say(&mut self, text: &Text) -> String {
        format!("{:?}", self.ask(text))
    }
}
