// SPDX-License-Identifier: GPL-2.0

//! Where branches lead that leave their function, if not to the start of another one.
//!
//! There are few, but all text of an image has to be decoded to know them. For the kernel proper
//! that is done once: alternatives are chosen at boot, and jump labels lead to where they lead.
//! What is there for the kernel's beginning alone is not looked at; no jump is worth it.
//!
//! Each piece of text, from one symbol to the next, and what is before the first, is read under the
//! lock of text: an instruction of which a part has been written is none. What cannot be decoded
//! even so is data, and where instructions start there nobody knows. So one may start at each byte,
//! which tells of some branches that there are not, and of all that there are. If text cannot be
//! read at all, nothing is known.

use super::{
    index::{
        Entry,
        Kind, //
    },
    pieces::{
        self,
        Symbol, //
    },
    tables, //
};
use crate::{
    prelude::*,
    sys::{
        modules::Pin,
        sort,
        text, //
    }, //
};
use kernel::prelude::*;

/// Tells where the branches of a piece of text lead that leave it, while nobody changes text; the
/// second range is the image. Returns whether one may lead anywhere in the function that the piece
/// is of, or was split from.
pub(crate) type Leaving<'a> = &'a mut dyn FnMut(
    TextRange,
    TextRange,
    Found<'_>,
    &mut text::Lock,
) -> Result<bool, NotOptimized>;

/// Is told of each.
pub(crate) type Found<'a> = &'a mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>;

/// What was found in an image.
pub(super) struct BranchTargets {
    /// In order.
    pub(super) entries: KVVec<Entry>,
    /// The groups of functions with an indirect jump that may lead anywhere, in order.
    jumping: KVVec<SplitGroup>,
}

impl BranchTargets {
    /// Looks through `text` of an image, which is a part of `module` or the kernel. The caller does
    /// not hold the lock of text.
    pub(super) fn read(
        module: Option<&Pin>,
        image: TextRange,
        text: TextRange,
        leaving: Leaving<'_>,
    ) -> Result<Self, NotOptimized> {
        let symbols = tables::symbols(module, text).map_err(|_| Reason::NoMemory)?;
        let (mut entries, mut jumping) = (KVVec::new(), KVVec::new());
        let is_start = |to: &TextAddr| symbols.binary_search_by_key(to, |other| other.at).is_ok();
        for (piece, names) in pieces::pieces(text, &symbols) {
            let mut found = |to| {
                let entry = Entry::new(image.start(), to, Kind::BranchTarget, 0);
                match entry.filter(|_| text.contains(to) && !is_start(&to)) {
                    Some(entry) => put(&mut entries, entry),
                    None => Ok(()),
                }
            };
            if leaving(piece, image, &mut found, &mut text::Lock::new())? {
                let mut groups = names.iter().map(|symbol| symbol.group);
                groups.try_for_each(|group| put(&mut jumping, group))?;
            }
            text::let_others_run();
        }
        sort::ascending(&mut entries);
        let mut last = None;
        entries.retain(|&mut entry| last.replace(entry) != Some(entry));
        add_other_names(&symbols, &mut jumping)?;
        Ok(Self { entries, jumping })
    }

    /// May an indirect jump of what belongs together with a function of this group lead there?
    pub(super) fn jumps_in(&self, group: SplitGroup) -> bool {
        let mut from = group.leading_here();
        from.any(|one| self.jumping.binary_search(&one).is_ok())
    }
}

/// Puts these groups in order. A function may have several names, and its parts have one of them;
/// it may be asked for by another one. So where one name of an address is that of parts that jump,
/// the parts of the other names count as well.
fn add_other_names(
    symbols: &[Symbol],
    jumping: &mut KVVec<SplitGroup>,
) -> Result<(), NotOptimized> {
    sort::ascending(jumping);
    let mut others = KVVec::new();
    let several = pieces::by_address(symbols).filter(|names| names.len() > 1);
    for names in several.filter(|_| !jumping.is_empty()) {
        let mut parts = names.iter().map(|symbol| symbol.group.of_parts());
        if parts
            .clone()
            .any(|group| jumping.binary_search(&group).is_ok())
        {
            parts.try_for_each(|group| put(&mut others, group))?;
        }
    }
    others.iter().try_for_each(|&group| put(jumping, group))?;
    sort::ascending(jumping);
    Ok(())
}

fn put<T>(list: &mut KVVec<T>, one: T) -> Result<(), NotOptimized> {
    let pushed = list.push(one, GFP_KERNEL);
    pushed.map_err(|_| Reason::NoMemory.into())
}
