// SPDX-License-Identifier: GPL-2.0

//! Kprobes: handlers that run when the kernel executes an instruction.
//!
//! There are five kinds of probes:
//!
//! - a [`Probe`] on any instruction, with a [`Handler`] that is called before the instruction, or a
//!   [`ProbeAfter`], with a [`HandlerAfter`] that is called after it as well;
//! - an [`EntryProbe`] on a function's entry, whose [`EntryHandler`] sees the arguments;
//! - a [`ReturnProbe`], whose [`ReturnHandler`] is called at a function's entry and at its return,
//!   and keeps data for the call;
//! - an [`InjectionProbe`] on a function's entry, whose [`InjectionHandler`] may make the function
//!   fail, if the kernel's error-injection list has the function;
//! - a [`PathProbe`] on a function's entry, whose [`PathHandler`] may replace the function. Only
//!   this kind needs `unsafe`.
//!
//! [`kprobe`](macro@kprobe) and [`kretprobe`](macro@kretprobe) make handlers of functions that have
//! the arguments of the probed function. [`Hit::read`], [`Hit::read_str`], [`Hit::read_user`] and
//! [`Hit::read_user_str`] read memory that an argument points to.
//!
//! A registration owns its probe and the state that its handlers are called with. Dropping it
//! unregisters the probe, waits for all handlers, and then drops the state.
//!
//! This module uses C's interface of kprobes, so it works with either implementation
//! (`CONFIG_RUST_KPROBES`). See `Documentation/trace/rust-kprobes/rust-api.rst`.
//!
//! # Handlers
//!
//! A handler is called wherever the kernel executes the probed instruction: in interrupts, under
//! locks, on all CPUs at once. Preemption is off, interrupts may be off. So a handler must not
//! sleep, nor take a lock that probed code might hold. The type system does not know the context:
//! functions of other interfaces that sleep compile in a handler, and `CONFIG_DEBUG_ATOMIC_SLEEP`
//! reports them. Functions of this interface that may wait take a [`ProcessContext`], which a
//! handler does not get; dropping a registration takes none.
//!
//! Handlers have no `self`. Handlers on all CPUs share the state of their registration, so the
//! state is [`Sync`], and changes by atomics, or under locks that only handlers take, with
//! interrupts off. With `CONFIG_PREEMPT_RT` a `SpinLock` sleeps, so handlers cannot use it.
//!
//! If a probe is hit while a handler runs on the CPU, its handler is not called; the hit is counted
//! as missed. So handlers and the functions that they call may be probed like other code.
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

/// A probe on an instruction, with a handler that is called after the instruction as well.
pub type ProbeAfter<T> = Registration<kind::InstructionAfter<T>>;

/// A probe on a function's entry.
pub type EntryProbe<T> = Registration<kind::FunctionEntry<T>>;

/// A probe on the entry of an injectable function, which may make the function fail.
#[cfg(CONFIG_FUNCTION_ERROR_INJECTION)]
pub type InjectionProbe<T> = Registration<kind::ErrorInjection<T>>;

/// A probe on a function's entry, which may replace the function.
pub type PathProbe<T> = Registration<kind::FunctionPath<T>>;

/// A return probe.
#[cfg(CONFIG_KRETPROBES)]
pub type ReturnProbe<T> = Registration<kind::FunctionReturn<T>>;

/// A batch of [`Probe`]s.
pub type ProbeBatch<T> = Batch<kind::Instruction<T>>;

/// A batch of [`EntryProbe`]s.
pub type EntryBatch<T> = Batch<kind::FunctionEntry<T>>;

/// A batch of [`ReturnProbe`]s.
#[cfg(CONFIG_KRETPROBES)]
pub type ReturnBatch<T> = Batch<kind::FunctionReturn<T>>;
