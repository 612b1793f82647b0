// SPDX-License-Identifier: GPL-2.0

//! Kprobes: calling a function of one's own wherever the kernel executes some instruction.
//!
//! There are five kinds of probes:
//!
//! - a [`Probe`] on any instruction, with a [`Handler`] that is called before it, or a
//!   [`ProbeAfter`], with a [`HandlerAfter`] that is called after it as well;
//! - an [`EntryProbe`] where a function begins, whose [`EntryHandler`] sees the arguments;
//! - a [`ReturnProbe`], whose [`ReturnHandler`] is called when a function begins and when it
//!   returns, and keeps something in between;
//! - an [`InjectionProbe`] where a function begins, whose [`InjectionHandler`] may have it fail, if
//!   the kernel's error-injection list has the function;
//! - a [`PathProbe`] where a function begins, whose [`PathHandler`] may have something else be
//!   executed in its place, which is the only thing here that needs `unsafe`.
//!
//! [`kprobe`](macro@kprobe) and [`kretprobe`](macro@kretprobe) make handlers of functions that have
//! the arguments of what is probed. What an argument leads to is read by [`Hit::read`],
//! [`Hit::read_str`], [`Hit::read_user`] and [`Hit::read_user_str`].
//!
//! A registration owns its probe and the state that its handlers are called with. When it is
//! dropped, the probe is unregistered, all handlers have returned, and then the state is dropped.
//!
//! It is C's interface of kprobes that this is made of, so it works with either implementation of
//! them (`CONFIG_RUST_KPROBES`). `Documentation/trace/rust-kprobes/rust-api.rst` tells more.
//!
//! # Examples
//!
//! ```
//! use kernel::{
//!     kprobes::{
//!         Entry,
//!         EntryHandler,
//!         EntryProbe,
//!         Place,
//!         ProcessContext, //
//!     },
//!     prelude::*,
//!     sync::atomic::{
//!         Atomic,
//!         Relaxed, //
//!     }, //
//! };
//!
//! /// Counts the calls of a function, and keeps its latest first argument.
//! struct Calls;
//!
//! #[pin_data]
//! struct Seen {
//!     calls: Atomic<u64>,
//!     argument: Atomic<usize>,
//! }
//!
//! impl EntryHandler for Calls {
//!     type State = Seen;
//!
//!     fn enter(seen: &Seen, call: &Entry<'_>) {
//!         seen.calls.fetch_add(1, Relaxed);
//!         if let Some(argument) = call.argument(0) {
//!             seen.argument.store(argument, Relaxed);
//!         }
//!     }
//! }
//!
//! let here = ProcessContext::here()?;
//! let seen = pin_init!(Seen {
//!     calls: Atomic::new(0),
//!     argument: Atomic::new(0),
//! });
//! let probe = EntryProbe::<Calls>::register(&here, Place::symbol(c"kernel_clone"), seen)?;
//! pr_info!("{} calls so far\n", probe.state().calls.load(Relaxed));
//! # Ok::<(), Error>(())
//! ```
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

mod abi;
mod argument;
mod batch;
mod clients;
mod context;
#[doc(hidden)]
pub mod declared;
mod handler;
mod hit;
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
mod injection;
pub mod kind;
mod memory;
mod path;
mod place;
mod query;
mod refused;
mod register;
mod registration;
#[cfg(CONFIG_KRETPROBES)]
mod returns;
mod signature;
mod site;
#[cfg(CONFIG_RUST_KERNEL_KPROBES_KUNIT_TEST)]
mod tests;
mod typed;

#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
pub use self::injection::InjectionHandler;
pub use self::{
    argument::{
        Argument,
        InRegister,
        StandsFor, //
    },
    batch::{
        Batch,
        BatchRefused, //
    },
    context::ProcessContext,
    handler::{
        EntryHandler,
        Handler,
        HandlerAfter, //
    },
    hit::{
        Arguments,
        Entry,
        Hit, //
    },
    memory::Unreadable,
    path::{
        Next,
        Path,
        PathHandler, //
    },
    place::Place,
    query::{
        query,
        NoJump,
        Way, //
    },
    refused::{
        Reason,
        Refused, //
    },
    register::Register,
    registration::Registration,
    signature::Takes,
    typed::kprobe, //
};
#[cfg(CONFIG_KRETPROBES)]
pub use self::{
    handler::ReturnHandler,
    hit::Return,
    typed::kretprobe, //
};

/// A probe on an instruction.
pub type Probe<T> = Registration<kind::Instruction<T>>;

/// A probe on an instruction, with a handler that is called after it as well.
pub type ProbeAfter<T> = Registration<kind::InstructionAfter<T>>;

/// A probe where a function begins.
pub type EntryProbe<T> = Registration<kind::FunctionEntry<T>>;

/// A probe where a function begins that the kernel lets fail, which may have it fail.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
pub type InjectionProbe<T> = Registration<kind::ErrorInjection<T>>;

/// A probe where a function begins, which may have something else be executed in its place.
pub type PathProbe<T> = Registration<kind::FunctionPath<T>>;

/// A return probe.
#[cfg(CONFIG_KRETPROBES)]
pub type ReturnProbe<T> = Registration<kind::FunctionReturn<T>>;

/// Many of [`Probe`].
pub type ProbeBatch<T> = Batch<kind::Instruction<T>>;

/// Many of [`EntryProbe`].
pub type EntryBatch<T> = Batch<kind::FunctionEntry<T>>;

/// Many of [`ReturnProbe`].
#[cfg(CONFIG_KRETPROBES)]
pub type ReturnBatch<T> = Batch<kind::FunctionReturn<T>>;
