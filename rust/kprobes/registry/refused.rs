// SPDX-License-Identifier: GPL-2.0

//! The latest registrations that failed, and why.
//!
//! More than ten reasons share `EINVAL`, so an errno says little. The file `kprobes/refused` in
//! debugfs shows the latest failures, each with its address, or else its symbol.
//!
//! C counterpart: none.

use crate::{
    model::target::Target,
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

/// The latest failures, the oldest first.
pub(crate) struct Log([Option<Refused>; KEPT]);

impl Log {
    /// No failures.
    pub(crate) const EMPTY: Self = Self([const { None }; KEPT]);

    /// Adds a failure. Removes the oldest one if the log is full.
    pub(crate) fn note(&mut self, refused: Refused) {
        self.0.rotate_left(1);
        if let Some(last) = self.0.last_mut() {
            *last = Some(refused);
        }
    }

    /// Returns the failures, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Refused> {
        self.0.iter().flatten()
    }
}

#[cfg(any(test, CONFIG_RUST_KPROBES_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_kprobes_refused))]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_loses_its_oldest_failure() {
        let mut log = Log::EMPTY;
        for number in 1..=KEPT as u64 + 1 {
            let wanted = Wanted::At(TextAddr::new(number));
            let why = Refusal::NotText;
            log.note(Refused { wanted, why });
            let oldest = log.iter().next().map(|refused| &refused.wanted);
            let expected = number.saturating_sub(KEPT as u64 - 1).max(1);
            assert!(matches!(oldest, Some(Wanted::At(at)) if at.get() == expected));
        }
        assert_eq!(log.iter().count(), KEPT);
    }
}
