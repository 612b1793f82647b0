// SPDX-License-Identifier: GPL-2.0

//! The kinds of probes: the C structure of each, and the functions that C calls as its handlers.
//!
//! Kprobes call these functions with the structure that was registered. It is the first member of
//! `Site`, so the functions find the client's state beside it.
//!
//! All generic functions from a client's call of `register()` to these functions are marked
//! `#[inline]`. So each crate that registers a probe has its own copies, and the compiler does not
//! share the copies of another crate. The addresses of the copies identify the module that a
//! registration must not outlive.

mod path;

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
pub use self::path::ErrorInjection;
pub use self::path::FunctionPath;

use super::{
    site::Site,
    Entry,
    EntryHandler,
    Handler,
    HandlerAfter,
    Hit,
    Takes, //
};
#[cfg(CONFIG_KRETPROBES)]
use super::{
    Return,
    ReturnHandler, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A structure that C registers.
///
/// # Safety
///
/// The structure may be zero before it is registered, and is registered and unregistered as in
/// `<linux/kprobes.h>`. After [`Self::unregister`] has returned, no handler runs except on CPUs
/// that `clients::wait_for_idle` waits for, and the structure is not used any more, unless its
/// probe's address was cleared.
pub unsafe trait Raw: Zeroable {
    /// # Safety
    ///
    /// `probes` are `count` pointers to structures that are not registered, and that do not move
    /// until they were unregistered.
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result;

    /// # Safety
    ///
    /// `probes` are `count` pointers to structures that are registered.
    unsafe fn unregister(probes: *mut *mut Self, count: c_int);

    /// Returns the probe of the structure.
    fn probe(this: *mut Self) -> *mut bindings::kprobe;

    /// Returns the entry for the list of clients.
    fn client(this: *mut Self, code: usize) -> bindings::rust_kprobes_client;

    /// Returns how many hits were missed, in addition to the count of the probe.
    ///
    /// # Safety
    ///
    /// `this` points to a structure.
    unsafe fn missed(this: *mut Self) -> usize;
}

// SAFETY: `<linux/kprobes.h>` describes this structure.
unsafe impl Raw for bindings::kprobe {
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result {
        // SAFETY: The precondition is the same.
        to_result(unsafe { bindings::register_kprobes(probes, count) })
    }

    unsafe fn unregister(probes: *mut *mut Self, count: c_int) {
        // SAFETY: The precondition is the same.
        unsafe { bindings::unregister_kprobes(probes, count) };
    }

    fn probe(this: *mut Self) -> *mut bindings::kprobe {
        this
    }

    fn client(this: *mut Self, code: usize) -> bindings::rust_kprobes_client {
        bindings::rust_kprobes_client {
            code,
            probe: this,
            ..pin_init::zeroed()
        }
    }

    unsafe fn missed(_: *mut Self) -> usize {
        0
    }
}

#[cfg(CONFIG_KRETPROBES)]
// SAFETY: `<linux/kprobes.h>` describes this structure.
unsafe impl Raw for bindings::kretprobe {
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result {
        // SAFETY: The precondition is the same.
        to_result(unsafe { bindings::register_kretprobes(probes, count) })
    }

    unsafe fn unregister(probes: *mut *mut Self, count: c_int) {
        // SAFETY: The precondition is the same.
        unsafe { bindings::unregister_kretprobes(probes, count) };
    }

    fn probe(this: *mut Self) -> *mut bindings::kprobe {
        const { assert!(core::mem::offset_of!(Self, kp) == 0) };
        this.cast()
    }

    fn client(this: *mut Self, code: usize) -> bindings::rust_kprobes_client {
        bindings::rust_kprobes_client {
            code,
            probe: Self::probe(this),
            return_probe: this,
            ..pin_init::zeroed()
        }
    }

    unsafe fn missed(this: *mut Self) -> usize {
        // SAFETY: By the precondition. The read is volatile, as hits write to the field meanwhile.
        let missed = unsafe { (&raw const (*this).nmissed).read_volatile() };
        usize::try_from(missed).unwrap_or_default()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A kind of probe.
pub trait Kind: sealed::Sealed + Sized + 'static {
    /// The structure that C registers for this kind.
    type Raw: Raw;
    /// The state that the client keeps.
    type State: Send + Sync + 'static;
    /// Whether the probe must be on a function's entry.
    const AT_ENTRY: bool;
    /// The arguments of the function that the handler takes.
    const TAKES: Takes = Takes::ByHand;

    /// Writes the handlers for C into `raw`, and returns the address of one of them.
    fn handlers(raw: &mut Self::Raw) -> usize;
}

/// A kind of probe that may be at any place, and in a batch. The handlers of such a probe cannot
/// change what the kernel executes.
pub trait AnyPlace: Kind {}

/// Returns the hit of a client's probe and the client's state, if the handler may be called.
///
/// # Safety
///
/// Kprobes have called a handler of `probe` with `registers`, which does not return during `'a`.
/// `probe` is, or is the first member of, the `K::Raw` of a [`Site<K>`].
#[inline]
unsafe fn hit_and_state<'a, K: Kind>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> Option<(Hit<'a>, &'a K::State)> {
    // Without noinstr, idle CPUs hit probes where RCU does not watch, but handlers may rely on RCU.
    // SAFETY: The function has no preconditions.
    if cfg!(not(CONFIG_ARCH_WANTS_NO_INSTR)) && !unsafe { bindings::rcu_is_watching() } {
        return None;
    }
    let (probe, registers) = (NonNull::new(probe)?, NonNull::new(registers)?);
    // SAFETY: By the precondition this is a site. It is not freed while a handler runs, and no code
    // has a mutable reference to it.
    let site = unsafe { probe.cast::<Site<K>>().as_ref() };
    // SAFETY: By the precondition the handler does not return during `'a`.
    let hit = unsafe { Hit::new(probe.cast(), registers) };
    Some((hit, site.state_in_handler()?))
}

/// A probe without handlers.
pub(super) struct Nothing;

impl sealed::Sealed for Nothing {}

impl Kind for Nothing {
    type Raw = bindings::kprobe;
    type State = ();
    const AT_ENTRY: bool = false;

    #[inline]
    fn handlers(_: &mut Self::Raw) -> usize {
        0
    }
}

impl AnyPlace for Nothing {}

/// The kind of a probe on an instruction, with a [`Handler`].
pub struct Instruction<T>(PhantomData<T>);

impl<T> sealed::Sealed for Instruction<T> {}

impl<T: Handler> Kind for Instruction<T> {
    type Raw = bindings::kprobe;
    type State = T::State;
    const AT_ENTRY: bool = false;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        let before: unsafe extern "C" fn(_, _) -> _ = before::<Self, T>;
        raw.pre_handler = Some(before);
        before as usize
    }
}

