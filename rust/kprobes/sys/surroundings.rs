// SPDX-License-Identifier: GPL-2.0

//! What the kernel's tables say of the text around a jump.
//!
//! TODO: `entered`, `label` and `fixup` need indexes by where branches, jump labels and fixups
//! lead, and `owner` those of all tables. Until they are there the answer is the one that refuses.

use super::text;
use crate::model::{
    addr::{
        TextAddr,
        TextRange, //
    },
    not_optimized::Owner,
    surroundings::Surroundings, //
};

/// The kernel's tables.
pub(crate) struct Tables;

impl Surroundings for Tables {
    fn owner(&self, _within: TextRange) -> Option<Owner> {
        None
    }

    fn may_fault(&self, at: TextAddr) -> bool {
        text::has_fixup(at)
    }

    fn entered(&self, within: TextRange) -> Option<TextAddr> {
        Some(within.start())
    }

    fn label(&self, within: TextRange) -> Option<TextAddr> {
        Some(within.start())
    }

    fn fixup(&self, within: TextRange) -> Option<TextAddr> {
        Some(within.start())
    }

    fn is_call_check(&self, at: TextAddr) -> bool {
        text::is_cfi_trap(at)
    }
}
