// SPDX-License-Identifier: GPL-2.0

//! Many probes that are registered and unregistered together.
//!
//! C takes an array of probes and registers all of them, or none. Unregistering an array takes one
//! grace period; unregistering the probes one by one takes a grace period each. The Rust
//! implementation synchronizes all CPUs once for 1,024 probes.

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

/// Probes that were registered together, each with its own state, in the order of their places.
///
/// Dropping the batch unregisters the probes, as for a [`Registration`]. It must be dropped where
/// the caller may sleep.
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
/// The registrations in `probes` are registered.
#[must_use = "the probes go when this is dropped, by `let _ =` too: keep it in the module's type"]
pub struct Batch<K: Kind> {
    // `drop` unregisters them together. In memory this is the array of pointers that C expects.
    probes: KVec<ManuallyDrop<Registration<K>>>,
}

/// The reason why a batch was refused, and the index of the refused place, if it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchRefused {
    index: Option<usize>,
    refused: Refused,
}

impl BatchRefused {
    /// Returns the index of the refused place, or `None` if no single place is the reason.
    pub const fn index(&self) -> Option<usize> {
        self.index
    }

    /// Returns the reason.
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

/// Sites that are not registered yet, or were refused.
///
/// # Invariants
///
/// No site is registered, except for sites that C could not unregister again.
struct Prepared<K: Kind>(KVec<ManuallyDrop<Registration<K>>>);

impl<K: Kind> Drop for Prepared<K> {
    fn drop(&mut self) {
        for probe in &self.0 {
            // SAFETY: By the type's invariants; no code uses the site after this.
            unsafe { probe.site().discard_refused() };
        }
    }
}

/// Returns the array that C expects.
fn array<K: Kind>(probes: &mut KVec<ManuallyDrop<Registration<K>>>) -> (*mut *mut K::Raw, c_int) {
    // A registration is a pointer to its site, which begins with the structure that C registers.
    let count = c_int::try_from(probes.len()).unwrap_or(c_int::MAX);
    (probes.as_mut_ptr().cast(), count)
}

impl<K: AnyPlace> Batch<K> {
    /// Registers a probe at each of `places`, or none if one of them is refused. `state` makes the
    /// state of the probe with an index.
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
        // INVARIANT: There are no sites yet.
        let mut prepared = Prepared(KVec::with_capacity(places.len(), GFP_KERNEL)?);
        for (index, place) in places.iter().enumerate() {
            let probe = SitePtr::make(place, state(index), set)
                .map_err(|refused| BatchRefused::at(index, refused))?;
            // SAFETY: The site was made just now, and is registered before it is dropped as such.
            let probe = ManuallyDrop::new(unsafe { Registration::from_site(probe) });
            // There is room for the registration: if this failed, the site would leak.
            prepared.0.push(probe, GFP_KERNEL)?;
        }
        if !places.is_empty() {
            let (array, count) = array(&mut prepared.0);
            // SAFETY: The sites were made just now, and do not move until `drop`.
            if let Err(error) = unsafe { K::Raw::register(array, count) } {
                // An idle CPU may still be in a handler of a probe before the refused one.
                clients::wait_for_idle();
                drop(prepared);
                return Err(first_refused::<K>(here, places, error));
            }
        }
        let mut probes = core::mem::take(&mut prepared.0);
        let (left, _) = array::<K>(&mut probes);
        if let Some(first) = probes.first() {
            // SAFETY: Only kmemleak uses this pointer, as a batch may be forgotten.
            unsafe { (*first.site().client()).left = left.cast() };
        }
        for probe in &probes {
            // SAFETY: The client was initialized when the site was made, and is registered.
            unsafe { clients::add(probe.site().client()) };
        }
        // INVARIANT: C has registered the probes.
        Ok(Self { probes })
    }
}

impl<K: Kind> Batch<K> {
    /// Returns the probes, in the order of their places.
    pub fn probes(&self) -> impl ExactSizeIterator<Item = &Registration<K>> {
        self.probes.iter().map(|probe| &**probe)
    }

    /// Enables all probes. If that fails for a probe, disables the earlier ones again.
    pub fn enable(&self, here: &ProcessContext) -> Result<(), BatchRefused> {
        for (index, probe) in self.probes().enumerate() {
            if let Err(refused) = probe.enable(here) {
                for earlier in self.probes().take(index) {
                    // The caller is told of `refused`, which came first, not of a failure here.
                    let _ = earlier.disable(here);
                }
                return Err(BatchRefused::at(index, refused));
            }
        }
        Ok(())
    }

    /// Disables all probes, also if that fails for one of them. Does not wait for handlers that
    /// run now.
    pub fn disable(&self, here: &ProcessContext) -> Result<(), BatchRefused> {
        let mut first = Ok(());
        for (index, probe) in self.probes().enumerate() {
            let disabled = probe.disable(here);
            first = first.and(disabled.map_err(|refused| BatchRefused::at(index, refused)));
        }
        first
    }
}

/// Finds the place that was refused, after C has refused a batch with `error`.
fn first_refused<K: Kind>(
    here: &ProcessContext,
    places: &[Place<'_>],
    error: Error,
) -> BatchRefused {
    for (index, place) in places.iter().enumerate() {
        if let Err(refused) = Registration::<Nothing>::register_disabled(here, *place, ()) {
            return BatchRefused::at(index, refused);
        }
    }
    // No single place is the reason if arming a probe failed, or memory was short.
    match places {
        [only] => BatchRefused::at(0, Refused::explain(only, K::AT_ENTRY, error)),
        _ => Refused::of(error).into(),
    }
}

/// Abandons all probes, as [`SitePtr::abandon`] does. Does not even free the array: a handler may
/// have interrupted the allocator.
fn abandon<K: Kind>(probes: KVec<ManuallyDrop<Registration<K>>>) {
    for probe in &*ManuallyDrop::new(probes) {
        // SAFETY: The probe is registered, by the invariants of `Batch`.
        unsafe { probe.site().abandon() };
    }
}

impl<K: Kind> Drop for Batch<K> {
    fn drop(&mut self) {
        let mut probes = core::mem::take(&mut self.probes);
        if !context::may_wait() {
            return abandon(probes);
        }
        // SAFETY: The client was added when the probe was registered. If it is not in the list any
        // more, the end of its module has unregistered the probe, and the site is leaked.
        probes.retain(|probe| unsafe { clients::remove(probe.site().client()) });
        if !probes.is_empty() {
            let (array, count) = array(&mut probes);
            // SAFETY: The probes are registered, by the type's invariants.
            unsafe { K::Raw::unregister(array, count) };
            clients::wait_for_idle();
        }
        for probe in &probes {
            // SAFETY: The site was unregistered, and its handlers have returned.
            unsafe { probe.site().discard_unregistered() };
        }
    }
}
