// SPDX-License-Identifier: GPL-2.0

//! Many probes that come and go together.
//!
//! C takes an array of probes: all of them are registered, or none. To unregister an array costs
//! one grace period where one after the other costs many, and the Rust implementation arms and
//! disarms all of them with one round to the other CPUs.

use super::{
    clients,
    context,
    kind::{
        AnyPlace,
        Kind,
        Nothing,
        Raw, //
    },
    registration::disabled,
    site::SitePtr,
    Place,
    ProcessContext,
    Refused,
    Registration, //
};
use crate::{
    alloc::AllocError,
    fmt,
    prelude::*, //
};
use core::mem::ManuallyDrop;

/// Probes that were registered together, each with a state of its own, in the order of their
/// places.
///
/// As with a [`Registration`], they are unregistered when this is dropped, which must not happen
/// where one may not wait.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Handler,
///         Hit,
///         Place,
///         ProbeBatch,
///         ProcessContext, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     }, //
/// };
///
/// struct Count;
///
/// impl Handler for Count {
///     type State = Atomic<u64>;
///
///     fn before(hits: &Atomic<u64>, _: &Hit<'_>) {
///         hits.fetch_add(1, Relaxed);
///     }
/// }
///
/// let here = ProcessContext::here()?;
/// let places = [c"kernel_clone", c"do_exit"].map(Place::symbol);
/// let batch = ProbeBatch::<Count>::register(&here, &places, |_| Atomic::new(0))?;
/// for (place, probe) in places.iter().zip(batch.probes()) {
///     pr_info!("{place:?}: {} hits\n", probe.state().load(Relaxed));
/// }
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// What is in `probes` is registered.
#[must_use = "the probes go when this is dropped, by `let _ =` too: keep it in the module's type"]
pub struct Batch<K: Kind> {
    // Whoever drops them does so together. In memory this is the array of pointers that C wants.
    probes: KVec<ManuallyDrop<Registration<K>>>,
}

/// Why a batch was refused, and the index of the place that was not to be, if it is that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchRefused {
    index: Option<usize>,
    refused: Refused,
}

impl BatchRefused {
    /// Which place is in the way; nothing if it is none in particular.
    pub const fn index(&self) -> Option<usize> {
        self.index
    }

    /// Why.
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    fn at(index: usize, refused: Refused) -> Self {
        Self {
            index: Some(index),
            refused,
        }
    }
}

impl fmt::Display for BatchRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => f.write_fmt(fmt!("place {index}: {}", self.refused)),
            None => f.write_fmt(fmt!("{}", self.refused)),
        }
    }
}

impl From<Refused> for BatchRefused {
    fn from(refused: Refused) -> Self {
        Self {
            index: None,
            refused,
        }
    }
}

impl From<AllocError> for BatchRefused {
    fn from(error: AllocError) -> Self {
        Refused::from(error).into()
    }
}

impl From<BatchRefused> for Error {
    fn from(refused: BatchRefused) -> Self {
        refused.refused.into()
    }
}

/// Sites that are not registered yet, or could not be.
///
/// # Invariants
///
/// None is registered, but for those that C could not unregister again.
struct Prepared<K: Kind>(KVec<ManuallyDrop<Registration<K>>>);

impl<K: Kind> Drop for Prepared<K> {
    fn drop(&mut self) {
        for probe in &self.0 {
            // SAFETY: By the type's invariants; nobody uses it after this.
            unsafe { probe.site().discard_refused() };
        }
    }
}

/// The array that C wants.
fn array<K: Kind>(probes: &mut KVec<ManuallyDrop<Registration<K>>>) -> (*mut *mut K::Raw, c_int) {
    // A registration is a pointer to its site, which begins with what C has registered.
    let count = c_int::try_from(probes.len()).unwrap_or(c_int::MAX);
    (probes.as_mut_ptr().cast(), count)
}

