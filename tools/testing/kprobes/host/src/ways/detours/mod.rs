// SPDX-License-Identifier: GPL-2.0

//! Which probes may become jumps, and what their detours are made of.
//!
//! [`random`] makes functions, the same in each run; [`image`] reads built kernels, those that the
//! environment names in `KPROBES_VMLINUX`. iced says what each instruction of a detour means, and
//! where branches lead; what is emulated is run, here and in the detour. C's rule is written down
//! once more in [`stated`], so that both can be asked about each address of a kernel.

mod booted;
mod coverage;
mod image;
mod random;
mod same;
mod stated;

use super::*;
use crate::{
    model::{
        no_jump::{NoJump, NoJumpReason},
        symbol,
        text_metadata::TextMetadata,
    },
    x86::{
        branch_targets::{self, Branch, Indirect},
        layout::{DetourWriter, InsnMap, Origin, COPIED},
        region::Region,
    },
};
use image::{images, Image};

/// Where copies are put: as far from most of the text as a module may be.
const THERE: TextAddr = TextAddr::new(0xffff_ffff_c000_0000);

fn range(from: u64, to: u64) -> TextRange {
    TextRange::new(TextAddr::new(from), TextAddr::new(to))
}

/// The copied part of a detour.
struct Copied {
    detour: crate::model::code::Code,
    map: InsnMap,
    region: TextAddr,
    at: TextAddr,
}

impl Copied {
    /// Of `region`, to be at `at`.
    fn of(region: &Region, at: TextAddr) -> Result<Self, NoJump> {
        let detour = at.before(COPIED).expect("room before it");
        Ok(Self {
            detour: DetourWriter::of(region, detour, 0, at)?,
            map: InsnMap::of(region),
            region: region.at(),
            at,
        })
    }

    fn bytes(&self) -> &[u8] {
        &self.detour.bytes()[COPIED as usize..]
    }

    /// What `at` stands for in the original.
    fn original(&self, at: TextAddr) -> Option<TextAddr> {
        let into = at.get() - self.at.get();
        match self.map.origin(COPIED + into)? {
            Origin::Region(here, 0) => self.region.after(here).ok(),
            Origin::Region(..) => None,
            Origin::Callee(jump) => {
                let from = (jump - COPIED) as usize;
                let insn = decode(self.bytes().get(from..)?).ok()?;
                insn.target(self.at.after(from as u64).ok()?)
            }
        }
    }
}

/// A function, with all that has to be known of it once.
struct Function {
    text: TextRange,
    targets: Result<Vec<Branch>, NoJump>,
}

impl Function {
    /// What is at `text`.
    fn of(
        text: TextRange,
        indirect: Indirect,
        read: &mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>,
    ) -> Self {
        let mut found = Vec::new();
        let targets = branch_targets::each(text, text, indirect, read, &mut |branch| {
            found.push(branch);
            Ok(())
        });
        found.sort();
        Self {
            text,
            targets: targets.map(|()| found),
        }
    }

    /// What is there in the image.
    fn in_image(image: &image::Image, start: u64, end: u64) -> Self {
        let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
        let mut found = Self::of(range(start, end), image.indirect, &mut read);
        let others = image.is_led_into(start);
        let led = branch_targets::check_group(others, image.indirect);
        found.targets = found.targets.and_then(|targets| led.map(|()| targets));
        found
    }

    fn region(
        &mut self,
        at: u64,
        metadata: &impl TextMetadata,
        read: &mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>,
    ) -> Result<Region, NoJump> {
        let found = self.targets.as_mut().map_err(|reason| *reason)?;
        Region::find(TextAddr::new(at), self.text, found, metadata, read)
    }
}
