// SPDX-License-Identifier: GPL-2.0

//! Why places had no jump when somebody asked, where it may be otherwise the next time.
//!
//! There are few: memory was short, or a debugger had a breakpoint in the function. What lasts is
//! kept by the places themselves. Without memory for it, what is kept here is that there was none.

use crate::prelude::*;
use kernel::prelude::*;

/// Places and reasons.
pub(super) struct Lately(KVec<(TextAddr, NotOptimized)>);

impl Lately {
    /// None.
    pub(super) const NONE: Self = Self(KVec::new());

    /// Why the place at `at` had none.
    pub(super) fn why(&self, at: TextAddr) -> NotOptimized {
        let noted = self.0.iter().find(|&&(other, _)| other == at);
        noted.map_or(NotOptimized::from(Reason::NoMemory), |&(_, reason)| reason)
    }

    /// Notes it.
    pub(super) fn note(&mut self, at: TextAddr, why: NotOptimized) {
        self.forget(at);
        if why.reason != Reason::NoMemory {
            let _ = self.0.push((at, why), GFP_KERNEL);
        }
    }

    /// The place has been decided about, or goes.
    pub(super) fn forget(&mut self, at: TextAddr) {
        if self.0.is_empty() {
            return;
        }
        self.0.retain(|&mut (other, _)| other != at);
        if self.0.is_empty() {
            self.0 = KVec::new();
        }
    }
}
