// SPDX-License-Identifier: GPL-2.0

//! The number of calls that a return probe can hook at once.
//!
//! Each hooked call needs an instance while it runs. Some are allocated at registration; a call
//! that finds none is not hooked, and is counted as missed. The Rust implementation of kprobes
//! allocates more if there were too few.

use super::{
    Place,
    ProcessContext,
    Reason,
    Refused,
    ReturnHandler,
    ReturnProbe, //
};
use crate::{
    bindings,
    prelude::*, //
};

impl<T: ReturnHandler> ReturnProbe<T> {
    /// As [`register`](super::Registration::register), with room for `calls` calls at once. By
    /// default there is room for two calls on each CPU, and for at least ten.
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
        // C counts the bytes of all instances, each with a pointer to it, in an `int`.
        let size = size_of::<T::Data>() + size_of::<(bindings::kretprobe_instance, usize)>();
        if u64::from(calls) * size as u64 > 1 << 30 {
            return Err(Refused::with(Reason::NoMemory, ENOMEM));
        }
        Self::register_with(here, place, state, |raw| {
            raw.maxactive = c_int::try_from(calls).unwrap_or(c_int::MAX);
        })
    }

    /// Makes room for `calls` calls at once: so many calls are never missed for lack of room.
    #[cfg(CONFIG_RUST_KPROBES)]
    pub fn reserve(&self, here: &ProcessContext, calls: u32) -> Result<(), Refused> {
        use crate::error::to_result;

        here.check()?;
        // SAFETY: The return probe is registered, by the type's invariants.
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
