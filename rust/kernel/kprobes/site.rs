// SPDX-License-Identifier: GPL-2.0

//! What C knows of a registration, and the client's state beside it.
//!
//! A [`Site`] is allocated and initialized in its place, and stays there until it is dropped: C has
//! pointers to it, and handlers find their state by where it is. What the rest of this module has
//! of it is a [`SitePtr`], which says nothing of whether it is registered: that is for
//! [`Registration`] and [`Batch`] to know.
//!
//! [`Batch`]: super::Batch
//! [`Registration`]: super::Registration

use super::{
    clients,
    kind::{
        Kind,
        Raw, //
    },
    refused,
    Place,
    Reason,
    Refused, //
};
use crate::{
    alloc::KBox,
    bindings,
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    types::Opaque, //
};
use core::ptr::NonNull;

/// Do kprobes see to it that a probe is where an instruction begins? On 32-bit arm they take half
/// an instruction, or a number between two functions, if it looks like one.
const BOUNDARIES: bool = cfg!(not(CONFIG_ARM));

/// What is registered, and the client's state.
#[pin_data]
#[repr(C)]
pub(super) struct Site<K: Kind> {
    /// The first: kprobes' functions find the site by it.
    #[pin]
    raw: Opaque<K::Raw>,
    #[pin]
    client: Opaque<bindings::rust_kprobes_client>,
    /// Nobody is to be told of hits any more.
    silent: Atomic<bool>,
    /// C's symbol, if it has one.
    name: Option<CString>,
    #[pin]
    state: K::State,
}

impl<K: Kind> Site<K> {
    /// What a handler is called with, if it is to be called.
    #[inline]
    pub(super) fn state_in_handler(&self) -> Option<&K::State> {
        (!self.silent.load(Relaxed)).then_some(&self.state)
    }
}

/// Leads to a site.
///
/// # Invariants
///
/// [`SitePtr::make`] has made the site, and it was not given to [`SitePtr::discard`] yet.
#[repr(transparent)]
pub(super) struct SitePtr<K: Kind>(NonNull<Site<K>>);

impl<K: Kind> Clone for SitePtr<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for SitePtr<K> {}

impl<K: Kind> SitePtr<K> {
    /// Makes a site for a probe at `place`, which is not registered; `set` may change what C is
    /// told.
    #[inline]
    pub(super) fn make<E>(
        place: &Place<'_>,
        state: impl PinInit<K::State, E>,
        set: impl FnOnce(&mut K::Raw),
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        let name = place.name().map_err(|error| match error {
            ENOMEM => Refused::with(Reason::NoMemory, error),
            _ => Refused::with(Reason::BadName, error),
        })?;
        let mut raw = pin_init::zeroed::<K::Raw>();
        let code = K::handlers(&mut raw);
        // SAFETY: It is a member of `raw`, which is ours.
        let probe = unsafe { &mut *K::Raw::probe(&mut raw) };
        place.write_to(name.as_deref(), probe);
        if K::AT_ENTRY || !BOUNDARIES {
            refused::unless_entry(probe)?;
        }
        if K::AT_ENTRY {
            refused::unless_given(probe, K::TAKES)?;
        }
        set(&mut raw);
        let site = KBox::pin_init::<Error>(
            try_pin_init!(Site::<K> {
                raw: Opaque::new(raw),
                client: Opaque::uninit(),
                silent: Atomic::new(false),
                name,
                state <- state,
            }? Error),
            GFP_KERNEL,
        )
        .map_err(|error| match error {
            ENOMEM => Refused::with(Reason::NoMemory, error),
            _ => Refused::with(Reason::NoState, error),
        })?;
        // SAFETY: Nobody moves it: only `discard` makes a box of it again, to drop it.
        let site = KBox::leak(unsafe { Pin::into_inner_unchecked(site) });
        // INVARIANT: It was just made.
        let site = Self(NonNull::from(site));
        // SAFETY: Nobody else knows of it.
        unsafe { site.client().write(K::Raw::client(site.raw(), code)) };
        Ok(site)
    }

    /// Drops the site.
    ///
    /// # Safety
    ///
    /// It is not registered, and no copy of `self` is used after this.
    pub(super) unsafe fn discard(self) {
        // SAFETY: It was a box, by the type's invariants, and is ours, by the precondition.
        drop(unsafe { Pin::new_unchecked(KBox::from_raw(self.0.as_ptr())) });
    }

    /// Drops a site of a batch that was refused. C may have registered it, and failed to unregister
    /// it again: then it has taken the address away, but the probe was in a list.
    ///
    /// # Safety
    ///
    /// C was told to register it, has refused, and no copy of `self` is used after this.
    pub(super) unsafe fn discard_refused(self) {
        // SAFETY: The site is there, by the type's invariants.
        let listed = !unsafe { (*self.probe()).list.next }.is_null();
        if cfg!(not(CONFIG_RUST_KPROBES)) && listed && self.address() == 0 {
            // SAFETY: It was initialized when it was made.
            return unsafe { clients::say_stuck(self.client()) };
        }
        // SAFETY: It is not registered.
        unsafe { self.discard() };
    }

    /// Drops a site that was unregistered, unless that has failed. C says so by taking the address
    /// away.
    ///
    /// # Safety
    ///
    /// C was told to unregister it, and no copy of `self` is used after this.
    pub(super) unsafe fn discard_unregistered(self) {
        if self.address() == 0 {
            // SAFETY: It was in the list as long as it was registered.
            return unsafe { clients::say_stuck(self.client()) };
        }
        // SAFETY: No handler runs any more, and C has forgotten it.
        unsafe { self.discard() };
    }

    /// Handlers are called no more, but the site stays as it is for ever: whoever drops it must not
    /// wait.
    ///
    /// # Safety
    ///
    /// It is registered.
    pub(super) unsafe fn abandon(self) {
        self.site().silent.store(true, Relaxed);
        // SAFETY: What is registered is in the list.
        unsafe { clients::say_abandoned(self.client()) };
    }

    /// The client's state.
    pub(super) fn state(&self) -> &K::State {
        &self.site().state
    }

    /// What C registers. It is the site's first member.
    pub(super) fn raw(self) -> *mut K::Raw {
        self.0.as_ptr().cast()
    }

    /// The probe that it has.
    pub(super) fn probe(self) -> *mut bindings::kprobe {
        K::Raw::probe(self.raw())
    }

    /// What is in the list of clients.
    pub(super) fn client(self) -> *mut bindings::rust_kprobes_client {
        self.site().client.get()
    }

    /// Where it is registered, or was.
    pub(super) fn address(self) -> usize {
        // SAFETY: The site is there, by the type's invariants. C writes the address when it
        // registers and when it fails to unregister, and then nobody else is here.
        unsafe { (*self.probe()).addr }.addr()
    }

    fn site(&self) -> &Site<K> {
        // SAFETY: It is there, by the type's invariants, and nobody has a mutable reference to it.
        unsafe { self.0.as_ref() }
    }
}
