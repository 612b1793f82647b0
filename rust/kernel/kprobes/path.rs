// SPDX-License-Identifier: GPL-2.0

//! Changing where the kernel continues after a hit.
//!
//! A handler that only reads cannot break anything that Rust relies on. A handler that skips or
//! replaces a function can: the callers may rely on the function's effects. So this needs a
//! separate capability. A [`PathHandler`] gets a [`Path`] at each hit: the right to decide once
//! where the kernel continues. The handler must return the [`Next`] that it has made of the path.
//! Executing the function needs no `unsafe`; each other way needs it, and states its preconditions.
//! If the function only has to fail, and the kernel allows that, an
//! [`InjectionHandler`](super::InjectionHandler) needs no `unsafe` either.
//!
//! # The target is the handler's
//!
//! Whether a function may be skipped depends on the function. So the implementation of a handler
//! fixes it, as [`PathHandler::TARGET`], and the handler's `unsafe` blocks are about calls of this
//! function alone. A [`PathProbe`] is registered only there, and there are no batches of them.
//!
//! [`PathHandler`] need not be an `unsafe` trait, as safe code cannot break that argument:
//!
//! - An implementation without `unsafe` can only make [`Path::unchanged`] of its path.
//! - Code that registers another author's handler cannot name another place.
//! - `enter` is a safe function, so a second handler can call the `enter` of the first one. It
//!   cannot pass its own path on, though: a path has its handler as a parameter, and only the hit
//!   of that handler's probe makes one. The parameter is invariant, so no conversion leads from one
//!   handler's path to another's.
//! - A target with an offset does not compile. When C looks the symbol up, it could name another
//!   function, and the offset would not be a function's entry.
//!
//! # No jumps
//!
//! Such a probe also has a handler after the instruction, which does nothing. It keeps jumps away:
//! a hit by a jump would ignore the handler's decision. It also tells other code that wants to
//! replace the function, such as live patches, that the function is taken.

use super::{
    kind::FunctionPath,
    registration::disabled,
    Entry,
    PathProbe,
    Place,
    ProcessContext,
    Refused, //
};
use crate::{
    bindings,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// A handler that is called at its target's entry, and may replace the call.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Entry,
///         Next,
///         Path,
///         PathHandler,
///         PathProbe,
///         Place,
///         ProcessContext, //
///     },
///     prelude::*, //
/// };
///
/// /// Refuses to register a file system's type whose address is odd.
/// struct RefuseOdd;
///
/// impl PathHandler for RefuseOdd {
///     type State = ();
///
///     /// `int register_filesystem(struct file_system_type *fs)`
///     const TARGET: Place<'static> = Place::symbol(c"register_filesystem");
///
///     fn enter<'a>(_: &(), call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
///         match call.argument::<usize>(0) {
///             # #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
///             // SAFETY: `register_filesystem()` returns an errno where it has not registered
///             // the type, and has changed nothing then. Its callers use nothing of it then.
///             Some(odd) if odd % 2 == 1 => unsafe { path.fail(EINVAL) },
///             _ => path.unchanged(),
///         }
///     }
/// }
///
/// let here = ProcessContext::here()?;
/// let probe = PathProbe::<RefuseOdd>::register(&here, ())?;
/// # drop(probe);
/// # Ok::<(), Error>(())
/// ```
pub trait PathHandler: Sized + 'static {
    /// The state that the registration owns.
    type State: Send + Sync + 'static;

    /// The function whose calls the handler decides about, by its symbol or its entry address. The
    /// `unsafe` blocks of [`Self::enter`] rely on it.
    ///
    /// If several functions have the symbol, it stands for one of them. The facts that the handler
    /// relies on must be true for each of them.
    const TARGET: Place<'static>;

    /// Is called when a call of the target begins. Its result is made of `path`.
    fn enter<'a>(state: &Self::State, call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a>;
}

impl<T: PathHandler> PathProbe<T> {
    /// Registers a probe at the handler's [`TARGET`](PathHandler::TARGET), with the state that
    /// `state` makes, and waits until it is armed.
    ///
    /// If the probe is refused, the state is dropped.
    #[inline]
    pub fn register<E>(
        here: &ProcessContext,
        state: impl PinInit<T::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        Self::register_at_target(here, state, |_| ())
    }

    /// As [`Self::register`], but the probe is not hit until it is enabled.
    #[inline]
    pub fn register_disabled<E>(
        here: &ProcessContext,
        state: impl PinInit<T::State, E>,
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        Self::register_at_target(here, state, disabled::<FunctionPath<T>>)
    }

