// SPDX-License-Identifier: GPL-2.0

//! The latest registrations that failed, and why.
//!
//! More than ten reasons share `EINVAL`, so an errno says little. The file `kprobes/refused` in
//! debugfs shows the latest failures, each with its address, or else its symbol.
//!
//! C counterpart: none.

use crate::{
    model::{
        latest::Latest,
        target::Target, //
    },
    prelude::*,
    sys::probe::Probe, //
};

/// The number of failures that are kept.
const KEPT: usize = 32;

/// The number of bytes of a symbol that are kept.
const NAME: usize = 64;

/// The target of a client's probe, as far as it is known.
pub(crate) enum Wanted {
    /// An address.
    At(TextAddr),
    /// An offset into the function of that name.
    Named([u8; NAME], u64),
    /// No target, or both a symbol and an address.
    Unclear,
}

impl Wanted {
    /// Makes a target of the fields of a client's probe.
    fn by(target: Result<Target<'_>, Refusal>) -> Self {
        match target {
            Ok(Target::Address(at, offset)) => at.after(offset).map_or(Self::Unclear, Self::At),
            Ok(Target::Symbol(name, offset)) => {
                let mut kept = [0; NAME];
                // The last byte stays zero.
                let end = kept.iter_mut().take(NAME - 1);
                end.zip(name.to_bytes()).for_each(|(to, from)| *to = *from);
                Self::Named(kept, offset)
            }
            Err(_) => Self::Unclear,
        }
    }
}

/// A registration that failed.
pub(crate) struct Refused {
    /// The target of the client's probe.
    pub(crate) wanted: Wanted,
    /// The reason why it failed.
    pub(crate) why: Refusal,
}

impl Refused {
    /// Describes a probe that was not registered. `found` is the address, if it is known.
    pub(crate) fn new(probe: &Probe, found: Option<TextAddr>, why: Refusal) -> Self {
        let wanted = found.map_or_else(|| Wanted::by(probe.target()), Wanted::At);
        Self { wanted, why }
    }
}

/// The latest failures.
pub(crate) type Log = Latest<Refused, KEPT>;
