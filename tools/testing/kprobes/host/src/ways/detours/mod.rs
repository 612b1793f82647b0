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
        not_optimized::{
            NotOptimized,
            Reason, //
        },
        surroundings::Surroundings,
        symbol, //
    },
    x86::{
        detour::Copied,
        indirect::Indirect,
        region::Region,
        ways::{
            self,
            Build,
            Way,
            Ways, //
        }, //
    },
};
use image::{
    images,
    Image, //
};

/// Where copies are put: as far from most of the text as a module may be.
const THERE: TextAddr = TextAddr::new(0xffff_ffff_c000_0000);

fn range(from: u64, to: u64) -> TextRange {
    TextRange::new(TextAddr::new(from), TextAddr::new(to))
}

/// A function, with all that has to be known of it once.
struct Function {
    text: TextRange,
    build: Build,
    ways: Result<Vec<Way>, NotOptimized>,
}

impl Function {
    /// What is at `text`.
    fn of(
        text: TextRange,
        build: Build,
        read: &mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>,
    ) -> Self {
        let mut found = Vec::new();
        let ways = ways::each(text, text, build, read, &mut |way| {
            found.push(way);
            Ok(())
        });
        found.sort();
        Self {
            text,
            build,
            ways: ways.map(|()| found),
        }
    }

    /// What is there in the image.
    fn in_image(image: &image::Image, start: u64, end: u64) -> Self {
        let mut read = |at: TextAddr, into: &mut [u8]| image.read_text(at, into);
        let mut found = Self::of(range(start, end), image.build, &mut read);
        let others = image.is_led_into(start);
        let led = ways::led(others, image.build);
        found.ways = found.ways.and_then(|ways| led.map(|()| ways));
        found
    }

    fn region(
        &mut self,
        at: u64,
        around: &impl Surroundings,
        read: &mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>,
    ) -> Result<Region, NotOptimized> {
        let found = self.ways.as_mut().map_err(|reason| *reason)?;
        let ways = Ways::in_order(found);
        Region::of(
            TextAddr::new(at),
            self.text,
            &ways,
            self.build,
            around,
            read,
        )
    }
}
