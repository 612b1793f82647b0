// SPDX-License-Identifier: GPL-2.0

//! A client's return probe: C's `struct kretprobe`, with a Rust type for each field.
//!
//! It begins with a probe on the entry of the function, to which all applies that is said of
//! [`Probe`].

use super::{
    call::Call,
    store::Store,
    stores, //
};
use crate::{
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::probe::Probe, //
};
use core::{
    cell::Cell,
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicI32,
        AtomicPtr,
        Ordering, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// `struct kretprobe`.
#[repr(C)]
pub(crate) struct ReturnProbe {
    entry: Probe,
    handler: Cell<bindings::kretprobe_handler_t>,
    entry_handler: Cell<bindings::kretprobe_handler_t>,
    maxactive: Cell<c_int>,
    missed: AtomicI32,
    data_size: Cell<usize>,
    store: AtomicPtr<Store>,
}

macro_rules! same_place {
    ($($ours:ident = $theirs:ident),*) => {
        $(const _: () =
            assert!(offset_of!(ReturnProbe, $ours) == offset_of!(bindings::kretprobe, $theirs));)*
    };
}
same_place!(
    entry = kp,
    handler = handler,
    entry_handler = entry_handler,
    maxactive = maxactive,
    missed = nmissed,
    data_size = data_size,
    store = rh
);
const _: () = assert!(size_of::<ReturnProbe>() == size_of::<bindings::kretprobe>());

impl ReturnProbe {
    /// The return probes that C passes.
    ///
    /// # Safety
    ///
    /// As for [`Probe::from_c`].
    pub(crate) unsafe fn from_c<'a>(
        probes: *const *mut bindings::kretprobe,
        count: usize,
    ) -> &'a [Option<&'static Self>] {
        // SAFETY: The layouts are the same, as asserted above, and NULL is `None`; what changes
        // are atomics, and cells that the client does not change meanwhile.
        unsafe { core::slice::from_raw_parts(probes.cast(), count) }
    }

    /// The same probes, as those on the entries of their functions.
    pub(crate) fn entries<'a>(probes: &'a [Option<&'static Self>]) -> &'a [Option<&'static Probe>] {
        // SAFETY: Each begins with its entry's, at the same address.
        unsafe { core::slice::from_raw_parts(probes.as_ptr().cast(), probes.len()) }
    }

    /// The return probe that this one is the entry of.
    ///
    /// # Safety
    ///
    /// It is one's.
    pub(crate) unsafe fn of_entry<'a>(entry: *mut bindings::kprobe) -> &'a Self {
        // SAFETY: By the precondition: it begins with that.
        unsafe { &*entry.cast() }
    }

    /// The probe on the entry of the function.
    pub(crate) fn entry(&self) -> &Probe {
        &self.entry
    }

    /// Bytes that the client keeps for each call.
    pub(crate) fn data_size(&self) -> usize {
        self.data_size.get()
    }

    /// How many calls the client wants to be watched at once, to begin with; `None` if it leaves
    /// that to us.
    pub(crate) fn wanted(&self) -> Option<usize> {
        let wanted = usize::try_from(self.maxactive.get());
        wanted.ok().filter(|&count| count != 0)
    }

    /// What a registration starts with: so many calls may be watched at once, and nothing is in
    /// store yet, whatever the client has left there.
    pub(crate) fn begin(&self, calls: usize) {
        self.maxactive.set(calls.try_into().unwrap_or(c_int::MAX));
        self.entry.be_entry_of_return_probe();
        self.store.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// This is in store for it from now on.
    pub(crate) fn keep(&self, store: NonNull<Store>) {
        self.missed.store(0, Ordering::Relaxed);
        self.store.store(store.as_ptr(), Ordering::Release);
    }

    /// What is in store for it, if there is anything. For who has come to it by a hit: it was
    /// registered, so it is we who have written where that is.
    #[inline(always)]
    pub(crate) fn store(&self) -> Option<&Store> {
        // SAFETY: It stays until a grace period after it was left, from when on nobody finds it.
        unsafe { self.store.load(Ordering::Relaxed).as_ref() }
    }

    /// Leaves what is in store for it, if anything is: who comes later finds nothing, who has it
    /// may still use it. If it is not registered, what it says may be anything, such as what a copy
    /// of another one says, and is left alone.
    pub(crate) fn leave_store(&self) {
        stores::with(self, self.store.load(Ordering::Relaxed), |store| {
            // Before it says so itself: who has seen that waits for all who have found it.
            self.store.store(core::ptr::null_mut(), Ordering::Relaxed);
            store.leave();
        });
    }

    /// Sees to it that there is room in store for `count` calls at once.
    pub(crate) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        let store = self.store.load(Ordering::Relaxed);
        let done = stores::with(self, store, |store| store.reserve(count));
        done.unwrap_or(Err(Refusal::NotRegistered))
    }

    /// Counts a call that is not watched.
    pub(crate) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Does the client want to be called before the call?
    #[inline(always)]
    pub(crate) fn asks(&self) -> bool {
        self.entry_handler.get().is_some()
    }

    /// Calls the handler from before the call; tells whether the client wants it to be watched.
    #[inline(always)]
    pub(crate) fn wants(&self, call: &Call, registers: &mut bindings::pt_regs) -> bool {
        let Some(handler) = self.entry_handler.get() else {
            return true;
        };
        // SAFETY: The client vouches for its handler while the probe is registered, and gets a call
        // of its own probe and the registers of the function's entry.
        unsafe { handler(call.as_c(), registers) == 0 }
    }

    /// The handler from after the call, if the client wants to be called then.
    #[inline(always)]
    pub(crate) fn on_return(&self) -> Option<OnReturn<'_>> {
        // INVARIANT: It is this one's.
        self.handler
            .get()
            .map(|handler| OnReturn(handler, PhantomData))
    }

    /// Does `goes` hold for the code of a handler of its, besides those of its entry?
    pub(crate) fn needs(&self, goes: impl Fn(TextAddr) -> bool) -> bool {
        let handlers = [self.handler.get(), self.entry_handler.get()];
        let mut handlers = handlers.into_iter().flatten();
        handlers.any(|handler| goes(TextAddr::new(handler as usize as u64)))
    }
}

/// A handler from after the call.
///
/// # Invariants
///
/// It is that of a probe which stays for `'a`.
pub(crate) struct OnReturn<'a>(
    unsafe extern "C" fn(*mut bindings::kretprobe_instance, *mut bindings::pt_regs) -> c_int,
    PhantomData<&'a ReturnProbe>,
);

impl OnReturn<'_> {
    /// Calls it for a call of its probe's.
    #[inline(always)]
    pub(crate) fn call(self, call: &Call, registers: &mut bindings::pt_regs) {
        // SAFETY: As for `wants`, by the invariant; nobody looks at what it returns.
        unsafe { (self.0)(call.as_c(), registers) };
    }
}
