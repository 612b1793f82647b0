// SPDX-License-Identifier: GPL-2.0

//! How a probed instruction is carried out.
//!
//! The breakpoint stands where its first byte was, so it cannot run there. [`Next`] is what the
//! handling of a hit must know of what is done instead: whether it goes on at once, later, or not
//! at all.

/// What became of a probed instruction when it was asked to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It has been carried out; the CPU goes on after it when the trap returns.
    Done,
    /// When the trap returns, the CPU runs a copy of it and comes back with another trap. The
    /// value is what has to be kept until then.
    Stepping(usize),
    /// When the trap returns, the CPU runs a copy of it and goes on by itself.
    Released,
}

/// What the end of a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    /// The instruction has been carried out; the CPU goes on after it.
    Done,
    /// It has not, and starts again: the CPU comes to the breakpoint once more.
    Again,
}
