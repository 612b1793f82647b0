// SPDX-License-Identifier: GPL-2.0

//! A client's return probe: C's `struct kretprobe`, with a Rust type for each field.
//!
//! Its first field is the probe on the entry of the function. The rules of [`Probe`] about the
//! client's memory hold for the whole structure.

use super::*;

/// The pre handler of the probe on the entry.
const ENTRY_PRE_HANDLER: PreHandlerFn = bindings::rust_kprobes_function_entered;

/// `struct kretprobe`.
#[repr(C)]
pub(super) struct ReturnProbe {
    entry: Probe,
    handler: Cell<bindings::kretprobe_handler_t>,
    entry_handler: Cell<bindings::kretprobe_handler_t>,
    maxactive: Cell<c_int>,
    missed: AtomicI32,
    data_size: Cell<usize>,
    pool: AtomicPtr<Pool>,
}

assert_same_layout!(
    ReturnProbe, bindings::kretprobe:
    entry = kp,
    handler = handler,
    entry_handler = entry_handler,
    maxactive = maxactive,
    missed = nmissed,
    data_size = data_size,
    pool = rh
);

/// The most bytes that a client may keep for each call.
const MAX_DATA: usize = 4096;

/// A client's return probe; `None` if the client passed NULL.
pub(super) type ReturnProbePtr = Option<&'static ReturnProbe>;

// SAFETY: The layout is asserted above, and a return probe begins with the probe on its entry. The
// client changes no cell while the return probe is registered.
unsafe impl ClientStruct for ReturnProbe {
    type C = bindings::kretprobe;
}

impl ReturnProbe {
    /// Returns the return probe that has this entry.
    ///
    /// # Safety
    ///
    /// The probe is the entry of a return probe.
    pub(super) unsafe fn of_entry<'a>(entry: *mut bindings::kprobe) -> &'a Self {
        // SAFETY: By the precondition a return probe begins with the probe.
        unsafe { &*entry.cast() }
    }

    /// Returns the return probe that has this entry, if the probe is the entry of one.
    pub(super) fn with_entry(entry: &Probe) -> Option<&Self> {
        // SAFETY: Only the entries of return probes have this pre handler, unless a client copies
        // one, which it must not.
        (entry.pre_handler_is(ENTRY_PRE_HANDLER)).then(|| unsafe { Self::of_entry(entry.as_c()) })
    }

    /// Returns the probe on the entry of the function.
    pub(super) fn entry_probe(&self) -> &Probe {
        &self.entry
    }

    /// Makes the pool, and writes `maxactive`, the handlers and the pool, whatever the client has
    /// left there. If the pool is refused, the field is NULL.
    pub(super) fn begin_registration(&'static self) -> Result<(), Refusal> {
        let data = self.data_size.get();
        if data > MAX_DATA {
            return Err(Refusal::DataTooLarge);
        }
        let count = match usize::try_from(self.maxactive.get()) {
            Ok(count) if count != 0 => count,
            _ => pool::default_maxactive(),
        };
        self.maxactive.set(count.try_into().unwrap_or(c_int::MAX));
        self.entry.replace_handlers(ENTRY_PRE_HANDLER);
        self.pool.store(core::ptr::null_mut(), Ordering::Relaxed);
        let pool = Pool::new(self, count, data)?;
        self.missed.store(0, Ordering::Relaxed);
        self.pool.store(pool.as_ptr(), Ordering::Release);
        Ok(())
    }

    /// Returns the pool, unless the probe is being unregistered. Only hits may call this: the probe
    /// was registered then, so the pointer is not the client's.
    #[inline(always)]
    pub(super) fn pool(&self) -> Option<&Pool> {
        // SAFETY: The pool is not freed for a grace period after this pointer was cleared.
        unsafe { self.pool.load(Ordering::Relaxed).as_ref() }
    }

    /// Gives the pool up, if the probe has one. Later hits find no pool; hits that have found it
    /// may still use it. In a probe that is not registered the pointer may have any value, such as
    /// that of a copied probe, and is not used.
    pub(super) fn leave_pool(&self) {
        pools::with(self, self.pool.load(Ordering::Relaxed), |pool| {
            // Clear this first: after `kill`, the worker waits for hits that have found the pool.
            self.pool.store(core::ptr::null_mut(), Ordering::Relaxed);
            pool.kill();
        });
    }

    /// Adds instances to the pool, so that `count` calls find one at once.
    pub(super) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        let pool = self.pool.load(Ordering::Relaxed);
        let done = pools::with(self, pool, |pool| pool.reserve(count));
        done.unwrap_or(Err(Refusal::NotRegistered))
    }

    /// Counts a call whose return is not hooked.
    pub(super) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the client has an entry handler.
    #[inline(always)]
    pub(super) fn has_entry_handler(&self) -> bool {
        self.entry_handler.get().is_some()
    }

    /// Calls the entry handler. Returns whether the client wants the return to be hooked.
    #[inline(always)]
    pub(super) fn run_entry_handler(&self, instance: &Instance, registers: &mut Registers) -> bool {
        let Some(handler) = self.entry_handler.get() else {
            return true;
        };
        // SAFETY: The client guarantees its handler while the probe is registered. The handler gets
        // an instance of its own probe and the registers of the function's entry.
        let call = || unsafe { handler(instance.as_c(), registers) == 0 };
        self.entry.checked(handler as usize, call)
    }

    /// Returns the client's handler for the return.
    #[inline(always)]
    pub(super) fn handler(&self) -> Option<impl Fn(&Instance, &mut Registers) + '_> {
        let handler = self.handler.get()?;
        Some(move |instance: &Instance, registers: &mut Registers| {
            // SAFETY: As in `run_entry_handler`, with the registers of the return.
            let call = || unsafe { handler(instance.as_c(), registers) };
            self.entry.checked(handler as usize, call);
        })
    }

    /// Returns whether `is_freed` holds for the code of a handler.
    pub(super) fn uses_freed(&self, is_freed: impl Fn(TextAddr) -> bool) -> bool {
        let handlers = [self.handler.get(), self.entry_handler.get()];
        let mut handlers = handlers.into_iter().flatten();
        handlers.any(|handler| is_freed(TextAddr::new(handler as usize as u64)))
    }
}
