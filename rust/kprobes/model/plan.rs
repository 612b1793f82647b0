// SPDX-License-Identifier: GPL-2.0

//! How a probed instruction is executed.
//!
//! A breakpoint has replaced its first byte, so it cannot run where it is. [`Next`] tells the
//! handling of a hit whether the CPU is done with it, runs a copy and traps again, or runs a copy
//! and goes on.

/// How the back end has executed an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It was emulated.
    Done,
    /// The trap returns to a copy that ends in a breakpoint. The value is a word of state that is
    /// restored after it.
    Stepping(usize),
    /// The trap returns to a copy that ends in a jump back.
    Released,
}

/// What the end of a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    /// The instruction was executed.
    Done,
    /// The instruction was not executed: the CPU returns to its breakpoint.
    Again,
}
