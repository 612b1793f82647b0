// SPDX-License-Identifier: GPL-2.0

//! A client's return probe: C's `struct kretprobe`, with a Rust type for each field.
//!
//! Its first field is the probe on the entry of the function. What [`Probe`] says of the client's
//! memory holds for the rest of it, too.

use super::{
    call::Call,
    store::Store,
    stores, //
};
use crate::{
    atomics::{
        AtomicI32,
        AtomicPtr,
        Ordering, //
    },
    prelude::*,
    sys::probe::{
        Hit,
        Probe, //
    }, //
};
use core::{
    cell::Cell,
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// What a hit of the entry calls.
const HIT: Hit = bindings::rust_kprobes_function_entered;

/// `struct kretprobe`.
#[repr(C)]
pub(super) struct ReturnProbe {
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
    pub(super) unsafe fn from_c<'a>(
        probes: *const *mut bindings::kretprobe,
        count: usize,
    ) -> &'a [Option<&'static Self>] {
        // SAFETY: The layouts are the same, as asserted above, and NULL is `None`; what changes
        // are atomics, and cells that the client does not change meanwhile.
        unsafe { core::slice::from_raw_parts(probes.cast(), count) }
    }

    /// The probes on the entries of their functions.
    pub(super) fn entries<'a>(probes: &'a [Option<&'static Self>]) -> &'a [Option<&'static Probe>] {
        // SAFETY: Each begins with the probe on its entry, and NULL is `None` for both.
        unsafe { core::slice::from_raw_parts(probes.as_ptr().cast(), probes.len()) }
    }

    /// The return probe that a probe is the entry of.
    ///
    /// # Safety
    ///
    /// The probe is the entry of one.
    pub(super) unsafe fn of_entry<'a>(entry: *mut bindings::kprobe) -> &'a Self {
        // SAFETY: By the precondition a return probe begins with it.
        unsafe { &*entry.cast() }
    }

    /// The return probe that a probe is the entry of, if it is one's.
    pub(super) fn with_entry(entry: &Probe) -> Option<&Self> {
        // SAFETY: Only the entries of return probes are hit by this function.
        (entry.is_hit_by(HIT)).then(|| unsafe { Self::of_entry(entry.as_c()) })
    }

    /// The probe on the entry of the function.
    pub(super) fn entry(&self) -> &Probe {
        &self.entry
    }

    /// Bytes that the client keeps for each call.
    pub(super) fn data_size(&self) -> usize {
        self.data_size.get()
    }

    /// How many calls the client wants to be watched at once, to begin with; `None` if it leaves
    /// that to us.
    pub(super) fn wanted(&self) -> Option<usize> {
        let wanted = usize::try_from(self.maxactive.get());
        wanted.ok().filter(|&count| count != 0)
    }

    /// Writes what a registration starts with: `maxactive`, the handlers, and no store, whatever
    /// the client has left there.
    pub(super) fn begin(&self, calls: usize) {
        self.maxactive.set(calls.try_into().unwrap_or(c_int::MAX));
        self.entry.be_hit_by(HIT);
        self.store.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Gives it its store.
    pub(super) fn keep(&self, store: NonNull<Store>) {
        self.missed.store(0, Ordering::Relaxed);
        self.store.store(store.as_ptr(), Ordering::Release);
    }

    /// Its store, if it has one. For hits alone: the probe was registered, so this is not the
    /// client's pointer.
    #[inline(always)]
    pub(super) fn store(&self) -> Option<&Store> {
        // SAFETY: The store stays for a grace period after this pointer was cleared.
        unsafe { self.store.load(Ordering::Relaxed).as_ref() }
    }

    /// Leaves its store, if it has one: later hits find none, hits that have found it may still use
    /// it. The pointer of a probe that is not registered may be anything, such as that of a copy of
    /// another probe, and is left alone.
    pub(super) fn leave_store(&self) {
        stores::with(self, self.store.load(Ordering::Relaxed), |store| {
            // First this: the worker waits for hits that have found the store from then on.
            self.store.store(core::ptr::null_mut(), Ordering::Relaxed);
            store.leave();
        });
    }

    /// Makes room for `count` calls at once.
    pub(super) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        let store = self.store.load(Ordering::Relaxed);
        let done = stores::with(self, store, |store| store.reserve(count));
        done.unwrap_or(Err(Refusal::NotRegistered))
    }

    /// Counts a call that is not watched.
    pub(super) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Has the client an entry handler?
    #[inline(always)]
    pub(super) fn asks(&self) -> bool {
        self.entry_handler.get().is_some()
    }

    /// Calls the entry handler; tells whether the client wants the call to be watched.
    #[inline(always)]
    pub(super) fn wants(&self, call: &Call, registers: &mut bindings::pt_regs) -> bool {
        let Some(handler) = self.entry_handler.get() else {
            return true;
        };
        // SAFETY: The client vouches for its handler while the probe is registered, and gets a call
        // of its own probe and the registers of the function's entry.
        unsafe { handler(call.as_c(), registers) == 0 }
    }

    /// The client's handler, if it has one.
    #[inline(always)]
    pub(super) fn on_return(&self) -> Option<OnReturn<'_>> {
        // INVARIANT: It is this one's.
        self.handler
            .get()
            .map(|handler| OnReturn(handler, PhantomData))
    }

    /// Does `goes` hold for the code of one of its handlers?
    pub(super) fn needs(&self, goes: impl Fn(TextAddr) -> bool) -> bool {
        let handlers = [self.handler.get(), self.entry_handler.get()];
        let mut handlers = handlers.into_iter().flatten();
        handlers.any(|handler| goes(TextAddr::new(handler as usize as u64)))
    }
}

/// A handler for the end of a call.
///
/// # Invariants
///
/// It is that of a probe that stays for `'a`.
pub(super) struct OnReturn<'a>(
    unsafe extern "C" fn(*mut bindings::kretprobe_instance, *mut bindings::pt_regs) -> c_int,
    PhantomData<&'a ReturnProbe>,
);

impl OnReturn<'_> {
    /// Calls it for a call of its probe's.
    #[inline(always)]
    pub(super) fn call(self, call: &Call, registers: &mut bindings::pt_regs) {
        // SAFETY: As for `wants`, by the invariant; nobody looks at what it returns.
        unsafe { (self.0)(call.as_c(), registers) };
    }
}
