// SPDX-License-Identifier: GPL-2.0

//! Making a function fail that the kernel allows to fail.
//!
//! Some functions are marked by `ALLOW_ERROR_INJECTION()`: their callers handle a failure of a
//! function that has done nothing. The kernel keeps a list of these functions and of their error
//! values. An [`InjectionProbe`] is only for such a function, so its handler needs no `unsafe`: the
//! list makes the argument that the implementer of a [`PathHandler`](super::PathHandler) must make.
//!
//! The list is checked by the probe's address after the probe was registered and before it is
//! enabled. A symbol could name another function a moment later. The address cannot, as long as the
//! probe is hit: a probe in the text of an unloaded module is not hit any more.
//!
//! Two types of functions on the list are accepted: functions that return an errno, and functions
//! that return an errno or NULL. The others return NULL or `true`, which is no [`Error`].
//!
//! There are no batches of such probes.
//!
//! C header: [`include/linux/error-injection.h`](srctree/include/linux/error-injection.h)

use super::{
    kind::ErrorInjection,
    refused,
    registration::disabled,
    Entry,
    InjectionProbe,
    Place,
    ProcessContext,
    Refused, //
};
use crate::prelude::*;

/// A handler that is called at a function's entry, and may make the function fail.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Entry,
///         InjectionHandler,
///         InjectionProbe,
///         Place,
///         ProcessContext,
///         Reason, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     }, //
/// };
///
/// /// Makes the page cache refuse pages, while it is switched on.
/// struct CacheIsFull;
///
/// impl InjectionHandler for CacheIsFull {
///     type State = Atomic<bool>;
///
///     fn enter(full: &Atomic<bool>, _: &Entry<'_>) -> Option<Error> {
///         full.load(Relaxed).then_some(ENOMEM)
///     }
/// }
///
/// let here = ProcessContext::here()?;
/// let place = Place::symbol(c"__filemap_add_folio");
/// let probe = InjectionProbe::<CacheIsFull>::register(&here, place, Atomic::new(false))?;
/// // From here on `probe.state().store(true, Relaxed)` makes the function fail.
/// # drop(probe);
///
/// // The callers of this function do not expect that it fails.
/// let place = Place::symbol(c"kernel_clone");
/// let refused = InjectionProbe::<CacheIsFull>::register(&here, place, Atomic::new(false)).err();
/// assert_eq!(refused.map(|why| why.reason()), Some(Reason::NotInjectable));
/// # Ok::<(), Error>(())
/// ```
pub trait InjectionHandler: 'static {
    /// The state, which the registration owns and each call of the handler gets.
    type State: Send + Sync + 'static;

    /// Is called when a call begins. With an error, the function is not executed, and returns the
    /// error at once, as a negative number. With [`None`], the function is executed.
    fn enter(state: &Self::State, call: &Entry<'_>) -> Option<Error>;
}

impl<T: InjectionHandler> InjectionProbe<T> {
    /// Registers a probe at `place`, with the state that `state` makes, and waits until it is
    /// armed.
    ///
    /// A function that is not on the kernel's error-injection list, with a type that stands for an
    /// errno, is refused by [`Reason::NotInjectable`](super::Reason::NotInjectable). If the probe
    /// is refused, the state is dropped.
    #[inline]
    pub fn register<E>(
        here: &ProcessContext,
        place: Place<'_>,
        state: impl PinInit<T::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        let probe = Self::register_disabled(here, place, state)?;
        probe.enable(here)?;
        Ok(probe)
    }

    /// As [`Self::register`], but the probe is not hit until it is enabled.
    #[inline]
    pub fn register_disabled<E>(
        here: &ProcessContext,
        place: Place<'_>,
        state: impl PinInit<T::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        let probe = Self::register_with(here, place, state, disabled::<ErrorInjection<T>>)?;
        // INVARIANT: The probe is not enabled before this check: no other code has it. No other
        // function registers probes of this kind.
        refused::unless_injectable(probe.address())?;
        Ok(probe)
    }
}
