// SPDX-License-Identifier: GPL-2.0

//! Registration: the order of the stages.
//!
//! What a client got wrong is told first. A probe that could be placed is refused too, since
//! nothing can arm one.

use super::check;
use crate::model::{
    refusal::Refusal,
    target::Site, //
};

/// The most that a return probe may keep per call, in bytes.
const MAX_RETURN_DATA: usize = 4096;

/// Registers a probe at a resolved place.
pub(crate) fn probe(site: Site) -> Result<(), Refusal> {
    if check::blacklisted(site.at) {
        return Err(Refusal::Blacklisted);
    }
    Err(Refusal::CannotArm)
}

/// Registers a return probe at a resolved place, which keeps `data` bytes per call.
pub(crate) fn return_probe(site: Site, data: usize) -> Result<(), Refusal> {
    if data > MAX_RETURN_DATA {
        return Err(Refusal::DataTooLarge);
    }
    probe(site)
}
