// SPDX-License-Identifier: GPL-2.0

//! What the files here ask of `rust/kprobes/sys/`.

#[cfg(loom)]
#[path = "../../../../../../rust/kprobes/sys/flags.rs"]
pub(crate) mod flags;
pub(crate) mod prelude {
    pub(crate) use crate::{bindings, memory::PreemptOff, prelude::*};
}
#[cfg(loom)]
pub(crate) mod probe;

impl From<crate::memory::AllocError> for crate::model::refusal::Refusal {
    fn from(_: crate::memory::AllocError) -> Self {
        Self::NoMemory
    }
}
