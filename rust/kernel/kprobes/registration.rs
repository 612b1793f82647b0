// SPDX-License-Identifier: GPL-2.0

//! One probe that is registered, and what it owns.
//!
//! # Its memory
//!
//! What C keeps pointers to, and the client's state, are in an allocation of their own, a [`Site`],
//! that does not move. The [`Registration`] is what the client has of it, and may move. The site is
//! not *in* the registration, as it is with other registrations of this crate, because of what must
//! happen when a registration is dropped where one may not wait, such as in a handler. Types cannot
//! refuse that: a handler may have a spinlock in its state, and in that an [`Option`] that it puts
//! [`None`] into. Nor can it be carried out: who unregisters a probe waits for all handlers, and
//! this is one. So the site outlives its registration then. It stays registered but its handlers
//! are called no more, which costs its memory and some time at each hit, and the kernel warns of
//! it.
//!
//! # What is forgotten
//!
//! It is safe to forget a registration ([`core::mem::forget`]), and its module may go while the
//! site is still there, with handlers in it. So all sites are in a list, and when a module goes,
//! after its exit function has run and before its text is freed, what it has left there is
//! unregistered. That happens in `rust/kprobes_clients.c`. The state is not dropped then.
//!
//! # The order of things
//!
//! A site is registered when its state is there, and is in the list when it is registered; it
//! leaves the list, is unregistered, and when no handler runs any more its state is dropped. Calls
//! that a return probe watches may last longer: their ends are told to nobody, and what was kept
//! for them is [`Copy`].
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

/// One probe that is registered. It is unregistered when this is dropped, which waits until no
/// handler runs any more; so it must not be dropped where one may not wait. (If it is, the kernel
/// warns, handlers are called no more, and the state is never dropped.)
///
/// # Invariants
///
/// `site` is registered, and nobody else discards it.
#[must_use = "the probe goes when this is dropped, by `let _ =` too: keep it in the module's type"]
#[repr(transparent)]
pub struct Registration<K: Kind> {
    site: SitePtr<K>,
}

// SAFETY: The state is `Send` and `Sync`, and all else is C's, which takes its own locks.
unsafe impl<K: Kind> Send for Registration<K> {}
// SAFETY: As above.
unsafe impl<K: Kind> Sync for Registration<K> {}

impl<K: AnyPlace> Registration<K> {
    /// Registers a probe at `place`, whose state is what `state` makes, and waits until it is
    /// there.
    ///
    /// If it is refused the state is dropped again.
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
        // SAFETY: It was just made, and `drop` unregisters it.
        if let Err(error) = unsafe { K::Raw::register(&mut site.raw(), 1) } {
            // SAFETY: It is not registered.
            unsafe { site.discard() };
            return Err(Refused::explain(&place, K::AT_ENTRY, error));
        }
        // SAFETY: It was initialized when it was made, and is registered.
        unsafe { clients::comes(site.client()) };
        // INVARIANT: It is registered.
        Ok(Self { site })
    }

    /// What handlers are called with.
    pub fn state(&self) -> &K::State {
        self.site.state()
    }

    /// The address of the probed instruction.
    pub fn address(&self) -> usize {
        self.site.address()
    }

    /// How many hits nobody was told of: they came while a handler ran on the CPU, or, for a return
    /// probe, when there was no room for another call.
    pub fn missed(&self) -> usize {
        let probe = self.site.probe();
        // SAFETY: It is there. Hits write to it meanwhile.
        let nested = unsafe { (&raw const (*probe).nmissed).read_volatile() };
        // SAFETY: It is there.
        nested.wrapping_add(unsafe { K::Raw::missed(self.site.raw()) })
    }

    /// Has the probe be hit again.
    pub fn enable(&self, here: &ProcessContext) -> Result<(), Refused> {
        here.check()?;
        // SAFETY: It is registered.
        to_result(unsafe { bindings::enable_kprobe(self.site.probe()) }).map_err(
            |error| match error {
                EINVAL => Refused::with(Reason::Gone, error),
                _ => Refused::of(error),
            },
        )
    }

    /// Has the probe not be hit any more. Handlers that run at this moment are not waited for.
    pub fn disable(&self, here: &ProcessContext) -> Result<(), Refused> {
        here.check()?;
        // SAFETY: It is registered.
        to_result(unsafe { bindings::disable_kprobe(self.site.probe()) })
            .map_err(|error| Refused::with(Reason::Other, error))
    }

    /// # Safety
    ///
    /// Nobody else has `site`, and it is registered before this is used or dropped.
    pub(super) unsafe fn from_site(site: SitePtr<K>) -> Self {
        // INVARIANT: By the precondition.
        Self { site }
    }

    pub(super) fn site(&self) -> SitePtr<K> {
        self.site
    }
}

/// Has a probe registered, but not be hit.
pub(super) fn disabled<K: Kind>(raw: &mut K::Raw) {
    // SAFETY: It is a member of `raw`.
    unsafe { (*K::Raw::probe(raw)).flags = bindings::KPROBE_FLAG_DISABLED };
}

impl<K: Kind> Drop for Registration<K> {
    fn drop(&mut self) {
        if !context::may_wait() {
            // SAFETY: It is registered, by the type's invariants.
            return unsafe { self.site.abandon() };
        }
        // SAFETY: It was put there when it was registered.
        if unsafe { clients::goes(self.site.client()) } {
            // SAFETY: It is registered, by the type's invariants.
            unsafe { K::Raw::unregister(&mut self.site.raw(), 1) };
            clients::wait_for_idle();
        }
        // SAFETY: It is not used any more.
        unsafe { self.site.discard_unregistered() };
    }
}
