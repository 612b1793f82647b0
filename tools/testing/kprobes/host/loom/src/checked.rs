// SPDX-License-Identifier: GPL-2.0

//! `core`'s atomics by name, which loom checks within a model.
//!
//! `rust/kprobes/atomics.rs` takes them in place of `core`'s. They differ from loom's own atomics:
//!
//! - `new` is `const`, so that the kernel's statics compile. loom has to create an atomic in a
//!   model, before the model's threads begin. So [`begin`] creates a stock of them, each with the
//!   value [`FRESH`]; at its first access an atomic takes one, for which `FRESH` means the value
//!   that `new` was given.
//! - Outside a model they are plain atomics, so the unit tests of the same files run as well.
//! - A test can weaken an access, named by its file and a part of its source line ([`weaken`]), to
//!   prove that a model fails if the order of that access is wrong.

use crate::memory;
use core::{
    cell::{Cell, RefCell},
    panic::Location,
    sync::atomic,
};
use loom::sync::atomic as model;
use std::{fs, rc::Rc, vec::Vec};

pub(crate) use core::sync::atomic::Ordering;

/// How many atomics a model may access, unless it says so.
const STOCK: usize = 64;

/// The value of an atomic of loom's that no thread has changed yet. No model stores it.
const FRESH: u64 = 0xf2e5_8a70_3b1d_96c4;

struct Word {
    word: model::AtomicU64,
    /// Is its value not [`FRESH`] for certain?
    settled: Cell<bool>,
}

/// Atomics of loom's for one run of a model.
struct Run {
    /// Counts the runs. Zero: there is no model.
    number: u64,
    stock: Vec<Rc<Word>>,
}

std::thread_local! {
    // All threads of a model are one thread of the host.
    static RUN: RefCell<Run> = const { RefCell::new(Run { number: 0, stock: Vec::new() }) };
    static STOCKED: Cell<usize> = const { Cell::new(STOCK) };
    static LOADS: Cell<usize> = const { Cell::new(0) };
    static WEAK: RefCell<Option<Weak>> = const { RefCell::new(None) };
}

/// How many runs there have been, in all tests: statics are theirs together.
static RUNS: atomic::AtomicU64 = atomic::AtomicU64::new(0);

/// A run of a model begins. To be called in it before any other thread begins.
pub(crate) fn begin() {
    let word = |_| {
        Rc::new(Word {
            word: model::AtomicU64::new(FRESH),
            settled: Cell::new(false),
        })
    };
    let stock = (0..STOCKED.get()).map(word).collect();
    let number = 1 + RUNS.fetch_add(1, Ordering::Relaxed);
    RUN.set(Run { number, stock });
}

/// The next model accesses up to so many atomics.
pub(crate) fn stock(count: usize) {
    STOCKED.set(count);
}

/// How many loads there were outside of models since this was last asked.
pub(crate) fn loads() -> usize {
    LOADS.take()
}

pub(crate) fn in_model() -> bool {
    RUN.with_borrow(|run| run.number != 0)
}

pub(crate) fn end() {
    let stock = Vec::new();
    STOCKED.set(STOCK);
    RUN.set(Run { number: 0, stock });
}

/// What an atomic has in a model.
struct Live(RefCell<Option<(u64, Rc<Word>)>>);

// SAFETY: In a model all threads are one, and elsewhere only the model's number is looked at.
unsafe impl Send for Live {}
// SAFETY: As above.
unsafe impl Sync for Live {}

impl Live {
    const fn new() -> Self {
        Self(RefCell::new(None))
    }

    fn word(&self) -> Option<Rc<Word>> {
        memory::look(core::ptr::from_ref(self).addr());
        RUN.with_borrow_mut(|run| {
            if run.number == 0 {
                return None;
            }
            let mut live = self.0.borrow_mut();
            match &*live {
                Some((number, word)) if *number == run.number => Some(word.clone()),
                _ => {
                    let word = run.stock.pop();
                    let word = word.expect("a model has more atomics than STOCK");
                    *live = Some((run.number, word.clone()));
                    Some(word)
                }
            }
        })
    }
}

impl Word {
    /// Makes the value `first` if no thread has changed it, so that one operation can change it.
    fn settle(&self, first: u64) -> &model::AtomicU64 {
        if !self.settled.get() {
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            _ = self.word.compare_exchange(FRESH, first, success, failure);
            // Not before: threads change there.
            self.settled.set(true);
        }
        &self.word
    }
}

