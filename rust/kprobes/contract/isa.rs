// SPDX-License-Identifier: GPL-2.0

//! The pure part of the contract: the questions about instructions that a back end answers.
//!
//! It touches neither the CPU nor the text, so the tests on the host load it with every back end's
//! `isa/`.

use crate::prelude::*;

/// Reads the kernel's text at an address into the buffer. Recovers the instruction at the address,
/// and all bytes of a jump that covers it. Behind these, there may be breakpoints and jumps.
/// Returns `None` if the text cannot be read or a debugger's breakpoint hides the instruction.
pub(crate) type ReadText<'a> = &'a mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>;

/// An instruction set, as far as probing depends on it.
pub(crate) trait Isa {
    /// Whether there is data between the instructions of a function, which only
    /// [`check_boundary`](Self::check_boundary) from the function's start on can find.
    const DATA_IN_TEXT: bool = false;

    /// Returns whether this code starts with the instruction that breakpoints are made of.
    fn is_breakpoint(code: &[u8]) -> bool;

    /// Fails unless an instruction starts at `at`.
    ///
    /// `known` is the start of an instruction, at or before `at`.
    fn check_boundary(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal>;
}
