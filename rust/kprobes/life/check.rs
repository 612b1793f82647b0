// SPDX-License-Identifier: GPL-2.0

//! May this address be probed?

use crate::{
    arch::Current,
    contract::Machine,
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::{
        blacklist,
        symbols, //
    },
};

/// Does the address belong to what a probe's hit itself runs through?
///
/// What the compiler split from a function shares the function's fate.
pub(crate) fn blacklisted(at: TextAddr) -> bool {
    listed(at) || symbols::split_from(at).is_some_and(listed)
}

/// Learns the functions that C names. To be called once, while init memory is there.
pub(crate) fn load_blacklist() -> Result<(), Refusal> {
    blacklist::load()
}

fn listed(at: TextAddr) -> bool {
    Current::reserves(at) || blacklist::covers(at)
}
