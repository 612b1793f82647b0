// SPDX-License-Identifier: GPL-2.0

//! Registration of return probes, and its end.
//!
//! What is particular to them comes first, for one after the other, and the probe on the function's
//! entry is registered like any other one. So where one is refused in a batch nothing was written
//! in those behind it. When they are unregistered there are calls that are not over. Their ends go
//! unnoticed, and what is in store stays until the last one.
//!
//! C counterpart: `register_kretprobe()` and its neighbours in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use super::{
    probe::ReturnProbe,
    store::{
        self,
        Store, //
    }, //
};
use crate::{
    arch::Current,
    contract::{
        Machine,
        Returns, //
    },
    core::{
        register,
        unregister, //
    },
    prelude::*,
    registry::points::Points,
    sys::symbols, //
};

/// The most that a client may keep for each call, in bytes.
const MOST_DATA: usize = 4096;

/// A return probe of the client's; `None` where it passed NULL.
pub(super) type Client = Option<&'static ReturnProbe>;

/// Registers all return probes, or none.
pub(super) fn batch(clients: &[Client]) -> Result<(), Refusal> {
    let mut begun = 0;
    let entries = ReturnProbe::entries(clients);
    let done = register::up_to_refused(entries, &mut |points, number, found| {
        let probe = clients.get(number).copied().flatten();
        begin(points, probe.ok_or(Refusal::NoProbe)?, found)?;
        begun = number + 1;
        Ok(())
    });
    done.map_err(|(count, refusal)| {
        let (registered, rest) = clients.split_at_checked(count).unwrap_or_default();
        unregister(registered);
        // The one that was refused has something in store if it came so far.
        if let Some(probe) = rest.first().filter(|_| begun > count).copied().flatten() {
            probe.leave_store();
        }
        refusal
    })
}

/// What comes before the registration of the probe on the entry. Tells which address was found.
fn begin(
    points: &Points,
    probe: &'static ReturnProbe,
    found: &mut Option<TextAddr>,
) -> Result<(), Refusal> {
    let at = register::entry(points, probe.entry(), found)?;
    let mut never = Current::NEVER
        .iter()
        .filter_map(|name| symbols::lookup(name));
    if never.any(|start| Current::site(start, 0).is_some_and(|never| never.at == at)) {
        return Err(Refusal::Blacklisted);
    }
    let data = probe.data_size();
    if data > MOST_DATA {
        return Err(Refusal::DataTooLarge);
    }
    let count = probe.wanted().unwrap_or_else(store::usual);
    probe.begin(count);
    probe.keep(Store::new(probe, count, data)?);
    Ok(())
}

/// Unregisters all return probes. One that is not registered only loses its address, by which a
/// client sees it.
///
/// First the places are disarmed: until then each hit is told to the client, and so is the end of a
/// call that is over by then. A hit that began before, and comes to its client later, finds
/// nothing in store, and is counted. When all hits have been waited for, nobody is told of the end
/// of a call any more either.
pub(super) fn unregister(clients: &[Client]) {
    let left = unregister::leave(ReturnProbe::entries(clients));
    let probes = clients.iter().flatten();
    probes.for_each(|probe| probe.leave_store());
    if !clients.is_empty() {
        left.wait();
    }
}
