// SPDX-License-Identifier: GPL-2.0

//! A handler that skips its function, without saying which function that is; registered at another
//! place than its own, and in a batch; and called with the path of another handler's probe.
//!
//! error[E0046]: not all trait items implemented, missing: `TARGET`
//! says: missing `TARGET` in implementation
//! error[E0061]: this function takes 2 arguments but 3 arguments were supplied
//! error[E0277]: the trait bound `kernel::kprobes::Place<'_>: PinInit<(), _>` is not satisfied
//! says: unexpected argument #3 of type `()`
//! error[E0599]: the associated function or constant `register` exists for struct `kernel::kprobes::Batch<FunctionPath<Skips>>`, but its trait bounds were not satisfied
//! error[E0599]: the associated function or constant `register` exists for struct `kernel::kprobes::Batch<ErrorInjection<Fails>>`, but its trait bounds were not satisfied
//! says: `FunctionPath<Skips>: AnyPlace`
//! says: `ErrorInjection<Fails>: AnyPlace`
//! error[E0308]: mismatched types
//! says: expected `Path<'_, Skips>`, found `Path<'_, Passes>`

use kernel::{kprobes::*, prelude::*};

/// Skips a function for which that is right.
struct Skips;

impl PathHandler for Skips {
    type State = ();

    const TARGET: Place<'static> = Place::symbol(c"msleep");

    fn enter<'a>((): &(), _: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
        // SAFETY: Who calls `msleep()` expects no result of it.
        unsafe { path.return_now(0) }
    }
}

#[cfg(refused)]
struct Anywhere;

#[cfg(refused)]
impl PathHandler for Anywhere {
    type State = ();

    fn enter<'a>((): &(), _: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
        path.unchanged()
    }
}

/// Has no `unsafe`.
struct Passes;

impl PathHandler for Passes {
    type State = ();

    const TARGET: Place<'static> = Place::symbol(c"kernel_clone");

    fn enter<'a>((): &(), call: &Entry<'a>, path: Path<'a, Self>) -> Next<'a> {
        #[cfg(refused)]
        return Skips::enter(&(), call, path);
        #[cfg(not(refused))]
        return path.unchanged();
    }
}

/// Has every call fail.
struct Fails;

impl InjectionHandler for Fails {
    type State = ();

    fn enter((): &(), _: &Entry<'_>) -> Option<Error> {
        Some(EIO)
    }
}

fn register(here: &ProcessContext, place: Place<'_>) -> Result<(), Refused> {
    let _ = PathProbe::<Skips>::register(here, ())?;
    let _ = PathProbe::<Passes>::register(here, ())?;
    let _ = InjectionProbe::<Fails>::register(here, place, ())?;
    #[cfg(refused)]
    let _ = PathProbe::<Skips>::register(here, place, ())?;
    #[cfg(refused)]
    let _ = Batch::<kind::FunctionPath<Skips>>::register(here, &[place], |_| ());
    #[cfg(refused)]
    let _ = Batch::<kind::ErrorInjection<Fails>>::register(here, &[place], |_| ());
    Ok(())
}
