// SPDX-License-Identifier: GPL-2.0

//! What was refused of late, and why.
//!
//! An errno says little: ten reasons and more share `EINVAL`. So the latest refusals are kept for
//! who asks, by the address that was found, or by the symbol that was not.
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

/// How many refusals are kept.
const KEPT: usize = 32;

/// How much of a symbol is kept.
const NAME: usize = 64;

/// What a client asked for, as far as it is known.
pub(crate) enum Wanted {
    /// This very address.
    At(TextAddr),
    /// So many bytes into the function of that name.
    Named([u8; NAME], u64),
    /// Nothing, or too much.
    Unclear,
}

impl Wanted {
    /// What a client says that its probe is for.
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

/// A refusal.
pub(crate) struct Refused {
    /// What was asked for.
    pub(crate) wanted: Wanted,
    /// Why it was not done.
    pub(crate) why: Refusal,
}

/// The latest refusals.
pub(crate) struct Log(Latest<Refused, KEPT>);

impl Log {
    /// None yet.
    pub(crate) const EMPTY: Self = Self(Latest::new());

    /// A probe was not registered, as asked for by its client.
    pub(crate) fn note(&mut self, probe: &Probe, found: Option<TextAddr>, why: Refusal) {
        let wanted = found.map_or_else(|| Wanted::by(probe.target()), Wanted::At);
        self.0.note(Refused { wanted, why });
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Refused> {
        self.0.iter()
    }
}