impl<K: AnyPlace> Batch<K> {
    /// Registers a probe at each of `places`, or none if one of them is refused. `state` makes the
    /// state of each, by its index.
    #[inline]
    pub fn register<E, I>(
        here: &ProcessContext,
        places: &[Place<'_>],
        state: impl FnMut(usize) -> I,
    ) -> Result<Self, BatchRefused>
    where
        I: PinInit<K::State, E>,
        Error: From<E>,
    {
        Self::register_with(here, places, state, |_| ())
    }

    /// As [`Self::register`], but the probes are not hit until they are enabled.
    #[inline]
    pub fn register_disabled<E, I>(
        here: &ProcessContext,
        places: &[Place<'_>],
        state: impl FnMut(usize) -> I,
    ) -> Result<Self, BatchRefused>
    where
        I: PinInit<K::State, E>,
        Error: From<E>,
    {
        Self::register_with(here, places, state, disabled::<K>)
    }

    #[inline]
    fn register_with<E, I>(
        here: &ProcessContext,
        places: &[Place<'_>],
        mut state: impl FnMut(usize) -> I,
        set: fn(&mut K::Raw),
    ) -> Result<Self, BatchRefused>
    where
        I: PinInit<K::State, E>,
        Error: From<E>,
    {
        here.check()?;
        // INVARIANT: There is none yet.
        let mut prepared = Prepared(KVec::with_capacity(places.len(), GFP_KERNEL)?);
        for (index, place) in places.iter().enumerate() {
            let probe = SitePtr::make(place, state(index), set)
                .map_err(|refused| BatchRefused::at(index, refused))?;
            // SAFETY: It was just made, and is registered before it is dropped as such.
            let probe = ManuallyDrop::new(unsafe { Registration::from_site(probe) });
            // There is room for it: this does not fail, or the site would be lost.
            prepared.0.push(probe, GFP_KERNEL)?;
        }
        if !places.is_empty() {
            let (array, count) = array(&mut prepared.0);
            // SAFETY: They were just made, and stay where they are until `drop`.
            if let Err(error) = unsafe { K::Raw::register(array, count) } {
                drop(prepared);
                return Err(who_is_refused::<K>(here, places, error));
            }
        }
        let mut probes = core::mem::take(&mut prepared.0);
        let (left, _) = array::<K>(&mut probes);
        if let Some(first) = probes.first() {
            // SAFETY: Nobody looks at this but who searches for leaks: a batch may be forgotten.
            unsafe { (*first.site().client()).left = left.cast() };
        }
        for probe in &probes {
            // SAFETY: It was initialized when it was made, and is registered.
            unsafe { clients::comes(probe.site().client()) };
        }
        // INVARIANT: They are registered.
        Ok(Self { probes })
    }
}

impl<K: Kind> Batch<K> {
    /// The probes, in the order of their places.
    pub fn probes(&self) -> impl ExactSizeIterator<Item = &Registration<K>> {
        self.probes.iter().map(|probe| &**probe)
    }

    /// Has all of them be hit again. If that fails for one, those before it rest again.
    pub fn enable(&self, here: &ProcessContext) -> Result<(), BatchRefused> {
        for (index, probe) in self.probes().enumerate() {
            if let Err(refused) = probe.enable(here) {
                for earlier in self.probes().take(index) {
                    earlier.disable(here)?;
                }
                return Err(BatchRefused::at(index, refused));
            }
        }
        Ok(())
    }

    /// Has none of them be hit any more. Handlers that run at this moment are not waited for.
    pub fn disable(&self, here: &ProcessContext) -> Result<(), BatchRefused> {
        for (index, probe) in self.probes().enumerate() {
            probe
                .disable(here)
                .map_err(|refused| BatchRefused::at(index, refused))?;
        }
        Ok(())
    }
}

/// C has refused a batch by `error`: which place was it?
fn who_is_refused<K: Kind>(
    here: &ProcessContext,
    places: &[Place<'_>],
    error: Error,
) -> BatchRefused {
    for (index, place) in places.iter().enumerate() {
        if let Err(refused) = Registration::<Nothing>::register_disabled(here, *place, ()) {
            return BatchRefused::at(index, refused);
        }
    }
    // Arming one may fail, or memory be short, for no reason of the place's.
    match places {
        [only] => BatchRefused::at(0, Refused::explain(only, K::AT_ENTRY, error)),
        _ => Refused::of(error).into(),
    }
}

/// As [`SitePtr::abandon`], for all of them. Not even the array may be freed in a handler, which
/// may have interrupted the allocator.
fn abandon<K: Kind>(probes: KVec<ManuallyDrop<Registration<K>>>) {
    for probe in &*ManuallyDrop::new(probes) {
        // SAFETY: It is registered, by the invariants of `Batch`.
        unsafe { probe.site().abandon() };
    }
}

impl<K: Kind> Drop for Batch<K> {
    fn drop(&mut self) {
        let mut probes = core::mem::take(&mut self.probes);
        if !context::may_wait() {
            return abandon(probes);
        }
        // SAFETY: It was put there when it was registered. What has left the list is unregistered,
        // and its module, which this was a part of, is gone: it is left where it is.
        probes.retain(|probe| unsafe { clients::goes(probe.site().client()) });
        if !probes.is_empty() {
            let (array, count) = array(&mut probes);
            // SAFETY: They are registered, by the type's invariants.
            unsafe { K::Raw::unregister(array, count) };
            clients::wait_for_idle();
        }
        for probe in &probes {
            // SAFETY: It is not used any more.
            unsafe { probe.site().discard_unregistered() };
        }
    }
}
