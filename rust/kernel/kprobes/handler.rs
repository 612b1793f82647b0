// SPDX-License-Identifier: GPL-2.0

//! What a client writes: its handlers.
//!
//! A handler is called wherever the kernel executes what is probed: in interrupts, under locks,
//! on all CPUs at once. Preemption is off, interrupts may be. So it must not sleep, nor take a lock
//! that probed code might hold. What it is in is not what the type system knows of: functions of
//! other interfaces that sleep compile in it, and `CONFIG_DEBUG_ATOMIC_SLEEP` reports them.
//! Functions of this one want a [`ProcessContext`](super::ProcessContext).
//!
//! Handlers have no receiver but their registration's state, which all of them share: so it is
//! [`Sync`], and changes by atomics, or under locks that nothing but handlers take, and these with
//! interrupts off. With `CONFIG_PREEMPT_RT` a `SpinLock` sleeps, and is for no handler.
//!
//! A probe that is hit while a handler runs on the CPU does not call its handler; the hit is
//! counted as missed. So handlers and what they call may be probed like anything else.

#[cfg(CONFIG_KRETPROBES)]
use super::Return;
use super::{
    Entry,
    Hit,
    Takes, //
};

/// What is called before a probed instruction is executed.
///
/// # Examples
///
/// ```
/// use kernel::{
///     kprobes::{
///         Handler,
///         Hit, //
///     },
///     prelude::*,
///     sync::atomic::{
///         Atomic,
///         Relaxed, //
///     }, //
/// };
///
/// struct Count;
///
/// impl Handler for Count {
///     type State = Atomic<u64>;
///
///     fn before(hits: &Atomic<u64>, _: &Hit<'_>) {
///         hits.fetch_add(1, Relaxed);
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of an instruction",
    label = "it does not implement `Handler`",
    note = "`Probe` is for a `Handler`, `EntryProbe` for an `EntryHandler` or a function with \
            `#[kprobe]`, `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`"
)]
pub trait Handler: 'static {
    /// What the registration owns.
    type State: Send + Sync + 'static;

    /// Called before the instruction is executed.
    fn before(state: &Self::State, hit: &Hit<'_>);
}

/// What is called after a probed instruction was executed, too.
///
/// This costs: the place cannot have a jump instead of a breakpoint, nor can any other probe there.
/// So it is a trait of its own.
pub trait HandlerAfter: Handler {
    /// Called after the instruction was executed.
    fn after(state: &Self::State, hit: &Hit<'_>);
}

/// What is called when a function is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of calls",
    label = "it does not implement `EntryHandler`",
    note = "`Probe` is for a `Handler`, `EntryProbe` for an `EntryHandler` or a function with \
            `#[kprobe]`, `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`"
)]
pub trait EntryHandler: 'static {
    /// What the registration owns.
    type State: Send + Sync + 'static;

    /// Which arguments the handler takes, if it says so: [`kprobe`](macro@super::kprobe) does.
    const TAKES: Takes = Takes::ByHand;

    /// Called when a call begins.
    fn enter(state: &Self::State, call: &Entry<'_>);
}

/// What is called when a function is, and when it returns.
#[cfg(CONFIG_KRETPROBES)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of calls and their ends",
    label = "it does not implement `ReturnHandler`",
    note = "`Probe` is for a `Handler`, `EntryProbe` for an `EntryHandler` or a function with \
            `#[kprobe]`, `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`"
)]
pub trait ReturnHandler: 'static {
    /// What the registration owns.
    type State: Send + Sync + 'static;

    /// What is kept for a call while it lasts, at most 4096 bytes.
    ///
    /// It is [`Copy`], so that nothing has to be done for it: a call may never be over, as its task
    /// dies, or be over when the registration is no more, and nobody is told then. It is [`Send`],
    /// as the task may have come to another CPU.
    type Data: Copy + Send + 'static;

    /// As [`EntryHandler::TAKES`]; [`kretprobe`](macro@super::kretprobe) says so.
    const TAKES: Takes = Takes::ByHand;

    /// Called when a call begins. With [`None`] its end is not told.
    fn enter(state: &Self::State, call: &Entry<'_>) -> Option<Self::Data>;

    /// Called when the call is over, with what [`Self::enter`] has answered.
    fn leave(state: &Self::State, data: Self::Data, call: &Return<'_>);
}