impl<T: Handler> AnyPlace for Instruction<T> {}

/// The kind of a probe on an instruction, with a [`HandlerAfter`].
pub struct InstructionAfter<T>(PhantomData<T>);

impl<T> sealed::Sealed for InstructionAfter<T> {}

impl<T: HandlerAfter> Kind for InstructionAfter<T> {
    type Raw = bindings::kprobe;
    type State = T::State;
    const AT_ENTRY: bool = false;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        let before: unsafe extern "C" fn(_, _) -> _ = before::<Self, T>;
        raw.pre_handler = Some(before);
        raw.post_handler = Some(after::<T>);
        before as usize
    }
}

impl<T: HandlerAfter> AnyPlace for InstructionAfter<T> {}

/// The kind of a probe on a function's entry, with an [`EntryHandler`].
pub struct FunctionEntry<T>(PhantomData<T>);

impl<T> sealed::Sealed for FunctionEntry<T> {}

impl<T: EntryHandler> Kind for FunctionEntry<T> {
    type Raw = bindings::kprobe;
    type State = T::State;
    const AT_ENTRY: bool = true;
    const TAKES: Takes = T::TAKES;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        let enter: unsafe extern "C" fn(_, _) -> _ = enter::<T>;
        raw.pre_handler = Some(enter);
        enter as usize
    }
}

impl<T: EntryHandler> AnyPlace for FunctionEntry<T> {}

/// The kind of a return probe, with a [`ReturnHandler`].
#[cfg(CONFIG_KRETPROBES)]
pub struct FunctionReturn<T>(PhantomData<T>);

#[cfg(CONFIG_KRETPROBES)]
impl<T> sealed::Sealed for FunctionReturn<T> {}

