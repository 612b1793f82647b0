// SPDX-License-Identifier: GPL-2.0

//! The data of `jump.rs` in a kernel in which no jump replaces a breakpoint: none.

/// Nothing is decided.
pub(crate) struct Decision;

impl Decision {
    /// Nothing is decided.
    pub(crate) fn new() -> Self {
        Self
    }

    /// There is no jump.
    pub(crate) fn is_optimized(&self) -> bool {
        false
    }
}

/// Nobody asks for branch targets.
pub(crate) type LastTargets = Option<()>;

/// There is no optimizer.
pub(crate) struct Optimizer;

impl Optimizer {
    /// No jumps are allowed.
    pub(crate) const NEW: Self = Self;
}
