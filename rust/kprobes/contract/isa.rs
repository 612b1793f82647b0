// SPDX-License-Identifier: GPL-2.0

//! The pure part of the contract: what a back end says about instructions.
//!
//! It touches neither the CPU nor the text, so the tests on the host load it with every back end's
//! `isa/`.

use crate::prelude::*;

/// Reads what the kernel's text says at an address, without any probe's breakpoint, into the
/// buffer; `None` where nothing can be read.
pub(crate) type ReadText<'a> = &'a mut dyn FnMut(TextAddr, &mut [u8]) -> Option<()>;

/// An instruction set, as far as probing needs to know it.
pub(crate) trait Isa {
    /// Does this code start with the instruction that breakpoints are made of?
    fn is_breakpoint(code: &[u8]) -> bool;

    /// Fails unless an instruction starts at `at`.
    ///
    /// `known` is an address at or before `at` where one does.
    fn check_boundary(known: TextAddr, at: TextAddr, read: ReadText<'_>) -> Result<(), Refusal>;
}
