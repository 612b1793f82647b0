// SPDX-License-Identifier: GPL-2.0

//! Addresses of kernel text as checked numbers.
//!
//! A [`TextAddr`] is 64 bits wide on every architecture, so one host can test all of them. It is a
//! number and no pointer: only `sys/` and a back end's machine part convert it to access memory.
//! Its arithmetic refuses to wrap, except in `reach`.

use super::refusal::Refusal;

/// An address in kernel text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextAddr(u64);

impl TextAddr {
    /// Makes an address of any number, whether text is there or not.
    pub(crate) const fn new(addr: u64) -> Self {
        Self(addr)
    }

    /// Returns the address as a number.
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// Returns the address `offset` bytes after this one.
    pub(crate) fn after(self, offset: u64) -> Result<Self, Refusal> {
        let addr = self.0.checked_add(offset).ok_or(Refusal::OutOfText)?;
        Ok(Self(addr))
    }

    /// Returns the address `offset` bytes before this one.
    pub(crate) fn before(self, offset: u64) -> Result<Self, Refusal> {
        let addr = self.0.checked_sub(offset).ok_or(Refusal::OutOfText)?;
        Ok(Self(addr))
    }

    /// Returns the distance from this address to `to`, if it fits 32 signed bits.
    pub(crate) fn reach(self, to: Self) -> Result<i32, Refusal> {
        // Wrapping is right: an address near the top is close to one near zero.
        let distance = to.0.wrapping_sub(self.0) as i64;
        i32::try_from(distance).map_err(|_| Refusal::TooFar)
    }
}

/// Text from one address up to, not including, another.
///
/// # Invariants
///
/// `start <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextRange {
    start: TextAddr,
    end: TextAddr,
}

impl TextRange {
    /// Returns the text between two addresses; empty if the end comes first.
    pub(crate) fn new(start: TextAddr, end: TextAddr) -> Self {
        // INVARIANT: The larger of the two is not below `start`.
        Self {
            start,
            end: end.max(start),
        }
    }

    /// Returns the range of `len` bytes from `start`.
    pub(crate) fn with_len(start: TextAddr, len: u64) -> Result<Self, Refusal> {
        // INVARIANT: `after` does not wrap.
        Ok(Self {
            start,
            end: start.after(len)?,
        })
    }

    /// Returns the first address.
    pub(crate) fn start(&self) -> TextAddr {
        self.start
    }

    /// Returns the address after the last one.
    pub(crate) fn end(&self) -> TextAddr {
        self.end
    }

    /// Returns whether this address is in the range.
    pub(crate) fn contains(&self, at: TextAddr) -> bool {
        self.start <= at && at < self.end
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_addr))]
mod tests {
    use super::*;

    const TOP: TextAddr = TextAddr::new(u64::MAX);
    const BASE: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);

    #[test]
    fn arithmetic_that_would_wrap_is_refused() {
        assert_eq!(BASE.after(4), Ok(TextAddr::new(0xffff_ffff_8100_0004)));
        assert_eq!(BASE.before(4), Ok(TextAddr::new(0xffff_ffff_80ff_fffc)));
        assert_eq!(TOP.after(0), Ok(TOP));
        assert_eq!(TOP.after(1), Err(Refusal::OutOfText));
        assert_eq!(TextAddr::new(3).before(4), Err(Refusal::OutOfText));
    }

    #[test]
    fn reach_is_signed_and_32_bits_wide() {
        let far = 0x8000_0000;
        assert_eq!(BASE.after(7).and_then(|to| BASE.reach(to)), Ok(7));
        assert_eq!(BASE.before(7).and_then(|to| BASE.reach(to)), Ok(-7));
        assert_eq!(TOP.reach(TextAddr::new(0)), Ok(1));
        assert_eq!(BASE.before(far).and_then(|to| BASE.reach(to)), Ok(i32::MIN));
        assert_eq!(
            TextAddr::new(0).reach(TextAddr::new(far)),
            Err(Refusal::TooFar)
        );
    }

    #[test]
    fn range_includes_its_start_and_excludes_its_end() {
        let range = TextRange::new(TextAddr::new(16), TextAddr::new(32));
        assert!(!range.contains(TextAddr::new(15)));
        assert!(range.contains(TextAddr::new(16)));
        assert!(range.contains(TextAddr::new(31)));
        assert!(!range.contains(TextAddr::new(32)));
        assert_eq!(TextRange::with_len(TextAddr::new(16), 16), Ok(range));
    }

    #[test]
    fn backward_range_is_empty_and_wrapping_one_refused() {
        let backwards = TextRange::new(TextAddr::new(32), TextAddr::new(16));
        assert!(!backwards.contains(TextAddr::new(16)));
        assert!(!backwards.contains(TextAddr::new(32)));
        assert_eq!(TextRange::with_len(TOP, 1), Err(Refusal::OutOfText));
    }
}
