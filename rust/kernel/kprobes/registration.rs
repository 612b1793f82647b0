// SPDX-License-Identifier: GPL-2.0

//! A registered probe, and the memory that it owns.
//!
//! # Memory
//!
//! The structures that C has pointers to, and the client's state, are in a separate allocation, a
//! [`Site`], that does not move. The client has the [`Registration`], which may move. The site is
//! not *in* the registration, unlike in other registrations of this crate, because a registration
//! may be dropped where the caller must not sleep, such as in a handler. Types cannot refuse that:
//! a handler may have a spinlock in its state, and in the spinlock an [`Option`] that it sets to
//! [`None`]. The drop cannot unregister the probe either: unregistering waits for all handlers, and
//! this is a handler. So the site outlives its registration then. It stays registered, but its
//! handlers are not called any more. That costs its memory and some time at each hit, and the
//! kernel warns.
//!
//! # Forgotten registrations
//!
//! Forgetting a registration ([`core::mem::forget`]) is safe, and its module may be unloaded while
//! the site still has handlers in it. So all sites are in a list. After the exit function of a
//! module has run, and before its text is freed, `rust/kprobes_clients.c` unregisters the probes
//! that it has left. Their state is not dropped.
//!
//! # Order
//!
//! A site is registered after its state was made, and added to the list after that. To end it, it
//! is removed from the list and unregistered, and when no handler runs any more its state is
//! dropped. Calls that a return probe has hooked may last longer: their ends are not reported, and
//! their data is [`Copy`].
//!
//! [`Site`]: super::site::Site

use super::{
    clients,
    context,
    kind::{
        AnyPlace,
        Kind,
        Raw, //
    },
    site::SitePtr,
    Place,
    ProcessContext,
    Reason,
    Refused, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};

/// A registered probe. Dropping this unregisters the probe, and waits until no handler runs any
/// more. So it must be dropped where the caller may sleep. (Otherwise the kernel warns, handlers
/// are not called any more, and the state is never dropped.)
///
/// # Invariants
///
/// `site` is registered, and no other code discards it.
#[must_use = "the probe goes when this is dropped, by `let _ =` too: keep it in the module's type"]
#[repr(transparent)]
pub struct Registration<K: Kind> {
    site: SitePtr<K>,
}

// SAFETY: The state is `Send` and `Sync`, and C protects the other data by locks.
unsafe impl<K: Kind> Send for Registration<K> {}
// SAFETY: As above.
unsafe impl<K: Kind> Sync for Registration<K> {}

impl<K: AnyPlace> Registration<K> {
    /// Registers a probe at `place`, with the state that `state` makes, and waits until it is
    /// armed.
    ///
    /// If the probe is refused, the state is dropped.
    #[inline]
    pub fn register<E>(
        here: &ProcessContext,
        place: Place<'_>,
        state: impl PinInit<K::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        Self::register_with(here, place, state, |_| ())
    }

    /// As [`Self::register`], but the probe is not hit until it is enabled.
    #[inline]
    pub fn register_disabled<E>(
        here: &ProcessContext,
        place: Place<'_>,
        state: impl PinInit<K::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        Self::register_with(here, place, state, disabled::<K>)
    }
}

impl<K: Kind> Registration<K> {
    #[inline]
    pub(super) fn register_with<E>(
        here: &ProcessContext,
        place: Place<'_>,
        state: impl PinInit<K::State, E>,
        set: impl FnOnce(&mut K::Raw),
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        here.check()?;
        let site = SitePtr::make(&place, state, set)?;
        // SAFETY: The site was made just now, and `drop` unregisters it.
        if let Err(error) = unsafe { K::Raw::register(&mut site.raw(), 1) } {
            // SAFETY: The site is not registered, as C has refused.
            unsafe { site.discard() };
            return Err(Refused::explain(&place, K::AT_ENTRY, error));
        }
        // SAFETY: The client was initialized when the site was made, and is registered.
        unsafe { clients::add(site.client()) };
        // INVARIANT: C has registered the site.
        Ok(Self { site })
    }

    /// Returns the state that handlers are called with.
    pub fn state(&self) -> &K::State {
        self.site.state()
    }

    /// Returns the address of the probed instruction.
    pub fn address(&self) -> usize {
        self.site.address()
    }

    /// Returns how many hits were missed: a handler ran on the CPU, or a return probe had no room
    /// for another call.
    pub fn missed(&self) -> usize {
        let probe = self.site.probe();
        // SAFETY: The probe exists. The read is volatile, as hits write to the field meanwhile.
        let nested = unsafe { (&raw const (*probe).nmissed).read_volatile() };
        // SAFETY: The site exists.
        nested.wrapping_add(unsafe { K::Raw::missed(self.site.raw()) })
    }

    /// Enables the probe: it is hit again.
    pub fn enable(&self, here: &ProcessContext) -> Result<(), Refused> {
        here.check()?;
        // SAFETY: The probe is registered, by the type's invariants.
        to_result(unsafe { bindings::enable_kprobe(self.site.probe()) }).map_err(
            |error| match error {
                EINVAL => Refused::with(Reason::Gone, error),
                _ => Refused::of(error),
            },
        )
    }

    /// Disables the probe: it is not hit any more. Does not wait for handlers that run now.
    pub fn disable(&self, here: &ProcessContext) -> Result<(), Refused> {
        here.check()?;
        // SAFETY: The probe is registered, by the type's invariants.
        to_result(unsafe { bindings::disable_kprobe(self.site.probe()) })
            .map_err(|error| Refused::with(Reason::Other, error))
    }

    /// # Safety
    ///
    /// No other code has `site`, and it is registered before this is used or dropped.
    pub(super) unsafe fn from_site(site: SitePtr<K>) -> Self {
        // INVARIANT: By the precondition the site is registered before the value is used.
        Self { site }
    }

    pub(super) fn site(&self) -> SitePtr<K> {
        self.site
    }
}

/// Marks a probe as disabled, before it is registered.
pub(super) fn disabled<K: Kind>(raw: &mut K::Raw) {
    // SAFETY: The probe is a member of `raw`.
    unsafe { (*K::Raw::probe(raw)).flags = bindings::KPROBE_FLAG_DISABLED };
}

impl<K: Kind> Drop for Registration<K> {
    fn drop(&mut self) {
        if !context::may_wait() {
            // SAFETY: The site is registered, by the type's invariants.
            return unsafe { self.site.abandon() };
        }
        // SAFETY: The client was added to the list when it was registered.
        if unsafe { clients::remove(self.site.client()) } {
            // SAFETY: The site is registered, by the type's invariants.
            unsafe { K::Raw::unregister(&mut self.site.raw(), 1) };
            clients::wait_for_idle();
        }
        // SAFETY: The site was unregistered, and its handlers have returned.
        unsafe { self.site.discard_unregistered() };
    }
}
