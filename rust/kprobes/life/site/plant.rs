// SPDX-License-Identifier: GPL-2.0

//! A mistake with a place, made on purpose, for KASAN to report.

use super::{
    Armed,
    SITES, //
};
use crate::{
    life::{
        register::{
            self,
            Client, //
        },
        unregister, //
    },
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::table::plant, //
};
use core::hint::black_box;

/// What a hit asks is asked of a place whose last probe was unregistered.
#[inline(never)]
pub(crate) fn probe(client: Client) -> Result<(), Refusal> {
    let probe = client.ok_or(Refusal::NoProbe)?;
    register::batch(&[client])?;
    let stale = plant::find(&SITES, TextAddr::new(probe.addr() as u64));
    unregister::batch(&[client]);
    let stale = stale.ok_or(Refusal::NotRegistered)?;
    black_box(stale.is_armed(Armed::Breakpoint));
    Ok(())
}
