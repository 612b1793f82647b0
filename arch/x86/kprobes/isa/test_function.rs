// SPDX-License-Identifier: GPL-2.0

//! A function and its text metadata, for tests.
//!
//! The text of the function starts at [`START`]. Code that was split from the function may be at
//! [`ELSEWHERE`]. All addresses are offsets from the start of the function.

use super::{
    branch_targets::{
        self,
        Branch,
        Indirect, //
    },
    region::Region, //
};
use crate::{
    model::text_metadata::TextMetadata,
    prelude::*, //
};

pub(super) const START: TextAddr = TextAddr::new(0xffff_ffff_8100_0000);
/// The offset of the code that was split from the function.
pub(super) const ELSEWHERE: u64 = 0x10_0000;

/// The group of the function and that code.
const GROUP: SplitGroup = SplitGroup::of_test(7);

/// The most branches into the function.
const MOST: usize = 8;

pub(super) fn at(offset: u64) -> TextAddr {
    TextAddr::new(START.get().wrapping_add(offset))
}

fn range(from: u64, len: usize) -> TextRange {
    TextRange::new(at(from), at(from + len as u64))
}

#[derive(Clone, Copy)]
pub(super) struct Pretend<'a> {
    pub(super) text: &'a [u8],
    /// The code that was split from the function.
    pub(super) cold: &'a [u8],
    pub(super) indirect: Indirect,
    pub(super) entered: Option<u64>,
    pub(super) label: Option<u64>,
    pub(super) fixup: Option<u64>,
    pub(super) faults: Option<u64>,
    /// A byte, and its other user.
    pub(super) owner: Option<(u64, NoJumpReason)>,
    pub(super) trap: Option<u64>,
}

impl<'a> Pretend<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            text,
            cold: &[],
            indirect: Indirect::Anywhere(None),
            entered: None,
            label: None,
            fixup: None,
            faults: None,
            owner: None,
            trap: None,
        }
    }

    /// Returns the region of a probe at that offset.
    pub(super) fn region(&self, offset: u64) -> Result<Region, NoJump> {
        let (mut list, mut count) = ([Branch::EMPTY; MOST], 0);
        let function = range(0, self.text.len());
        let mut read = |at, into: &mut [u8]| self.read(at, into);
        let found = &mut |branch| {
            // Keeps the list sorted.
            let behind = list
                .iter()
                .take(count)
                .filter(|&&other| other <= branch)
                .count();
            count += 1;
            let rest = list.get_mut(behind..count);
            rest.ok_or(NoJumpReason::NoMemory)?.rotate_right(1);
            list[behind] = branch;
            Ok(())
        };
        branch_targets::branches_into(function, GROUP, self.indirect, self, &mut read, found)?;
        let list = list.get_mut(..count).unwrap_or_default();
        Region::find(at(offset), function, list, self, &mut read)
    }

    /// Reports the branches that leave the code at [`ELSEWHERE`]. Returns whether that code has an
    /// indirect jump.
    fn search(&self, found: &mut dyn FnMut(TextAddr)) -> bool {
        let mut read = |at, into: &mut [u8]| self.read(at, into);
        let piece = range(ELSEWHERE, self.cold.len());
        let jumps = branch_targets::branches_out_of(piece, self.indirect, &mut read, &mut |to| {
            found(to);
            Ok(())
        });
        jumps == Ok(true)
    }

    fn read(&self, from: TextAddr, into: &mut [u8]) -> Option<()> {
        let offset = from.get().checked_sub(START.get())?;
        let (bytes, offset) = match offset.checked_sub(ELSEWHERE) {
            Some(offset) => (self.cold, offset),
            None => (self.text, offset),
        };
        let start = usize::try_from(offset).ok()?;
        into.copy_from_slice(bytes.get(start..start.checked_add(into.len())?)?);
        Some(())
    }
}

impl TextMetadata for Pretend<'_> {
    fn image(&self) -> TextRange {
        range(0, self.text.len())
    }

    fn reserved_by(&self, within: TextRange) -> Option<NoJump> {
        let (offset, owner) = self.owner?;
        within.contains(at(offset)).then(|| owner.at(at(offset)))
    }

    fn may_fault(&self, insn: TextAddr) -> bool {
        self.faults.map(at) == Some(insn)
    }

    fn branch_target(&self, within: TextRange) -> Option<TextAddr> {
        let mut entered = self.entered.map(at).filter(|&to| within.contains(to));
        self.search(&mut |to| {
            if within.contains(to) {
                entered = Some(to);
            }
        });
        entered
    }

    fn label_target(&self, within: TextRange) -> Option<TextAddr> {
        self.label.map(at).filter(|&label| within.contains(label))
    }

    fn fixup_target(&self, within: TextRange) -> Option<TextAddr> {
        self.fixup.map(at).filter(|&fixup| within.contains(fixup))
    }

    fn has_indirect_jump_into(&self, group: SplitGroup) -> bool {
        group == GROUP && self.search(&mut |_| ())
    }

    fn is_call_check(&self, trap: TextAddr) -> bool {
        self.trap.map(at) == Some(trap)
    }
}
