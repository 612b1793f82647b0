// SPDX-License-Identifier: GPL-2.0

//! Types that the code of [`kprobe`](macro@super::kprobe) compares with a handler's types, if the
//! probed function is named by its declaration. Only for the code that the macro makes.

use super::StandsFor;
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

    /// Compiles only if `value` has the same type.
    pub fn is(&self, _: T) {}

    /// Compiles only if a handler may take the value as an `A`.
    pub fn taken_as<A: StandsFor<T>>(&self) {}
}

/// Compiles only for a function itself, which has no size, and not for a function pointer.
pub const fn must_be_there<F>(_: &F) {
    assert!(
        size_of::<F>() == 0,
        "`bindings` has no such function: say `symbol = \"...\"`\n\
         (it has what the headers in rust/bindings/bindings_helper.h declare)"
    );
}
