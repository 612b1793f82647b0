// SPDX-License-Identifier: GPL-2.0

//! How a probed instruction is executed.
//!
//! A breakpoint has replaced the first byte of the instruction, so the CPU cannot run it in place.
//! [`Next`] tells the code that handles the hit whether the instruction was emulated, or the CPU
//! runs a copy that ends in a trap or in a jump back.

/// What the CPU does next about a probed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The instruction was emulated.
    Emulated,
    /// The trap returns to a copy that ends in a breakpoint. The value is a word of state that is
    /// restored after the step.
    Stepping(usize),
    /// The trap returns to where nothing is left to do: a copy that ends in a jump back, the copies
    /// in a detour, or the target of an unconditional jump.
    Boosted,
}

/// What the end of a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    /// The instruction was executed.
    Done,
    /// The instruction was not executed: the CPU returns to its breakpoint.
    Again,
}
