// SPDX-License-Identifier: GPL-2.0

//! What was found out about parts of modules of late.
//!
//! Reading a module's tables takes longer the more there is in them, and who probes a module once
//! will do so again. What was read is kept until a module comes, is there, or goes: while a module
//! is coming the kernel changes its tables.

use super::Pin;
use crate::model::addr::{
    TextAddr,
    TextRange, //
};
use kernel::prelude::*;

/// How many parts of modules have something kept.
const MOST_PARTS: usize = 64;

/// What is kept for parts of modules.
pub(crate) struct Kept<T>(KVec<(TextRange, T)>);

impl<T> Kept<T> {
    /// Nothing.
    pub(crate) const NONE: Self = Self(KVec::new());

    /// Is there something for the part of `module` that `at` is in, which will be as it is?
    pub(crate) fn has(&self, module: &Pin, at: TextAddr) -> bool {
        !module.is_coming() && self.position(at).is_some()
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
        // It may come to nothing yet, and nobody would say so who says that it comes later.
        if module.is_coming() {
            self.forget();
        }
        let number = match (self.position(at), module.part(at)) {
            (Some(number), _) => number,
            (None, None) => return Err(cannot),
            (None, Some(part)) => {
                let found = read(part)?;
                if self.0.len() >= MOST_PARTS {
                    self.forget();
                }
                if self.0.push((part, found), GFP_KERNEL).is_err() {
                    return Err(cannot);
                }
                self.0.len() - 1
            }
        };
        self.0.get(number).map(|(_, found)| found).ok_or(cannot)
    }

    /// What is there may not be true any more.
    pub(crate) fn forget(&mut self) {
        self.0 = KVec::new();
    }

    fn position(&self, at: TextAddr) -> Option<usize> {
        self.0.iter().position(|(part, _)| part.contains(at))
    }
}