#[cfg(CONFIG_KRETPROBES)]
impl<T: ReturnHandler> Kind for FunctionReturn<T> {
    type Raw = bindings::kretprobe;
    type State = T::State;
    const AT_ENTRY: bool = true;
    const TAKES: Takes = T::TAKES;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        const {
            assert!(
                size_of::<T::Data>() <= bindings::KRETPROBE_MAX_DATA_SIZE as usize,
                "what a return probe keeps for a call has at most 4096 bytes"
            )
        };
        let kretprobe_entry: unsafe extern "C" fn(_, _) -> _ = kretprobe_entry::<T>;
        raw.entry_handler = Some(kretprobe_entry);
        raw.handler = Some(kretprobe_return::<T>);
        raw.data_size = size_of::<T::Data>();
        kretprobe_entry as usize
    }
}

#[cfg(CONFIG_KRETPROBES)]
impl<T: ReturnHandler> AnyPlace for FunctionReturn<T> {}

/// # Safety
///
/// Only kprobes call this, for a `Site<K>`.
#[inline]
unsafe extern "C" fn before<K: Kind<State = T::State>, T: Handler>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: This is the handler, so it does not return before the hit was used.
    if let Some((hit, state)) = unsafe { hit_and_state::<K>(probe, registers) } {
        T::before(state, &hit);
    }
    0
}

/// # Safety
///
/// Only kprobes call this, for a `Site<InstructionAfter<T>>`.
#[inline]
unsafe extern "C" fn after<T: HandlerAfter>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
    _: c_ulong,
) {
    // SAFETY: This is the handler, so it does not return before the hit was used.
    if let Some((hit, state)) = unsafe { hit_and_state::<InstructionAfter<T>>(probe, registers) } {
        T::after(state, &hit);
    }
}

/// # Safety
///
/// Only kprobes call this, for a `Site<FunctionEntry<T>>`.
#[inline]
unsafe extern "C" fn enter<T: EntryHandler>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: This is the handler, so it does not return before the hit was used.
    if let Some((hit, state)) = unsafe { hit_and_state::<FunctionEntry<T>>(probe, registers) } {
        T::enter(state, &Entry::of(hit));
    }
    0
}

/// Returns a pointer to the data of a call.
///
/// # Safety
///
/// `call` is a return instance of kprobes.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe fn data<D>(call: *mut bindings::kretprobe_instance) -> *mut D {
    // SAFETY: By the precondition `call` points to an instance.
    unsafe { &raw mut (*call).data }.cast()
}

/// # Safety
///
/// Only kprobes call this, for a `Site<FunctionReturn<T>>`.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe extern "C" fn kretprobe_entry<T: ReturnHandler>(
    call: *mut bindings::kretprobe_instance,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: Kprobes pass a return instance.
    let probe = unsafe { bindings::get_kretprobe(call) };
    // SAFETY: This is the handler, so it does not return before the hit was used.
    let hit = unsafe { hit_and_state::<FunctionReturn<T>>(probe.cast(), registers) };
    let Some(kept) = hit.and_then(|(hit, state)| T::enter(state, &Entry::of(hit))) else {
        // The return is not hooked.
        return 1;
    };
    // SAFETY: `data_size` has reserved room for the value. It need not be aligned.
    unsafe { data::<T::Data>(call).write_unaligned(kept) };
    0
}

/// # Safety
///
/// Only kprobes call this, for a `Site<FunctionReturn<T>>`, after [`kretprobe_entry`] has returned
/// zero for the same call.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe extern "C" fn kretprobe_return<T: ReturnHandler>(
    call: *mut bindings::kretprobe_instance,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: Kprobes pass a return instance. The result is NULL if the probe was unregistered.
    let probe = unsafe { bindings::get_kretprobe(call) };
    // SAFETY: This is the handler, so it does not return before the hit was used.
    let hit = unsafe { hit_and_state::<FunctionReturn<T>>(probe.cast(), registers) };
    if let Some((hit, state)) = hit {
        // SAFETY: `kretprobe_entry` has written the data, as it has returned zero.
        let kept = unsafe { data::<T::Data>(call).read_unaligned() };
        T::leave(state, kept, &Return::of(hit));
    }
    0
}
