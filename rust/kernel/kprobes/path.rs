// SPDX-License-Identifier: GPL-2.0

//! Having the kernel go on elsewhere.
//!
//! A handler that only looks cannot break anything that Rust relies on. A handler that skips a
//! function, or has another one called in its place, can: the callers may rely on what the function
//! does. So this is a capability of its own. A [`PathHandler`] is given a [`Path`] at each hit. The
//! path is the right to say once how the kernel goes on, and the handler has to answer what it has
//! made of it. To execute the function needs no `unsafe`; each other way to go on does, and says
//! what is to be true. Where the function only has to fail, and the kernel says that it may, an
//! [`InjectionHandler`](super::InjectionHandler) needs no `unsafe` either.
//!
//! # The target is the handler's
//!
//! Whether a function may be skipped depends on the function. So the implementation of a handler
//! fixes it, as [`PathHandler::TARGET`], and its `unsafe` blocks speak of calls of this function
//! alone. A [`PathProbe`] is registered there and nowhere else, and there are no batches of them.
//!
//! [`PathHandler`] need not be an `unsafe` trait, as safe code cannot break that argument:
//!
//! - An implementation without `unsafe` cannot make anything of its path but
//!   [`Path::unchanged`].
//! - Whoever registers a handler that someone else has written cannot name another place.
//! - `enter` is a safe function, so a second handler can call the `enter` of the first one. It
//!   cannot pass its own path on, though: a path has its handler as a parameter, and only the hit
//!   of that handler's probe makes one. The parameter is invariant, so no conversion leads from one
//!   handler's path to another's.
//! - A target with an offset does not compile. The symbol could be that of another function by the
//!   time when C looks it up, in which no function begins at the offset.
//!
//! # No jumps
//!
//! Such a probe has a handler after the instruction as well, which does nothing. What a handler
//! that is reached by a jump says of the path is ignored, and a handler after the instruction keeps
//! jumps away from the place. It also says to others that want a function for themselves, such as
//! live patches, that this one is taken.

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

/// What is called when its target is, and may have something else be executed in its place.
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
/// /// Has a file system's type not be registered whose address is odd.
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
    /// What the registration owns.
    type State: Send + Sync + 'static;

    /// The function whose calls the handler decides on, by its symbol or the address where it
    /// begins. The `unsafe` blocks of [`Self::enter`] rely on it.
    ///
    /// A symbol that there is more than once stands for one of these functions. What the handler
    /// relies on has to be true of each of them.
    const TARGET: Place<'static>;

    /// Called when a call of the target begins. What it answers is made of `path`.
    fn enter<'a>(state: &Self::State, call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a>;
}

impl<T: PathHandler> PathProbe<T> {
    /// Registers a probe at the handler's [`TARGET`](PathHandler::TARGET), whose state is what
    /// `state` makes, and waits until it is there.
    ///
    /// If it is refused the state is dropped again.
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
        // INVARIANT: This is the handler's target. Nothing else registers probes of this kind.
        Self::register_with(here, T::TARGET, state, set)
    }
}

/// The right of the handler `T` to say how the kernel goes on after a hit.
///
/// # Invariants
///
/// `registers` are those of the hit, for `'a`, of a probe of `T` where a function begins, and
/// nobody else writes to them. (Whoever has the hit reads them, by a pointer, as all do who have a
/// hit.)
pub struct Path<'a, T> {
    registers: NonNull<bindings::pt_regs>,
    _hit: PhantomData<&'a ()>,
    // The parameter is invariant: see the head of this file.
    _handler: PhantomData<fn(T) -> T>,
}

/// How the kernel goes on after a hit; made of a [`Path`].
#[must_use]
pub struct Next<'a> {
    elsewhere: bool,
    _handler: PhantomData<&'a ()>,
}

impl Next<'_> {
    /// Is it anything but the probed instruction?
    #[inline]
    pub(super) fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }
}

impl<'a, T> Path<'a, T> {
    /// # Safety
    ///
    /// Kprobes have called the handler `T` of a probe where a function begins with `registers`, and
    /// it has not returned as long as this is there. There is no other path of this hit.
    #[inline]
    pub(super) unsafe fn new(registers: NonNull<bindings::pt_regs>) -> Self {
        // INVARIANT: The precondition says the same.
        Self {
            registers,
            _hit: PhantomData,
            _handler: PhantomData,
        }
    }

    /// The function is executed.
    #[inline]
    pub fn unchanged(self) -> Next<'a> {
        Next {
            elsewhere: false,
            _handler: PhantomData,
        }
    }

    /// The function is not executed. It returns `value` at once, of which its caller takes as many
    /// bits as he wants.
    ///
    /// # Safety
    ///
    /// This speaks of calls of `T`'s target, [`PathHandler::TARGET`], which the implementer of `T`
    /// has fixed. Whoever calls the target must be able to live with this value when nothing has
    /// been done for it. No lock, reference or memory may depend on what the target would have
    /// done. What is marked by `ALLOW_ERROR_INJECTION()` is of that kind.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn return_now(self, value: usize) -> Next<'a> {
        // SAFETY: By the type's invariants the registers are there and ours, and those of a hit
        // where a function begins.
        unsafe { return_now(self.registers, value) };
        self.elsewhere()
    }

    /// The function is not executed. It returns `error` at once, as a negative number.
    ///
    /// # Safety
    ///
    /// As for [`Self::return_now`], of calls of `T`'s target; and the target returns an `int` or a
    /// `long`, or a pointer that may be an error.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn fail(self, error: Error) -> Next<'a> {
        // The upper bits are those of a negative number.
        let value = error.to_errno() as isize as usize;
        // SAFETY: The precondition includes that of `return_now`, with a value of the target's
        // type.
        unsafe { self.return_now(value) }
    }

    /// The kernel goes on at `address`, with all registers as they are.
    ///
    /// # Safety
    ///
    /// This speaks of calls of `T`'s target, [`PathHandler::TARGET`], which the implementer of `T`
    /// has fixed. There must be code at `address`, for as long as anybody may be in it, which is
    /// right to execute with these registers and this stack: that of a function with the target's
    /// arguments and type of result, for which is true what [`Self::return_now`] says of a value.
    /// It may call the target itself only if that is not to be told: the target is probed still.
    #[inline]
    pub unsafe fn go_on_at(self, address: usize) -> Next<'a> {
        // SAFETY: The registers are there and ours, by the type's invariants.
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

/// Has the function that begins with `registers` return `value`.
///
/// # Safety
///
/// They are the registers of a hit where a function begins, whose handler has not returned, and
/// nobody else writes to them.
//
// Neither generic nor inlined, so it is never a module's: what it calls is not exported.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
#[inline(never)]
unsafe fn return_now(registers: NonNull<bindings::pt_regs>, value: usize) {
    // SAFETY: By the precondition the registers are there and ours.
    unsafe { bindings::regs_set_return_value(registers.as_ptr(), value) };
    // SAFETY: As above, and by the precondition the function has not begun.
    unsafe { bindings::override_function_with_return(registers.as_ptr()) };
}