    #[inline]
    fn register_at_target<E>(
        here: &ProcessContext,
        state: impl PinInit<T::State, E>,
        set: impl FnOnce(&mut bindings::kprobe),
    ) -> Result<Self, Refused>
    where
        Error: From<E>,
    {
        const {
            assert!(
                T::TARGET.has_no_offset(),
                "the target of a path handler is where a function begins: drop the offset"
            )
        };
        // INVARIANT: This is the handler's target. No other function registers probes of this kind.
        Self::register_with(here, T::TARGET, state, set)
    }
}

/// The right of the handler `T` to decide where the kernel continues after a hit.
///
/// # Invariants
///
/// `registers` are the registers, during `'a`, of a hit of a probe of `T` on a function's entry,
/// and no other code writes to them. (All code that has the hit reads them, by a pointer.)
pub struct Path<'a, T> {
    registers: NonNull<bindings::pt_regs>,
    _hit: PhantomData<&'a ()>,
    // The parameter is invariant: see the head of this file.
    _handler: PhantomData<fn(T) -> T>,
}

/// The decision where the kernel continues after a hit; made of a [`Path`].
#[must_use]
pub struct Next<'a> {
    elsewhere: bool,
    _handler: PhantomData<&'a ()>,
}

impl Next<'_> {
    /// Returns whether the kernel continues elsewhere than at the probed instruction.
    #[inline]
    pub(super) fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }
}

impl<'a, T> Path<'a, T> {
    /// # Safety
    ///
    /// Kprobes have called the handler `T` of a probe on a function's entry with `registers`, and
    /// the handler does not return as long as this value exists. No other path of this hit exists.
    #[inline]
    pub(super) unsafe fn new(registers: NonNull<bindings::pt_regs>) -> Self {
        // INVARIANT: The precondition says the same.
        Self {
            registers,
            _hit: PhantomData,
            _handler: PhantomData,
        }
    }

    /// Executes the function.
    #[inline]
    pub fn unchanged(self) -> Next<'a> {
        Next {
            elsewhere: false,
            _handler: PhantomData,
        }
    }

    /// Returns `value` from the function at once, without executing it. The caller of the function
    /// uses as many bits as the return type has.
    ///
    /// # Safety
    ///
    /// This is about calls of `T`'s target, [`PathHandler::TARGET`], which the implementer of `T`
    /// has fixed. The callers of the target must handle this value if the target has done nothing.
    /// No lock, reference or memory may depend on the target's effects. Functions that are marked
    /// by `ALLOW_ERROR_INJECTION()` meet this.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn return_now(self, value: usize) -> Next<'a> {
        // SAFETY: By the type's invariants the registers exist and only this path writes to them,
        // and they are the registers of a hit on a function's entry.
        unsafe { return_now(self.registers, value) };
        self.elsewhere()
    }

    /// Returns `error` from the function at once, as a negative number, without executing it.
    ///
    /// # Safety
    ///
    /// As for [`Self::return_now`], about calls of `T`'s target. The target returns an `int`, a
    /// `long`, or a pointer that may be an error.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn fail(self, error: Error) -> Next<'a> {
        // The cast sign-extends the negative number.
        let value = error.to_errno() as isize as usize;
        // SAFETY: The precondition includes the precondition of `return_now`, for a value of the
        // target's type.
        unsafe { self.return_now(value) }
    }

    /// Continues at `address`, with all registers unchanged.
    ///
    /// # Safety
    ///
    /// This is about calls of `T`'s target, [`PathHandler::TARGET`], which the implementer of `T`
    /// has fixed. The code at `address` must not be freed while it may run, and must be right to
    /// execute with these registers and this stack: a function with the target's arguments and
    /// return type, whose results meet the precondition of [`Self::return_now`]. It may call the
    /// target only if that call may be missed: the target is still probed.
    #[inline]
    pub unsafe fn go_on_at(self, address: usize) -> Next<'a> {
        // SAFETY: By the type's invariants the registers exist and only this path writes to them.
        unsafe { bindings::instruction_pointer_set(self.registers.as_ptr(), address) };
        self.elsewhere()
    }

    #[inline]
    fn elsewhere(self) -> Next<'a> {
        Next {
            elsewhere: true,
            _handler: PhantomData,
        }
    }
}

/// Makes the function that begins with `registers` return `value`.
///
/// # Safety
///
/// `registers` are the registers of a hit on a function's entry, whose handler has not returned,
/// and no other code writes to them.
//
// Neither generic nor inlined, so never part of a module: the C functions are not exported.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
#[inline(never)]
unsafe fn return_now(registers: NonNull<bindings::pt_regs>, value: usize) {
    // SAFETY: By the precondition the registers exist and only the caller writes to them.
    unsafe { bindings::regs_set_return_value(registers.as_ptr(), value) };
    // SAFETY: As above, and by the precondition the function has not begun.
    unsafe { bindings::override_function_with_return(registers.as_ptr()) };
}
