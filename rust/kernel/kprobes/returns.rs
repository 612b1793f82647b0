// SPDX-License-Identifier: GPL-2.0

//! How many calls a return probe can watch at once.
//!
//! Each call that is watched takes room while it lasts. There is some in store from the beginning;
//! a call that finds none is not watched, and counted as missed. The Rust implementation of kprobes
//! makes more of it when there was too little.

use super::{
    Place,
    ProcessContext,
    Refused,
    ReturnHandler,
    ReturnProbe, //
};
use crate::prelude::*;

impl<T: ReturnHandler> ReturnProbe<T> {
    /// As [`register`](super::Registration::register), with room for `calls` calls at once to begin
    /// with. Else there is room for two on each CPU, and at least ten.
    #[inline]
    pub fn register_for<E>(
        here: &ProcessContext,
        place: Place<'_>,
        calls: u32,
        state: impl PinInit<T::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        Self::register_with(here, place, state, |raw| {
            raw.maxactive = c_int::try_from(calls).unwrap_or(c_int::MAX);
        })
    }

    /// Makes room for `calls` calls at once: so many are never missed for want of it.
    #[cfg(CONFIG_RUST_KPROBES)]
    pub fn reserve(&self, here: &ProcessContext, calls: u32) -> Result<(), Refused> {
        use super::Reason;
        use crate::{
            bindings,
            error::to_result, //
        };

        here.check()?;
        // SAFETY: It is registered.
        to_result(unsafe { bindings::kretprobe_reserve(self.site().raw(), calls) }).map_err(
            |error| {
                let reason = match error {
                    ENOMEM => Reason::NoMemory,
                    _ => Reason::Other,
                };
                Refused::with(reason, error)
            },
        )
    }
}
