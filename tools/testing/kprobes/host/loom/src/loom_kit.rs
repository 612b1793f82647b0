// SPDX-License-Identifier: GPL-2.0

//! What the models under loom share.

#![allow(unused_imports, unused_macros)]

pub(crate) use crate::{
    checked::{self, in_model},
    memory::{self, PreemptOff},
    model::addr::TextAddr,
};
pub(crate) use core::ptr;
pub(crate) use loom::{
    cell::UnsafeCell,
    model::Builder,
    sync::{
        atomic::{
            AtomicBool, AtomicU8, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
        Condvar, Mutex,
    },
    thread,
};
pub(crate) use std::{
    cell::{Cell, RefCell},
    sync::{Arc, OnceLock},
    vec::Vec,
};

/// Memory that one thread at a time may have, or several may look at, while it is there.
pub(crate) struct Watched(UnsafeCell<bool>);

// SAFETY: loom, which wants to see all accesses, keeps its own order.
unsafe impl Sync for Watched {}
// SAFETY: As above.
unsafe impl Send for Watched {}

impl Default for Watched {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Watched {
    pub(crate) fn new(is_there: bool) -> Self {
        Self(UnsafeCell::new(is_there))
    }

    /// Looks at it, which must be there.
    pub(crate) fn look(&self, else_say: &str) {
        // SAFETY: loom has looked for accesses that nothing orders.
        self.0
            .with(|there| assert!(unsafe { *there }, "{else_say}"));
    }

    pub(crate) fn share(&self) {
        self.look("it was freed");
    }

    /// Has it alone.
    pub(crate) fn have(&self) {
        // SAFETY: As for `look`.
        self.0
            .with_mut(|there| assert!(unsafe { *there }, "it was freed"));
    }

    pub(crate) fn free(&self) {
        self.have();
        self.set(false);
    }

    pub(crate) fn set(&self, is_there: bool) {
        // SAFETY: As for `look`.
        self.0.with_mut(|there| unsafe { *there = is_there });
    }
}

/// How many read-side sections of RCU there are.
#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<AtomicUsize>);

impl Readers {
    pub(crate) fn read_side(&self) -> Reading {
        self.0.fetch_add(1, AcqRel);
        Reading(self.clone())
    }

    /// Are there none? A modification, so that each comes either before, and is counted, or after,
    /// and sees what was published.
    pub(crate) fn are_gone(&self) -> bool {
        self.0.fetch_or(0, AcqRel) == 0
    }
}

pub(crate) struct Reading(Readers);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(1, AcqRel);
    }
}

/// Runs `once` in every order of its threads in which each is interrupted at most so often, for
/// every order in which memory may show the stores.
pub(crate) fn run_model(interrupted: Option<usize>, once: impl Fn() + Send + Sync + 'static) {
    /// Atomics are plain again, also after a panic.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            checked::end();
            memory::end();
        }
    }

    let _end = End;
    let mut model = Builder::new();
    model.preemption_bound = interrupted;
    model.max_branches = 10_000;
    model.check(move || {
        checked::begin();
        memory::begin();
        once();
    });
}

/// Runs the jobs at once in every order in which each is interrupted at most so often, for every
/// order in which memory may show the stores. `before` comes first, and `end` judges the world.
pub(crate) fn run_race<W: Send + Sync + 'static, const JOBS: usize>(
    interrupted: Option<usize>,
    world: impl Fn() -> Arc<W> + Send + Sync + 'static,
    before: fn(&W),
    jobs: [fn(&W); JOBS],
    end: impl Fn(&W) + Send + Sync + 'static,
) {
    run_model(interrupted, move || {
        let world = world();
        before(&world);
        let threads = jobs.map(|job| {
            let world = world.clone();
            thread::spawn(move || job(&world))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        end(&world);
    });
}

/// Jobs of models: a name, and what is done to the world.
macro_rules! jobs {
    ($($(#[$doc:meta])* $name:ident: |$world:ident| $does:expr;)*) => {$(
        $(#[$doc])*
        fn $name($world: &World) {
            $does;
        }
    )*};
}
pub(crate) use jobs;

std::thread_local! {
    /// What the models of a test have weakened, by a name, to prove that they can fail at all.
    static WEAK: Cell<&'static str> = const { Cell::new("") };
}

/// From now on that is weakened, and nothing else.
pub(crate) fn weaken(what: &'static str) {
    WEAK.set(what);
}

pub(crate) fn is_weak(what: &str) -> bool {
    WEAK.get() == what
}

/// Tests of models: a name, what is weakened, what it panics with if it must, and what runs.
///
/// `with "step"` weakens what asks [`is_weak`]; `with "snippet" in "file"` weakens an access
/// ([`checked::weaken`]) to `Relaxed`, or to what `as` says: `Never` leaves a store out.
macro_rules! models {
    ($($name:ident $(with $weak:literal $(in $file:literal $(as $order:ident)?)?)?
    $(fails $panics:literal)?: $($run:expr),+;)*) => {$(
        #[test]
        $(#[should_panic(expected = $panics)])?
        fn $name() {
            weaken(concat!($($weak)?));
            let _weakened = weakened!($($weak $(in $file $(as $order)?)?)?);
            $($run;)+
            $crate::checked::weakened_came();
        }
    )*};
}
pub(crate) use models;

/// Weakens an access for [`models!`].
macro_rules! weakened {
    ($($step:literal)?) => {
        Weakened
    };
    ($snippet:literal in $file:literal) => {
        weakened!($snippet in $file as Relaxed)
    };
    ($snippet:literal in $file:literal as $order:ident) => {{
        $crate::checked::weaken($file, $snippet, $crate::checked::weak::$order);
        Weakened
    }};
}
pub(crate) use weakened;

/// An access may be weakened until this is dropped.
pub(crate) struct Weakened;

impl Drop for Weakened {
    fn drop(&mut self) {
        checked::weaken_nothing();
    }
}
