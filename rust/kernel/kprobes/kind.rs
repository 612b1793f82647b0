// SPDX-License-Identifier: GPL-2.0

//! The kinds of probes: which C structure each is, and which functions C is given for its handlers.
//!
//! Kprobes call those functions with the structure that was registered. It is the first member of
//! `Site`, so they find the client's state beside it.
//!
//! All that is generic on the way from a client's call of `register()` to these functions is marked
//! `#[inline]`. So each crate that registers something has copies of its own, where the compiler
//! would share those of another crate, and the addresses of these functions say which module a
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

/// What C registers.
///
/// # Safety
///
/// It is a structure that may be zero before it is registered, whose registering and unregistering
/// are as those of `<linux/kprobes.h>`: after [`Self::unregister`] has returned, no handler runs
/// but on CPUs that `clients::wait_for_idle` waits for, and the structure is not used any more,
/// unless its probe's address was taken away.
pub unsafe trait Raw: Zeroable {
    /// # Safety
    ///
    /// `probes` are `count` pointers to structures that are not registered and stay where they are
    /// until they have been unregistered.
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result;

    /// # Safety
    ///
    /// `probes` are `count` pointers to structures that are registered.
    unsafe fn unregister(probes: *mut *mut Self, count: c_int);

    /// The probe that it has.
    fn probe(this: *mut Self) -> *mut bindings::kprobe;

    /// How to tell the list of clients about it.
    fn client(this: *mut Self, code: usize) -> bindings::rust_kprobes_client;

    /// How many hits it has missed, beyond those that its probe has.
    ///
    /// # Safety
    ///
    /// `this` leads to a structure.
    unsafe fn missed(this: *mut Self) -> usize;
}

// SAFETY: It is what `<linux/kprobes.h>` describes.
unsafe impl Raw for bindings::kprobe {
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result {
        // SAFETY: By the precondition.
        to_result(unsafe { bindings::register_kprobes(probes, count) })
    }

    unsafe fn unregister(probes: *mut *mut Self, count: c_int) {
        // SAFETY: By the precondition.
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
// SAFETY: It is what `<linux/kprobes.h>` describes.
unsafe impl Raw for bindings::kretprobe {
    unsafe fn register(probes: *mut *mut Self, count: c_int) -> Result {
        // SAFETY: By the precondition.
        to_result(unsafe { bindings::register_kretprobes(probes, count) })
    }

    unsafe fn unregister(probes: *mut *mut Self, count: c_int) {
        // SAFETY: By the precondition.
        unsafe { bindings::unregister_kretprobes(probes, count) };
    }

    fn probe(this: *mut Self) -> *mut bindings::kprobe {
        // It is the first member.
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
        // SAFETY: By the precondition. Hits write to it meanwhile.
        let missed = unsafe { (&raw const (*this).nmissed).read_volatile() };
        usize::try_from(missed).unwrap_or_default()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A kind of probe.
pub trait Kind: sealed::Sealed + Sized + 'static {
    /// What C registers for it.
    type Raw: Raw;
    /// What the client keeps.
    type State: Send + Sync + 'static;
    /// Must it be where a function begins?
    const AT_ENTRY: bool;
    /// Which arguments of the function the handler takes.
    const TAKES: Takes = Takes::ByHand;

    /// Writes what C is to call into `raw`, and answers where that is.
    fn handlers(raw: &mut Self::Raw) -> usize;
}

/// A kind of probe that may be at whichever place its client names, and in a batch. The handlers
/// of such a probe cannot change what the kernel executes.
pub trait AnyPlace: Kind {}

/// The hit of one client's probe, and the client's state, if it may be told.
///
/// # Safety
///
/// Kprobes have called a handler of `probe` with `registers`, which does not return as long as `'a`
/// lasts. `probe` is, or is the first member of, the `K::Raw` of a [`Site<K>`].
#[inline]
unsafe fn told<'a, K: Kind>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> Option<(Hit<'a>, &'a K::State)> {
    let (probe, registers) = (NonNull::new(probe)?, NonNull::new(registers)?);
    // SAFETY: By the precondition. Sites stay until no handler runs any more, and nobody has a
    // mutable reference to one.
    let site = unsafe { probe.cast::<Site<K>>().as_ref() };
    // SAFETY: By the precondition.
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

/// A probe on an instruction, [`Handler`].
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

/// A probe on an instruction, [`HandlerAfter`].
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

/// A probe where a function begins, [`EntryHandler`].
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

/// A return probe, [`ReturnHandler`].
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
        let begins: unsafe extern "C" fn(_, _) -> _ = begins::<T>;
        raw.entry_handler = Some(begins);
        raw.handler = Some(ends::<T>);
        raw.data_size = size_of::<T::Data>();
        begins as usize
    }
}

#[cfg(CONFIG_KRETPROBES)]
impl<T: ReturnHandler> AnyPlace for FunctionReturn<T> {}

/// # Safety
///
/// To be called by kprobes, for a `Site<K>`.
#[inline]
unsafe extern "C" fn before<K: Kind<State = T::State>, T: Handler>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: This is the handler.
    if let Some((hit, state)) = unsafe { told::<K>(probe, registers) } {
        T::before(state, &hit);
    }
    0
}

