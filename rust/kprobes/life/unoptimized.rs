// SPDX-License-Identifier: GPL-2.0

//! What there is of `optimize.rs` where no jump takes the place of a breakpoint: nothing.

use super::{
    around::Around,
    site::{
        Registry,
        Site, //
    }, //
};
use crate::{
    model::addr::TextAddr,
    sys::{
        modules::Loaded,
        table::Writer,
        text, //
    },
};

/// What a place has of it.
pub(crate) struct OfSite;

impl OfSite {
    /// It has its breakpoint, or nothing.
    pub(crate) fn new() -> Self {
        Self
    }

    /// Has it a jump, or will it have one?
    pub(crate) fn is_optimized(&self) -> bool {
        false
    }
}

/// What a batch finds out for it.
pub(crate) struct Ways;

impl Ways {
    /// Nothing.
    pub(crate) const NONE: Self = Self;
}

/// What the registry has of it.
pub(crate) struct Optimizer;

impl Optimizer {
    /// No jumps.
    pub(crate) const NEW: Self = Self;

    /// There is nothing to forget.
    pub(crate) fn forget_module(&mut self, _module: Loaded) {}
}

macro_rules! nothing_to_do {
    ($($name:ident),*) => {$(
        /// There is nothing to do.
        pub(crate) fn $name(
            _sites: &Writer<Site>,
            _optimizer: &mut Optimizer,
            _text: &mut text::Lazy,
            _addresses: &mut dyn Iterator<Item = TextAddr>,
        ) {
        }
    )*};
}
nothing_to_do!(make_room, leave, consider, reconsider);

/// There is nothing to do.
pub(crate) fn consider_all(_registry: &mut Registry) {}

/// There is nothing to do.
pub(crate) fn consider_around(
    _sites: &Writer<Site>,
    _optimizer: &mut Optimizer,
    _text: &mut text::Lazy,
    _addresses: &mut dyn Iterator<Item = TextAddr>,
    _around: &mut Around,
) {
}

/// There is nothing to forget.
pub(crate) fn forget(_sites: &Writer<Site>, _optimizer: &mut Optimizer, _at: TextAddr) {}

/// There is nothing to uncover.
pub(crate) fn uncover(_sites: &Writer<Site>, _from: TextAddr, _code: &mut [u8]) {}
