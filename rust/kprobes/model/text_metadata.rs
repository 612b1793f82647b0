// SPDX-License-Identifier: GPL-2.0

//! What the kernel's tables say of text, as far as a jump in the place of a breakpoint asks.
//!
//! A jump is longer than a breakpoint, so it is over bytes that others may come to, change or read.
//! Who does stands in tables of the kernel; who has them answers these questions, and who decides
//! about jumps needs no table.

use super::{
    addr::{
        TextAddr,
        TextRange, //
    },
    not_optimized::Reason,
    symbol::SplitGroup, //
};

/// What the kernel's tables say of text.
pub(crate) trait TextMetadata {
    /// The text of the image that this is about: the kernel, or a part of a module.
    fn image(&self) -> TextRange;

    /// Who changes or reads some of these bytes, if anybody does.
    fn owner(&self, within: TextRange) -> Option<Reason>;

    /// Is the instruction at `at` expected to fault?
    fn may_fault(&self, at: TextAddr) -> bool;

    /// An address in these bytes, not the start of a function, that a branch of another function
    /// leads to. What the compiler split from a function is another one here.
    fn branch_target(&self, within: TextRange) -> Option<TextAddr>;

    /// An address in these bytes that a jump label leads to, whether or not it jumps now.
    fn label_target(&self, within: TextRange) -> Option<TextAddr>;

    /// An address in these bytes at which execution goes on after an exception.
    fn fixup_target(&self, within: TextRange) -> Option<TextAddr>;

    /// May a jump of what was split from a function of this group, or in a part, of the function
    /// itself, lead anywhere in it?
    fn jumps_in(&self, group: SplitGroup) -> bool;

    /// Is there a trap at `at` that means that the target of an indirect call has failed its check?
    fn is_call_check(&self, at: TextAddr) -> bool;
}

/// Nobody else is there: for tests.
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