/// # Safety
///
/// To be called by kprobes, for a `Site<InstructionAfter<T>>`.
#[inline]
unsafe extern "C" fn after<T: HandlerAfter>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
    _: c_ulong,
) {
    // SAFETY: This is the handler.
    if let Some((hit, state)) = unsafe { told::<InstructionAfter<T>>(probe, registers) } {
        T::after(state, &hit);
    }
}

/// # Safety
///
/// To be called by kprobes, for a `Site<FunctionEntry<T>>`.
#[inline]
unsafe extern "C" fn enter<T: EntryHandler>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: This is the handler.
    if let Some((hit, state)) = unsafe { told::<FunctionEntry<T>>(probe, registers) } {
        T::enter(state, &Entry::of(hit));
    }
    0
}

/// Where a call's data is.
///
/// # Safety
///
/// `call` is one of kprobes'.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe fn data<D>(call: *mut bindings::kretprobe_instance) -> *mut D {
    // SAFETY: By the precondition.
    unsafe { &raw mut (*call).data }.cast()
}

/// # Safety
///
/// To be called by kprobes, for a `Site<FunctionReturn<T>>`.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe extern "C" fn begins<T: ReturnHandler>(
    call: *mut bindings::kretprobe_instance,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: Kprobes pass one of their calls.
    let probe = unsafe { bindings::get_kretprobe(call) };
    // SAFETY: This is the handler.
    let told = unsafe { told::<FunctionReturn<T>>(probe.cast(), registers) };
    let Some(kept) = told.and_then(|(hit, state)| T::enter(state, &Entry::of(hit))) else {
        // The call is not watched.
        return 1;
    };
    // SAFETY: There is room for it: `data_size` says so. It need not be aligned.
    unsafe { data::<T::Data>(call).write_unaligned(kept) };
    0
}

/// # Safety
///
/// To be called by kprobes, for a `Site<FunctionReturn<T>>`, after [`begins`] has answered zero for
/// the same call.
#[cfg(CONFIG_KRETPROBES)]
#[inline]
unsafe extern "C" fn ends<T: ReturnHandler>(
    call: *mut bindings::kretprobe_instance,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: Kprobes pass one of their calls. The answer is NULL where the probe is no more.
    let probe = unsafe { bindings::get_kretprobe(call) };
    // SAFETY: This is the handler.
    if let Some((hit, state)) = unsafe { told::<FunctionReturn<T>>(probe.cast(), registers) } {
        // SAFETY: `begins` has written it, for a call that is watched.
        let kept = unsafe { data::<T::Data>(call).read_unaligned() };
        // SAFETY: Kprobes pass one of their calls.
        let to = unsafe { bindings::get_kretprobe_retaddr(call) };
        T::leave(state, kept, &Return::of(hit, to));
    }
    0
}
