// SPDX-License-Identifier: GPL-2.0

//! What there is of `optimize.rs` where no jump takes the place of a breakpoint: nothing.

use super::{
    site::{
        Registry,
        Site, //
    },
    symbol_cache::SymbolCache, //
};
use crate::{
    prelude::*,
    sys::text,
    table::Writer,
    text::Images, //
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
pub(crate) type LastTargets = Option<()>;

/// What the registry has of it.
pub(crate) struct Optimizer;

impl Optimizer {
    /// No jumps.
    pub(crate) const NEW: Self = Self;
}

macro_rules! nothing_to_do {
    ($($name:ident($($more:ty),*),)*) => {$(
        /// There is nothing to do.
        pub(crate) fn $name(
            _sites: &Writer<Site>,
            _optimizer: &mut Optimizer,
            $(_: $more,)*
            _text: &mut text::Lazy,
            _addresses: &mut dyn Iterator<Item = TextAddr>,
        ) {
        }
    )*};
}
nothing_to_do! {
    make_room(),
    leave(),
    consider(&mut Images),
    consider_with(&mut Images, &mut SymbolCache),
    reconsider(&mut Images),
}

/// There is nothing to do.
pub(crate) fn consider_all(_registry: &mut Registry, _is: impl Fn(TextAddr) -> bool) {}

/// There is nothing to forget.
pub(crate) fn forget(_sites: &Writer<Site>, _optimizer: &mut Optimizer, _at: TextAddr) {}

/// There is nothing to uncover.
pub(crate) fn uncover(_sites: &Writer<Site>, _from: TextAddr, _code: &mut [u8]) {}
