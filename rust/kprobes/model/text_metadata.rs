// SPDX-License-Identifier: GPL-2.0

//! Text metadata, as far as the optimizer needs it.
//!
//! A jump is longer than a breakpoint, so it replaces bytes that other code may branch to, change
//! or read. The kernel has tables of such code. An implementation of [`TextMetadata`] reads these
//! tables, so that the pure code that decides about jumps needs none.

use super::{
    addr::{
        TextAddr,
        TextRange, //
    },
    not_optimized::Reason,
    symbol::SplitGroup, //
};

/// Questions about the text of an image.
pub(crate) trait TextMetadata {
    /// The text of the image: the kernel, or a part of a module.
    fn image(&self) -> TextRange;

    /// Why no jump may be over these bytes, if others change or read any of them.
    fn owner(&self, within: TextRange) -> Option<Reason>;

    /// Does the exception table have an entry for the instruction at `at`?
    fn may_fault(&self, at: TextAddr) -> bool;

    /// An address in these bytes, other than the start of a function, that is the target of a
    /// branch of another function. A part that the compiler split from a function is another
    /// function.
    fn branch_target(&self, within: TextRange) -> Option<TextAddr>;

    /// An address in these bytes that is the target of a jump label, whether it jumps now or not.
    fn label_target(&self, within: TextRange) -> Option<TextAddr>;

    /// An address in these bytes that is the fixup of an exception.
    fn fixup_target(&self, within: TextRange) -> Option<TextAddr>;

    /// May an indirect jump of a part of a function of this group, or of the function to its part,
    /// lead anywhere in it?
    fn jumps_in(&self, group: SplitGroup) -> bool;

    /// Does kCFI trap at `at` when the target of an indirect call fails its check?
    fn is_call_check(&self, at: TextAddr) -> bool;
}

/// Metadata of text that no other code branches to, changes or reads: for tests.
#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
pub(crate) struct Alone;

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
impl TextMetadata for Alone {
    fn image(&self) -> TextRange {
        TextRange::new(TextAddr::new(0), TextAddr::new(u64::MAX))
    }

    fn owner(&self, _within: TextRange) -> Option<Reason> {
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

    fn jumps_in(&self, _group: SplitGroup) -> bool {
        false
    }

    fn is_call_check(&self, _at: TextAddr) -> bool {
        false
    }
}
