// SPDX-License-Identifier: GPL-2.0

//! What was found out about parts of modules of late.
//!
//! Reading a module's tables takes longer the more there is in them, and who probes a module once
//! will do so again. What was read is kept until that module comes, is there, or goes. While it is
//! coming the kernel changes its tables, and it may come to nothing, which nobody would say who
//! says that it comes later. So what was read then is kept only while the registry is locked.

use super::{
    Loaded,
    Pin, //
};
use crate::model::addr::{
    TextAddr,
    TextRange, //
};
use kernel::prelude::*;

/// How many parts of modules have something kept.
const MOST_PARTS: usize = 64;

/// What is kept for parts of modules.
pub(crate) struct Kept<T>(KVec<Part<T>>);

/// What is kept for one of them.
struct Part<T> {
    text: TextRange,
    /// Was the module coming?
    coming: bool,
    found: T,
}

impl<T> Kept<T> {
    /// Nothing.
    pub(crate) const NONE: Self = Self(KVec::new());

    /// Is there something for the part of a module that `at` is in?
    pub(crate) fn has(&self, at: TextAddr) -> bool {
        self.position(at).is_some()
    }

    /// What there is for the part of `module` that `at` is in. If nothing is, `read` reads it;
    /// `cannot` is what to say if it cannot be kept.
    pub(crate) fn of<E>(
        &mut self,
        module: &Pin,
        at: TextAddr,
        cannot: E,
        read: impl FnOnce(TextRange) -> Result<T, E>,
    ) -> Result<&T, E> {
        let number = match (self.position(at), module.part(at)) {
            (Some(number), _) => number,
            (None, None) => return Err(cannot),
            (None, Some(text)) => {
                let coming = module.is_coming();
                let part = Part {
                    text,
                    coming,
                    found: read(text)?,
                };
                if self.0.len() >= MOST_PARTS {
                    self.0 = KVec::new();
                }
                if self.0.push(part, GFP_KERNEL).is_err() {
                    return Err(cannot);
                }
                self.0.len() - 1
            }
        };
        self.0.get(number).map(|part| &part.found).ok_or(cannot)
    }

    /// The registry was unlocked since this was last asked, or may have been.
    pub(crate) fn begin_turn(&mut self) {
        if self.0.iter().any(|part| part.coming) {
            self.0.retain(|part| !part.coming);
        }
    }

    /// What is there for a module may not be true any more.
    pub(crate) fn forget(&mut self, module: Loaded) {
        self.0.retain(|part| !module.has(part.text.start()));
    }

    fn position(&self, at: TextAddr) -> Option<usize> {
        self.0.iter().position(|part| part.text.contains(at))
    }
}
