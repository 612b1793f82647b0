// SPDX-License-Identifier: GPL-2.0

//! How a probed instruction is executed.
//!
//! A breakpoint has replaced the start of the instruction, so the CPU cannot run it in place.
//! [`Next`] tells the code that handles the hit whether the instruction was emulated, or whether
//! the CPU runs a copy that ends in a trap or in a jump back.

/// The next step of a CPU that executes a probed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The instruction was emulated.
    Emulated,
    /// The trap returns to a copy that ends in a breakpoint. The value is a word of state that is
    /// restored after the step.
    Stepping(usize),
    /// The trap returns to code that needs no further handling: a copy that ends in a jump back,
    /// the copies in a detour, or the target of an unconditional jump.
    Redirected,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterStep {
    /// The instruction was executed.
    Done,
    /// The instruction was not executed: the CPU returns to its breakpoint.
    Again,
}
