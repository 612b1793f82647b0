// SPDX-License-Identifier: GPL-2.0

//! Types that the code of [`kprobe`](macro@super::kprobe) compares with a handler's types, if the
//! probed function is named by its declaration. Only for the code that the macro makes.

use super::{
    Argument,
    StandsFor, //
};
use crate::bindings;
use core::{
    convert::Infallible,
    marker::PhantomData, //
};

/// A value of a type that the compiler infers; no such value exists.
pub struct Given<T>(Infallible, PhantomData<T>);

impl<T> Given<T> {
    /// Returns the value.
    pub fn value(&self) -> T {
        match self.0 {}
    }

    /// Compiles only if `value`, which a function returns, has the same type.
    pub fn is(&self, _: T)
    where
        T: Returned,
    {
    }

    /// Compiles only if a handler may take the value as an `A`.
    pub fn taken_as<A: StandsFor<T>>(&self) {}
}

/// A type that functions return in registers on each machine. For a structure, the caller may pass
/// an address before the arguments, which are in other registers then.
#[diagnostic::on_unimplemented(
    message = "the function returns a structure, whose address may come before its arguments",
    label = "`{Self}` is not returned in registers on each machine",
    note = "say `symbol = \"...\"`, or read the arguments by hand"
)]
pub trait Returned {}

impl<T: Argument> Returned for T {}

impl Returned for () {}

// Enums that Rust has as structures.
impl Returned for bindings::irqreturn {}
impl Returned for bindings::hrtimer_restart {}

impl<F> Returned for Option<F> {}

/// The return type of a function. That of a function that does not return has no name here.
trait Output {
    type Type;
}

impl<T> Output for fn() -> T {
    type Type = T;
}

impl Returned for <fn() -> ! as Output>::Type {}

/// Compiles only for a function itself, which has no size, and not for a function pointer.
pub const fn must_be_there<F>(_: &F) {
    assert!(
        size_of::<F>() == 0,
        "`bindings` has no such function: say `symbol = \"...\"`\n\
         (it has what the headers in rust/bindings/bindings_helper.h declare)"
    );
}
