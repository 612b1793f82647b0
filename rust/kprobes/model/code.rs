// SPDX-License-Identifier: GPL-2.0

//! A small fixed buffer of machine code.
//!
//! The buffer has room for one instruction of any architecture and a jump after it, and for a
//! detour of x86. It is a value that can be returned and compared. It assumes nothing about the
//! meaning of the bytes.

use super::refusal::Refusal;

/// The longest detour of x86 has 64 bytes. An instruction has at most 15 bytes, and its jump 5.
const CAPACITY: usize = 64;

/// A few bytes of machine code.
///
/// # Invariants
///
/// `len <= CAPACITY`, and the bytes from `len` on are zero (so that equal code compares equal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Code {
    /// No code.
    pub(crate) const EMPTY: Self = Self {
        // INVARIANT: The length is zero, and so is every byte.
        bytes: [0; CAPACITY],
        len: 0,
    };

    /// Returns this code with `more` after it.
    pub(crate) fn then(mut self, more: &[u8]) -> Result<Self, Refusal> {
        let end = self.len.checked_add(more.len());
        let room = end.and_then(|end| self.bytes.get_mut(self.len..end));
        // INVARIANT: `get_mut` gives `None` if `end` is above `CAPACITY`; the bytes after `end`
        // stay zero.
        room.ok_or(Refusal::CodeTooLong)?.copy_from_slice(more);
        self.len = self.len.wrapping_add(more.len());
        Ok(self)
    }

    /// Returns the code.
    pub(crate) fn bytes(&self) -> &[u8] {
        // The range exists by the invariant.
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_code))]
mod tests {
    use super::*;

    #[test]
    fn code_grows_to_its_capacity_and_no_further() {
        let full = Code::EMPTY.then(&[0x90; CAPACITY]);
        assert_eq!(full.map(|code| code.bytes().len()), Ok(CAPACITY));
        assert_eq!(
            full.and_then(|code| code.then(&[0x90])),
            Err(Refusal::CodeTooLong)
        );
        assert_eq!(
            Code::EMPTY.then(&[0x90; CAPACITY + 1]),
            Err(Refusal::CodeTooLong)
        );
    }

    #[test]
    fn code_keeps_bytes_in_order() {
        let both = Code::EMPTY.then(&[1, 2]).and_then(|code| code.then(&[3]));
        assert_eq!(both, Code::EMPTY.then(&[1, 2, 3]));
        assert!(both.is_ok_and(|code| code.bytes() == [1, 2, 3]));
        assert!(Code::EMPTY.bytes().is_empty());
    }
}
