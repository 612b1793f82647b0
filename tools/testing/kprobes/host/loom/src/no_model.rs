// SPDX-License-Identifier: GPL-2.0

//! What `memory` asks of `loom_kit`, without loom: there is no model, so nothing to watch.

pub(crate) use std::thread;

#[derive(Clone, Default)]
pub(crate) struct Nothing;

pub(crate) type Readers = Nothing;
pub(crate) type Reading = Nothing;
pub(crate) type Watched = Nothing;

impl Nothing {
    pub(crate) fn look(&self, _else_say: &str) {}
    pub(crate) fn have(&self) {}
    pub(crate) fn free(&self) {}
    pub(crate) fn set(&self, _is_there: bool) {}
    pub(crate) fn read_side(&self) -> Self {
        Self
    }
    pub(crate) fn are_gone(&self) -> bool {
        true
    }
}

pub(crate) fn in_model() -> bool {
    false
}

pub(crate) fn is_weak(_what: &str) -> bool {
    false
}
