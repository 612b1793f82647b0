// SPDX-License-Identifier: GPL-2.0

//! Having the kernel go on elsewhere.
//!
//! A handler that only looks cannot break anything that Rust relies on. One that has a function not
//! be executed, or another one in its place, can: who calls the function may rely on what it does.
//! So that is a capability of its own. A [`PathHandler`] is given a [`Path`] at each hit, which is
//! the right to say once how the kernel goes on, and has to answer what it has made of it. To leave
//! all as it is needs no `unsafe`; each way to go on elsewhere does, and says what is to be true.
//!
//! Such a probe has a handler after the instruction as well, which does nothing: what a handler
//! that is reached by a jump says of the path is ignored, and such a handler keeps jumps away from
//! the place. It also says to others that want a function for themselves, such as live patches,
//! that this one is taken.

use super::Entry;
use crate::bindings;
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
use crate::error::Error;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// What is called when a function is, and may have something else be executed in its place.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Entry,
///         Next,
///         Path,
///         PathHandler, //
///     },
///     prelude::*, //
/// };
///
/// /// Has every call fail whose first argument is 0.
/// struct RefuseZero;
///
/// impl PathHandler for RefuseZero {
///     type State = ();
///
///     fn enter<'a>(_: &(), call: &Entry<'a>, path: Path<'a>) -> Next<'a> {
///         match call.argument::<usize>(0) {
///             # #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
///             // SAFETY: It is only registered where a function may fail before it has done
///             // anything, and returns an errno then.
///             Some(0) => unsafe { path.fail(EINVAL) },
///             _ => path.unchanged(),
///         }
///     }
/// }
/// ```
pub trait PathHandler: 'static {
    /// What the registration owns.
    type State: Send + Sync + 'static;

    /// Called when a call begins. What it answers is made of `path`.
    fn enter<'a>(state: &Self::State, call: &Entry<'a>, path: Path<'a>) -> Next<'a>;
}

/// The right to say how the kernel goes on after a hit.
///
/// # Invariants
///
/// `registers` are those of the hit, for `'a`, of a probe where a function begins, and nobody else
/// writes to them. (Whoever has the hit reads them, by a pointer, as all do who have a hit.)
pub struct Path<'a> {
    registers: NonNull<bindings::pt_regs>,
    _handler: PhantomData<&'a ()>,
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

impl<'a> Path<'a> {
    /// # Safety
    ///
    /// Kprobes have called a handler of a probe where a function begins with `registers`, and it
    /// has not returned as long as this is there. There is no other.
    #[inline]
    pub(super) unsafe fn new(registers: NonNull<bindings::pt_regs>) -> Self {
        // INVARIANT: By the precondition.
        Self {
            registers,
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
    /// Whoever calls the function must be able to live with this value when nothing has been done
    /// for it. No lock, reference or memory may depend on what the function would have done. What
    /// is marked by `ALLOW_ERROR_INJECTION()` is of that kind.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn return_now(self, value: usize) -> Next<'a> {
        return_now(&self, value);
        self.elsewhere()
    }

    /// The function is not executed. It returns `error` at once, as a negative number.
    ///
    /// # Safety
    ///
    /// As for [`Self::return_now`]; and the function returns an `int` or a `long`, or a pointer
    /// that may be an error.
    #[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
    #[inline]
    pub unsafe fn fail(self, error: Error) -> Next<'a> {
        // The upper bits are those of a negative number.
        let value = error.to_errno() as isize as usize;
        // SAFETY: By the precondition.
        unsafe { self.return_now(value) }
    }

    /// The kernel goes on at `address`, with all registers as they are.
    ///
    /// # Safety
    ///
    /// There must be code, for as long as anybody may be in it, which is right to execute with
    /// these registers and this stack: that of a function with the same arguments and the same
    /// type of result, for which is true what [`Self::return_now`] says of a value. The probed
    /// function itself may be called by it only if that is not to be told: it is probed still.
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

/// Has the function of `path` return `value`.
//
// Not for modules to inline: what it calls is not exported.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
#[inline(never)]
fn return_now(path: &Path<'_>, value: usize) {
    let registers = path.registers.as_ptr();
    // SAFETY: The registers are there and ours, by the type's invariants.
    unsafe { bindings::regs_set_return_value(registers, value) };
    // SAFETY: As above, and the probe is where a function begins.
    unsafe { bindings::override_function_with_return(registers) };
}
