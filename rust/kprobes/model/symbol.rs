// SPDX-License-Identifier: GPL-2.0

//! Names of symbols.
//!
//! Compilers split functions: `do_exit.part.0` is a part of `do_exit`. If a function must not be
//! probed, its parts must not be probed either.

use core::ffi::CStr;

/// Returns the function that the symbol in `name` (up to its NUL) was split from, if any.
///
/// Cuts the name in its buffer.
pub(crate) fn split_from(name: &mut [u8]) -> Option<&CStr> {
    let end = name.iter().position(|&byte| byte == b'.' || byte == 0)?;
    let byte = name.get_mut(end)?;
    if *byte == 0 {
        return None;
    }
    *byte = 0;
    CStr::from_bytes_until_nul(name).ok()
}

/// The kind of text that a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// A function.
    Function,
    /// Bytes before a function that indirect calls check or skip.
    Preamble,
    /// The trampoline of a static call: a jump that the kernel patches when its target changes.
    Trampoline,
}

/// Returns the kind of text that a symbol names.
pub(crate) fn kind(name: &CStr) -> FunctionKind {
    let name = name.to_bytes();
    if name.starts_with(b"__cfi_") || name.starts_with(b"__pfx_") {
        FunctionKind::Preamble
    } else if name.starts_with(b"__SCT__") {
        FunctionKind::Trampoline
    } else {
        FunctionKind::Function
    }
}

/// The split-function group of a name: a hash, and whether the name belongs to a part. A function
/// and the parts that the compiler has split from it have the same hash. Other names may have the
/// same hash by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SplitGroup(u32);

/// The bit that marks a part.
const PART: u32 = 1;

impl SplitGroup {
    /// Makes the group of no function, for tests.
    #[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
    pub(crate) const fn of_test(number: u32) -> Self {
        Self(number)
    }

    /// Returns the group of the parts that were split from the same function.
    pub(crate) fn of_parts(self) -> Self {
        Self(self.0 | PART)
    }

    /// Returns the groups whose indirect jumps may target this function: the group of its parts,
    /// and for a part also the group of the whole function, but not other functions of that name.
    pub(crate) fn leading_here(self) -> impl Iterator<Item = Self> {
        let whole = (self.0 & PART != 0).then_some(Self(self.0 & !PART));
        [Some(self.of_parts()), whole].into_iter().flatten()
    }
}

/// Returns the group of a symbol.
pub(crate) fn split_group(name: &CStr) -> SplitGroup {
    let (start, factor) = (0x811c_9dc5_u32, 0x0100_0193);
    let bytes = || name.to_bytes().iter();
    let base = bytes().take_while(|&&byte| byte != b'.');
    let number = base.fold(start, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(factor)
    });
    let part = PART * u32::from(bytes().any(|&byte| byte == b'.'));
    SplitGroup(number & !PART | part)
}

/// Returns whether kallsyms lists a module's symbol of this name. It does not list symbols without
/// a name and mapping symbols (C's `is_mapping_symbol()`).
pub(crate) fn is_listed(name: &CStr) -> bool {
    !matches!(
        name.to_bytes(),
        [] | [b'$', ..] | [b'.', b'L', ..] | [b'L', b'0', ..]
    )
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_symbol))]
mod tests {
    use super::*;

    fn whole<const N: usize>(mut name: [u8; N], expected: Option<&CStr>) -> bool {
        split_from(&mut name) == expected
    }

    #[test]
    fn split_parts_are_in_the_group_of_their_function() {
        let whole = split_group(c"do_exit");
        for name in [c"do_exit.cold", c"do_exit.part.0.cold"] {
            assert_eq!(split_group(name), whole.of_parts());
        }
        for name in [c"", c"do_exi", c"do_exit1", c"do_tixe"] {
            assert!(split_group(name).of_parts() != whole.of_parts());
        }
    }

    #[test]
    fn jumps_may_lead_between_a_function_and_its_parts() {
        let whole = split_group(c"m_show");
        let part = split_group(c"m_show.cold");
        assert!(whole.leading_here().eq([part]));
        assert!(part.leading_here().eq([part, whole]));
    }

    #[test]
    fn mapping_symbols_and_empty_names_are_not_listed() {
        for name in [c"", c"$x", c".L5", c"L0", c"L0\x01"] {
            assert!(!is_listed(name));
        }
        for name in [c"f", c".text", c"L1", c"x$"] {
            assert!(is_listed(name));
        }
    }

    #[test]
    fn suffixes_are_cut_at_the_first_dot() {
        assert!(whole(*b"do_exit.part.0\0", Some(c"do_exit")));
        assert!(whole(*b"schedule.cold\0left\0", Some(c"schedule")));
        assert!(whole(*b".entry\0", Some(c"")));
    }

    #[test]
    fn preambles_and_trampolines_are_known_by_prefix() {
        assert_eq!(kind(c"__cfi_do_exit"), FunctionKind::Preamble);
        assert_eq!(kind(c"__pfx_do_exit"), FunctionKind::Preamble);
        assert_eq!(kind(c"__SCT__x86_idle"), FunctionKind::Trampoline);
        for name in [c"do_exit", c"__cfi", c"__SCK__x86_idle", c""] {
            assert_eq!(kind(name), FunctionKind::Function);
        }
    }

    #[test]
    fn names_without_a_suffix_are_split_from_no_function() {
        assert!(whole(*b"do_exit\0", None));
        assert!(whole(*b"do_exit\0.part.0\0", None));
        assert!(whole(*b"", None));
    }
}
