// SPDX-License-Identifier: GPL-2.0

//! The structures of a registration that C has pointers to, and the client's state.
//!
//! A [`Site`] is allocated and initialized in place, and does not move until it is dropped: C has
//! pointers to it, and handlers find the state by its address. The rest of this module uses it by a
//! [`SitePtr`], which does not know whether the site is registered; [`Registration`] and [`Batch`]
//! do.
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

/// Whether kprobes check that a probe is at the start of an instruction. On other machines than x86
/// and s390, C's kprobes accept what looks like an instruction: half an instruction on arm, and on
/// all of them a number between two functions, such as ftrace's address before an entry.
const BOUNDARIES: bool = cfg!(any(CONFIG_RUST_KPROBES, CONFIG_X86, CONFIG_S390));

/// The structure that C registers, and the client's state.
#[pin_data]
#[repr(C)]
pub(super) struct Site<K: Kind> {
    /// The first field: handlers find the site by it.
    #[pin]
    raw: Opaque<K::Raw>,
    #[pin]
    client: Opaque<bindings::rust_kprobes_client>,
    /// Whether handlers are not called any more.
    silent: Atomic<bool>,
    /// The symbol for C, if the place has one.
    name: Option<CString>,
    #[pin]
    state: K::State,
}

impl<K: Kind> Site<K> {
    /// Returns the state that a handler is called with, if it may be called.
    #[inline]
    pub(super) fn state_in_handler(&self) -> Option<&K::State> {
        (!self.silent.load(Relaxed)).then_some(&self.state)
    }
}

/// A pointer to a site.
///
/// # Invariants
///
/// [`SitePtr::make`] has made the site, and it was not passed to [`SitePtr::discard`] yet.
#[repr(transparent)]
pub(super) struct SitePtr<K: Kind>(NonNull<Site<K>>);

impl<K: Kind> Clone for SitePtr<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind> Copy for SitePtr<K> {}

impl<K: Kind> SitePtr<K> {
    /// Makes a site for a probe at `place`, without registering it. `set` may change the structure
    /// for C.
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
        // SAFETY: The probe is a member of `raw`, which only this function uses.
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
        // SAFETY: No code moves the site: only `discard` makes a box of it again, to drop it.
        let site = KBox::leak(unsafe { Pin::into_inner_unchecked(site) });
        // INVARIANT: The site was made just now.
        let site = Self(NonNull::from(site));
        // SAFETY: No other code knows the site.
        unsafe { site.client().write(K::Raw::client(site.raw(), code)) };
        Ok(site)
    }

    /// Drops the site.
    ///
    /// # Safety
    ///
    /// The site is not registered, and no copy of `self` is used after this.
    pub(super) unsafe fn discard(self) {
        // SAFETY: By the type's invariants it was a box, and by the precondition only this uses it.
        drop(unsafe { Pin::new_unchecked(KBox::from_raw(self.0.as_ptr())) });
    }

    /// Drops a site of a refused batch. C may have registered it, and failed to unregister it
    /// again: then C has cleared the address, but the probe was in a list.
    ///
    /// # Safety
    ///
    /// C was told to register the site and has refused. No copy of `self` is used after this.
    pub(super) unsafe fn discard_refused(self) {
        // SAFETY: The site exists, by the type's invariants.
        let listed = !unsafe { (*self.probe()).list.next }.is_null();
        if cfg!(not(CONFIG_RUST_KPROBES)) && listed && self.address() == 0 {
            // SAFETY: The client was initialized when the site was made.
            return unsafe { clients::neutralize(self.client()) };
        }
        // SAFETY: The site is not registered, as C has refused.
        unsafe { self.discard() };
    }

    /// Drops a site that was unregistered, unless that has failed. C clears the address if it has
    /// failed.
    ///
    /// # Safety
    ///
    /// C was told to unregister the site, and no copy of `self` is used after this.
    pub(super) unsafe fn discard_unregistered(self) {
        if self.address() == 0 {
            // SAFETY: The client is initialized, C has failed to unregister it, and the site leaks.
            return unsafe { clients::neutralize(self.client()) };
        }
        // SAFETY: C has unregistered the site, and no handler runs any more.
        unsafe { self.discard() };
    }

    /// Stops calling handlers and leaks the site, as the code that drops it must not sleep.
    ///
    /// # Safety
    ///
    /// The site is registered.
    pub(super) unsafe fn abandon(self) {
        self.site().silent.store(true, Relaxed);
        // SAFETY: Each registered client is in the list.
        unsafe { clients::say_abandoned(self.client()) };
    }

    /// Returns the client's state.
    pub(super) fn state(&self) -> &K::State {
        &self.site().state
    }

    /// Returns the structure that C registers, the site's first member.
    pub(super) fn raw(self) -> *mut K::Raw {
        self.0.as_ptr().cast()
    }

    /// Returns the probe of the structure.
    pub(super) fn probe(self) -> *mut bindings::kprobe {
        K::Raw::probe(self.raw())
    }

    /// Returns the entry for the list of clients.
    pub(super) fn client(self) -> *mut bindings::rust_kprobes_client {
        self.site().client.get()
    }

    /// Returns the address at which the probe is or was registered.
    pub(super) fn address(self) -> usize {
        // SAFETY: The site exists, by the type's invariants. C writes the address when it
        // registers, and when it fails to unregister; no other code runs this then.
        unsafe { (*self.probe()).addr }.addr()
    }

    fn site(&self) -> &Site<K> {
        // SAFETY: By the type's invariants the site exists, and all references to it are shared.
        unsafe { self.0.as_ref() }
    }
}