/// Kinds of atomics: name, value, what makes a value a number, and a number a value.
macro_rules! atomics {
    ($($name:ident $(<$of:ident>)?: $value:ty, $to:expr, $from:expr;)*) => {$(
        /// As in [`core::sync::atomic`].
        pub(crate) struct $name $(<$of>)? {
            plain: atomic::$name $(<$of>)?,
            live: Live,
        }

        impl $(<$of>)? $name $(<$of>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self {
                    plain: atomic::$name::new(value),
                    live: Live::new(),
                }
            }

            fn first(&self) -> u64 {
                $to(self.plain.load(Ordering::Relaxed))
            }

            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                let allowed = allowed(order);
                match self.live.word() {
                    None => {
                        LOADS.set(LOADS.get() + 1);
                        self.plain.load(allowed)
                    }
                    Some(live) => {
                        let seen = match live.word.load(allowed) {
                            FRESH => self.first(),
                            seen => seen,
                        };
                        // Whoever wants an order of a pointer goes where it leads.
                        if order == Ordering::Acquire {
                            memory::look(seen as usize);
                        }
                        $from(seen)
                    }
                }
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                if is_left_out() {
                    return;
                }
                let order = allowed(order);
                match self.live.word() {
                    None => self.plain.store(value, order),
                    Some(live) => live.word.store($to(value), order),
                }
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                let order = allowed(order);
                match self.live.word() {
                    None => self.plain.swap(value, order),
                    Some(live) => $from(live.settle(self.first()).swap($to(value), order)),
                }
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (allowed(success), allowed(failure));
                match self.live.word() {
                    None => self.plain.compare_exchange(current, new, success, failure),
                    Some(live) => {
                        let word = live.settle(self.first());
                        let seen =
                            word.compare_exchange($to(current), $to(new), success, failure);
                        seen.map($from).map_err($from)
                    }
                }
            }

            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                update: impl Fn($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut now = self.load(failure);
                while let Some(next) = update(now) {
                    match self.compare_exchange(now, next, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(other) => now = other,
                    }
                }
                Err(now)
            }
        }
    )*};
}
atomics! {
    AtomicBool: bool, u64::from, |seen| seen != 0;
    AtomicU8: u8, u64::from, |seen| seen as u8;
    AtomicU32: u32, u64::from, |seen| seen as u32;
    AtomicU64: u64, core::convert::identity, core::convert::identity;
    AtomicUsize: usize, |value| value as u64, |seen| seen as usize;
    AtomicPtr<T>: *mut T,
        |value: *mut T| value.expose_provenance() as u64,
        |seen| core::ptr::with_exposed_provenance_mut(seen as usize);
}

/// Read-modify-writes of numbers.
macro_rules! fetch {
    ($name:ident: $value:ty, $($fetch:ident)*) => {
        impl $name {$(
            #[track_caller]
            pub(crate) fn $fetch(&self, value: $value, order: Ordering) -> $value {
                let order = allowed(order);
                match self.live.word() {
                    None => self.plain.$fetch(value, order),
                    Some(live) => {
                        live.settle(self.first()).$fetch(value as u64, order) as $value
                    }
                }
            }
        )*}
    };
}
// One of 32 bits must not wrap in a model, where it has 64.
fetch!(AtomicU32: u32, fetch_add fetch_sub fetch_and fetch_or);
fetch!(AtomicU64: u64, fetch_add fetch_sub fetch_and fetch_or);
fetch!(AtomicUsize: usize, fetch_add fetch_sub fetch_and fetch_or);

/// As in [`core::sync::atomic`]. One that is weakened to `Relaxed` is none.
#[track_caller]
pub(crate) fn fence(order: Ordering) {
    let order = allowed(order);
    if order == Ordering::Relaxed {
    } else if RUN.with_borrow(|run| run.number == 0) {
        atomic::fence(order);
    } else {
        model::fence(order);
    }
}

struct Weak {
    /// The end of the path of its file.
    file: String,
    lines: Vec<u32>,
    /// Without it, a store does not come at all.
    order: Option<Ordering>,
    met: bool,
}

/// Orders that an access may be weakened to.
#[expect(non_upper_case_globals, reason = "as the variants of `Ordering`")]
pub(crate) mod weak {
    use super::Ordering;

    pub(crate) const Relaxed: Option<Ordering> = Some(Ordering::Relaxed);
    pub(crate) const Acquire: Option<Ordering> = Some(Ordering::Acquire);
    pub(crate) const Release: Option<Ordering> = Some(Ordering::Release);
    pub(crate) const SeqCst: Option<Ordering> = Some(Ordering::SeqCst);
    pub(crate) const Never: Option<Ordering> = None;
}

/// From now on accesses in lines of `rust/kprobes/FILE` that contain `snippet` have this order.
pub(crate) fn weaken(file: &str, snippet: &str, order: Option<Ordering>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../../");
    let file = format!("rust/kprobes/{file}");
    let text = fs::read_to_string(format!("{folder}{file}")).unwrap();
    let has = |line: &str| {
        line.split("//")
            .next()
            .is_some_and(|code| code.contains(snippet))
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| has(line));
    let lines: Vec<u32> = lines.map(|(number, _)| number).collect();
    assert!(!lines.is_empty(), "no line of {file} has {snippet:?}");
    let met = false;
    WEAK.set(Some(Weak {
        file,
        lines,
        order,
        met,
    }));
}

pub(crate) fn weaken_nothing() {
    WEAK.set(None);
}

/// Panics if an access is weakened that never came.
pub(crate) fn weakened_came() {
    let came = WEAK.with_borrow(|weak| weak.as_ref().is_none_or(|weak| weak.met));
    assert!(came, "the weakened access never came");
}

/// What the caller's access is weakened to, if it is.
#[track_caller]
fn weakened() -> Option<Option<Ordering>> {
    let here = Location::caller();
    WEAK.with_borrow_mut(|weak| {
        let weak = weak.as_mut()?;
        let is_it = weak.lines.contains(&here.line()) && here.file().ends_with(&weak.file);
        weak.met |= is_it;
        is_it.then_some(weak.order)
    })
}

/// Is the caller's store not to come at all?
#[track_caller]
fn is_left_out() -> bool {
    weakened() == Some(None)
}

/// The order of the caller's access: the one asked for, unless it is weakened.
#[track_caller]
fn allowed(order: Ordering) -> Ordering {
    weakened().flatten().unwrap_or(order)
}
