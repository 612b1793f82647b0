// SPDX-License-Identifier: GPL-2.0

//! Text metadata, as far as the optimizer needs it.
//!
//! A jump is longer than a breakpoint, so it replaces bytes that other code may branch to, change
//! or read. The kernel has tables of such code. An implementation of [`TextMetadata`] reads these
//! tables, so the pure code that decides about jumps does not.

use super::{
    addr::{
        TextAddr,
        TextRange, //
    },
    no_jump::NoJump,
    symbol::SplitGroup, //
};

/// Questions about the text of an image.
pub(crate) trait TextMetadata {
    /// Returns the text of the image: the kernel, or a part of a module.
    fn image(&self) -> TextRange;

    /// Returns why no jump may be over these bytes, if other code changes or reads any of them.
    fn reserved_by(&self, within: TextRange) -> Option<NoJump>;

    /// Returns whether the exception table has an entry for the instruction at `at`.
    fn may_fault(&self, at: TextAddr) -> bool;

    /// Returns an address in these bytes, other than the start of a function, that is the target of
    /// a branch of another function. A part that the compiler split from a function is another
    /// function.
    fn branch_target(&self, within: TextRange) -> Option<TextAddr>;

    /// Returns an address in these bytes that is the target of a jump label, enabled or not.
    fn label_target(&self, within: TextRange) -> Option<TextAddr>;

    /// Returns an address in these bytes that is the fixup of an exception.
    fn fixup_target(&self, within: TextRange) -> Option<TextAddr>;

    /// Returns whether a group of [`SplitGroup::leading_here`] has an indirect jump that may lead
    /// anywhere in a function of this group.
    fn has_indirect_jump_into(&self, group: SplitGroup) -> bool;

    /// Returns whether kCFI traps at `at` when the target of an indirect call fails its check.
    fn is_call_check(&self, at: TextAddr) -> bool;
}

/// Metadata for tests, of text that no other code branches to, changes or reads.
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
pub(crate) struct Alone;

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
impl TextMetadata for Alone {
    fn image(&self) -> TextRange {
        TextRange::new(TextAddr::new(0), TextAddr::new(u64::MAX))
    }

    fn reserved_by(&self, _within: TextRange) -> Option<NoJump> {
        None
    }

    fn may_fault(&self, _at: TextAddr) -> bool {
        false
    }

    fn branch_target(&self, _within: TextRange) -> Option<TextAddr> {
        None
    }

    fn label_target(&self, _within: TextRange) -> Option<TextAddr> {
        None
    }

    fn fixup_target(&self, _within: TextRange) -> Option<TextAddr> {
        None
    }

    fn has_indirect_jump_into(&self, _group: SplitGroup) -> bool {
        false
    }

    fn is_call_check(&self, _at: TextAddr) -> bool {
        false
    }
}
