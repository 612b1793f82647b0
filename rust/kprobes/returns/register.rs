// SPDX-License-Identifier: GPL-2.0

//! Registration of return probes, and its end.
//!
//! For each return probe of a batch, the checks and the pool come first; then the probe on the
//! entry is registered like any other probe. So if a return probe is refused, nothing was written
//! in the later ones. When a return probe is unregistered, some calls may not have ended. Their
//! returns call no handler, and the pool is freed after the last of them has ended.
//!
//! C counterpart: `register_kretprobe()` and its neighbours in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use super::*;
use crate::{
    lifecycle::{
        register,
        unregister, //
    },
    model::target::ProbeAddr,
    registry::points::Points,
    sys::symbols, //
};

/// Registers all return probes, or none.
pub(super) fn all(clients: &[ReturnProbePtr]) -> Result<(), Refusal> {
    let mut begun = 0;
    let entries = ReturnProbe::probes(clients);
    let done = register::until_refused(entries, &mut |points, number, addr| {
        let probe = clients.get(number).copied().flatten();
        prepare(points, probe.ok_or(Refusal::NoProbe)?, addr)?;
        begun = number + 1;
        Ok(())
    });
    done.map_err(|(count, refusal)| {
        let (registered, rest) = clients.split_at_checked(count).unwrap_or_default();
        unregister(registered);
        // The refused return probe has a pool if its entry was refused.
        if let Some(probe) = rest.first().filter(|_| begun > count).copied().flatten() {
            probe.leave_pool();
            // A call that a hit of its entry has hooked may have found the pool's owner.
            preempt::synchronize_rcu();
        }
        refusal
    })
}

/// Prepares a return probe before its entry is registered.
fn prepare(points: &Points, probe: &'static ReturnProbe, addr: ProbeAddr) -> Result<(), Refusal> {
    register::check_entry(points, probe.entry_probe(), addr)?;
    let mut never = Arch::KRETPROBE_BLACKLIST
        .iter()
        .filter_map(|name| symbols::lookup(name));
    if never.any(|start| Arch::adjust_addr(start, 0).is_some_and(|never| never.at == addr.at)) {
        return Err(Refusal::Blacklisted);
    }
    probe.begin_registration()
}

/// Unregisters all return probes. A return probe that is not registered only loses its address,
/// which tells the client that it was not registered.
///
/// Disarms the entries first: until then the client's handlers run for each hit and each return. A
/// hit that began before and finds that the pool was given up is counted in `nmissed`. After the
/// grace period no handler runs.
pub(super) fn unregister(clients: &[ReturnProbePtr]) {
    let removed = unregister::all_no_wait(ReturnProbe::probes(clients));
    let probes = clients.iter().flatten();
    probes.for_each(|probe| probe.leave_pool());
    if !clients.is_empty() {
        removed.wait();
    }
}
