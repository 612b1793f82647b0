// SPDX-License-Identifier: GPL-2.0

//! The handlers that a client implements. [The module](super#handlers) says what they may do.

#[cfg(CONFIG_KRETPROBES)]
use super::Return;
use super::{
    Entry,
    Hit,
    Takes, //
};

/// A handler that is called before a probed instruction is executed.
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
    /// The state that the registration owns.
    type State: Send + Sync + 'static;

    /// Is called before the instruction is executed.
    fn before(state: &Self::State, hit: &Hit<'_>);
}

/// A handler that is called after a probed instruction was executed as well.
///
/// No probe at the same address can have a jump instead of a breakpoint then, which costs time. So
/// this is a separate trait.
pub trait HandlerAfter: Handler {
    /// Is called after the instruction was executed.
    fn after(state: &Self::State, hit: &Hit<'_>);
}

/// A handler that is called at a function's entry.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of calls",
    label = "it does not implement `EntryHandler`",
    note = "`Probe` is for a `Handler`, `EntryProbe` for an `EntryHandler` or a function with \
            `#[kprobe]`, `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`"
)]
pub trait EntryHandler: 'static {
    /// The state that the registration owns.
    type State: Send + Sync + 'static;

    /// The arguments that the handler takes, if [`kprobe`](macro@super::kprobe) lists them.
    const TAKES: Takes = Takes::ByHand;

    /// Is called when a call begins.
    fn enter(state: &Self::State, call: &Entry<'_>);
}

/// A handler that is called at a function's entry and at its return.
#[cfg(CONFIG_KRETPROBES)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of calls and their ends",
    label = "it does not implement `ReturnHandler`",
    note = "`Probe` is for a `Handler`, `EntryProbe` for an `EntryHandler` or a function with \
            `#[kprobe]`, `ReturnProbe` for a `ReturnHandler` or what has `#[kretprobe]`"
)]
pub trait ReturnHandler: 'static {
    /// The state that the registration owns.
    type State: Send + Sync + 'static;

    /// The data that is kept for a call while it runs, at most 4096 bytes.
    ///
    /// The data is [`Copy`], so nothing has to be dropped: if the task dies, or the registration
    /// ends first, the handler is not called at the end of the call. The data is [`Send`], as the
    /// task may have moved to another CPU.
    type Data: Copy + Send + 'static;

    /// As [`EntryHandler::TAKES`]; [`kretprobe`](macro@super::kretprobe) makes one.
    const TAKES: Takes = Takes::ByHand;

    /// Is called when a call begins. If this returns [`None`], the end of the call is not reported.
    fn enter(state: &Self::State, call: &Entry<'_>) -> Option<Self::Data>;

    /// Is called when the call ends, with the data that [`Self::enter`] has returned.
    fn leave(state: &Self::State, data: Self::Data, call: &Return<'_>);
}
