// SPDX-License-Identifier: GPL-2.0

//! The kinds of probes whose handler decides where the kernel continues.
//!
//! Neither is an [`AnyPlace`](super::AnyPlace): the generic functions that register probes do not
//! take them. `path.rs` registers one kind, and `injection.rs` the other.

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
use super::super::InjectionHandler;
use super::{
    super::{
        Entry,
        Next,
        Path,
        PathHandler, //
    },
    hit_and_state,
    sealed,
    Kind, //
};
use crate::{
    bindings,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A kind whose handler decides where the kernel continues.
trait Decides: Kind<Raw = bindings::kprobe> {
    /// The handler, which is the parameter of its [`Path`]s.
    type Handler;

    /// Returns where the kernel continues after a hit of such a probe.
    fn next<'a>(state: &Self::State, call: &Entry<'a>, path: Path<'a, Self::Handler>) -> Next<'a>;
}

/// The kind of a probe on a function's entry, with a [`PathHandler`].
///
/// # Invariants
///
/// A probe of this kind is registered at [`PathHandler::TARGET`].
pub struct FunctionPath<T>(PhantomData<T>);

impl<T> sealed::Sealed for FunctionPath<T> {}

impl<T: PathHandler> Kind for FunctionPath<T> {
    type Raw = bindings::kprobe;
    type State = T::State;
    const AT_ENTRY: bool = true;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        handlers::<Self>(raw)
    }
}

impl<T: PathHandler> Decides for FunctionPath<T> {
    type Handler = T;

    #[inline]
    fn next<'a>(state: &T::State, call: &Entry<'a>, path: Path<'a, T>) -> Next<'a> {
        T::enter(state, call, path)
    }
}

/// The kind of a probe on a function's entry, with an [`InjectionHandler`].
///
/// # Invariants
///
/// A probe of this kind is enabled only on the entry of a function on the kernel's error-injection
/// list, with a type that stands for an errno.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
pub struct ErrorInjection<T>(PhantomData<T>);

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
impl<T> sealed::Sealed for ErrorInjection<T> {}

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
impl<T: InjectionHandler> Kind for ErrorInjection<T> {
    type Raw = bindings::kprobe;
    type State = T::State;
    const AT_ENTRY: bool = true;

    #[inline]
    fn handlers(raw: &mut Self::Raw) -> usize {
        handlers::<Self>(raw)
    }
}

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
impl<T: InjectionHandler> Decides for ErrorInjection<T> {
    /// Not `T`, which may also be a [`PathHandler`].
    type Handler = Self;

    #[inline]
    fn next<'a>(state: &T::State, call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
        match T::enter(state, call) {
            None => path.unchanged(),
            // SAFETY: Only a hit of such a probe makes such a path, so the probe was enabled. By
            // the invariants of `ErrorInjection` the function is on the error-injection list, and
            // returns an errno. So its callers expect this value if nothing was done.
            Some(error) => unsafe { path.fail(error) },
        }
    }
}

/// Writes the handlers for C into `raw`, and returns the address of one of them.
#[inline]
fn handlers<K: Decides>(raw: &mut bindings::kprobe) -> usize {
    let decide: unsafe extern "C" fn(_, _) -> _ = decide::<K>;
    raw.pre_handler = Some(decide);
    raw.post_handler = Some(keep_jumps_away::<K>);
    decide as usize
}

/// # Safety
///
/// Only kprobes call this, for a `Site<K>`.
#[inline]
unsafe extern "C" fn decide<K: Decides>(
    probe: *mut bindings::kprobe,
    registers: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: This is the handler, so it does not return before the hit was used.
    let hit = unsafe { hit_and_state::<K>(probe, registers) };
    let (Some((hit, state)), Some(registers)) = (hit, NonNull::new(registers)) else {
        return 0;
    };
    // SAFETY: This is the handler, and kprobes call it once for a hit. The kinds of this file have
    // `AT_ENTRY`, so the probe is on a function's entry.
    let path = unsafe { Path::new(registers) };
    K::next(state, &Entry::of(hit), path).is_elsewhere().into()
}

/// Does nothing: a handler after the instruction keeps jumps away. It is generic so that it is part
/// of the client's crate, as all handlers are.
///
/// # Safety
///
/// Only kprobes call this.
#[inline]
unsafe extern "C" fn keep_jumps_away<K: Decides>(
    _: *mut bindings::kprobe,
    _: *mut bindings::pt_regs,
    _: c_ulong,
) {
}
