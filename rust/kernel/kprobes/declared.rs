// SPDX-License-Identifier: GPL-2.0

//! What [`kprobe`](macro@super::kprobe) compares a handler's types with, where the function that is
//! probed is named by its declaration. For the code that the macro makes alone.

use super::StandsFor;
use core::{
    convert::Infallible,
    marker::PhantomData, //
};

/// A value of a type that the compiler finds out; there is none.
pub struct Given<T>(Infallible, PhantomData<T>);

impl<T> Given<T> {
    /// The value.
    pub fn value(&self) -> T {
        match self.0 {}
    }

    /// It is of the same type as `value`.
    pub fn is(&self, _: T) {}

    /// A handler takes it as an `A`.
    pub fn taken_as<A: StandsFor<T>>(&self) {}
}

/// Does not compile for what is not the function itself, of which nothing is to be kept, but a
/// pointer to one.
pub const fn must_be_there<F>(_: &F) {
    assert!(
        size_of::<F>() == 0,
        "`bindings` has no such function: say `symbol = \"...\"`\n\
         (it has what the headers in rust/bindings/bindings_helper.h declare)"
    );
}
