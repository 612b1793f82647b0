// SPDX-License-Identifier: GPL-2.0

//! The latest registrations that failed, and why.
//!
//! An errno says little: more than ten reasons share `EINVAL`. So the file `kprobes/refused` in
//! debugfs shows the latest failures, each with the address, or with the symbol if it has none.
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

/// How many failures are kept.
const KEPT: usize = 32;

/// How many bytes of a symbol are kept.
const NAME: usize = 64;

/// What a client wanted to probe, as far as it is known.
pub(crate) enum Wanted {
    /// An address.
    At(TextAddr),
    /// An offset into the function of that name.
    Named([u8; NAME], u64),
    /// Nothing, or both a symbol and an address.
    Unclear,
}

impl Wanted {
    /// From the fields of a client's probe.
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
    /// What the client wanted to probe.
    pub(crate) wanted: Wanted,
    /// Why it failed.
    pub(crate) why: Refusal,
}

/// The latest failures.
pub(crate) struct Log(Latest<Refused, KEPT>);

impl Log {
    /// No failures yet.
    pub(crate) const EMPTY: Self = Self(Latest::new());

    /// Notes that a probe was not registered. `found` is the address, if it is known.
    pub(crate) fn note(&mut self, probe: &Probe, found: Option<TextAddr>, why: Refusal) {
        let wanted = found.map_or_else(|| Wanted::by(probe.target()), Wanted::At);
        self.0.note(Refused { wanted, why });
    }

    /// All failures, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Refused> {
        self.0.iter()
    }
}
