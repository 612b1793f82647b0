// SPDX-License-Identifier: GPL-2.0

//! The targets of branches that leave their function, except for the starts of other functions.
//!
//! There are few such targets, but all text of an image has to be decoded to find them. For the
//! kernel proper that is done once: alternatives are chosen at boot, and the targets of jump labels
//! do not change. Init text is not decoded; no jump is worth that.
//!
//! Each piece of text, from one symbol to the next, and the text before the first symbol, is read
//! under the text lock, as a partly written instruction cannot be decoded. Bytes that still cannot
//! be decoded are data. In data, the search takes each byte for the start of an instruction, so it
//! finds all branches that exist, and some that do not. If text cannot be read, no branch is known.

use super::{
    index::{
        self,
        EntryKind,
        Symbol,
        TextEntry, //
    },
    tables, //
};
use crate::{
    prelude::*,
    sys::{
        modules::ModRef,
        sort,
        text, //
    }, //
};
use kernel::prelude::*;

/// Calls [`OnTarget`] with the target of each branch that leaves a piece of text, while no task
/// changes text; the second range is the image. Returns whether a branch may lead anywhere in the
/// function that the piece belongs to, or was split from.
pub(crate) type FindBranches<'a> =
    &'a mut dyn FnMut(TextRange, TextRange, OnTarget<'_>, &mut text::Lock) -> Result<bool, NoJump>;

/// A function that is called with each target.
pub(crate) type OnTarget<'a> = &'a mut dyn FnMut(TextAddr) -> Result<(), NoJump>;

/// The branch targets of an image.
pub(super) struct ForeignTargets {
    /// The targets, in order.
    pub(super) entries: KVVec<TextEntry>,
    /// The groups of functions with an indirect jump that may lead anywhere, in order.
    indirect: KVVec<SplitGroup>,
}

impl ForeignTargets {
    /// Finds the branch targets in `text` of an image, which is a part of `module` or the kernel.
    /// The caller does not hold the text lock. Without `find`, no branch is looked for.
    pub(super) fn read(
        module: Option<&ModRef>,
        image: TextRange,
        text: TextRange,
        find: Option<FindBranches<'_>>,
    ) -> Result<Self, NoJump> {
        let (mut entries, mut indirect) = (KVVec::new(), KVVec::new());
        let Some(find) = find else {
            return Ok(Self { entries, indirect });
        };
        let symbols = tables::symbols(module, text).map_err(|_| NoJumpReason::NoMemory)?;
        let is_start = |to: &TextAddr| symbols.binary_search_by_key(to, |other| other.at).is_ok();
        for (piece, names) in index::pieces(text, &symbols) {
            let mut found = |to| {
                let entry = TextEntry::new(image.start(), to, EntryKind::BranchTarget, 0);
                match entry.filter(|_| text.contains(to) && !is_start(&to)) {
                    Some(entry) => Ok(entries.push(entry, GFP_KERNEL)?),
                    None => Ok(()),
                }
            };
            if find(piece, image, &mut found, &mut text::Lock::new())? {
                let mut groups = names.iter().map(|symbol| symbol.group);
                groups.try_for_each(|group| indirect.push(group, GFP_KERNEL))?;
            }
            text::cond_resched();
        }
        sort::ascending(&mut entries);
        let mut last = None;
        entries.retain(|&mut entry| last.replace(entry) != Some(entry));
        add_other_names(&symbols, &mut indirect)?;
        Ok(Self { entries, indirect })
    }

    /// Returns whether a group of [`SplitGroup::leading_here`] has an indirect jump that may lead
    /// anywhere in a function of this group.
    pub(super) fn has_indirect_jump_into(&self, group: SplitGroup) -> bool {
        let mut from = group.leading_here();
        from.any(|one| self.indirect.binary_search(&one).is_ok())
    }
}

/// Sorts these groups. A function may have several names, and its parts have one of them; a lookup
/// may use another name. So if the parts of one name at an address have indirect jumps, the parts
/// of the other names at the address count as well.
fn add_other_names(symbols: &[Symbol], indirect: &mut KVVec<SplitGroup>) -> Result<(), NoJump> {
    sort::ascending(indirect);
    let known = indirect.len();
    for names in index::by_address(symbols).filter(|names| names.len() > 1) {
        let mut parts = names.iter().map(|symbol| symbol.group.of_parts());
        let sorted = indirect.get(..known).unwrap_or_default();
        let is_known = |group| sorted.binary_search(&group).is_ok();
        if parts.clone().any(is_known) {
            parts.try_for_each(|group| indirect.push(group, GFP_KERNEL))?;
        }
    }
    sort::ascending(indirect);
    Ok(())
}
