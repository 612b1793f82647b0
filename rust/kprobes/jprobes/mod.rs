// SPDX-License-Identifier: GPL-2.0

//! Jprobes, clients of [`crate::lifecycle`]: registration, and the interface to C.
//!
//! A jprobe is checked first; then the probe on its function's entry is registered and unregistered
//! like any other. [`hit::jprobe`](crate::hit::jprobe) handles its hits, and [`hit`](crate::hit)
//! says why that module is there. `jprobes.c` is the C side.
//!
//! C counterpart: `register_jprobe()` of kernels up to 4.14.

mod abi;

use crate::{
    lifecycle::{
        register,
        unregister, //
    },
    model::target::ProbeAddr,
    registry::prelude::*,
    sys::{
        jprobe::Jprobe,
        probe::ClientStruct,
        symbols, //
    }, //
};

/// A client's jprobe; `None` if the client passed NULL.
type JprobePtr = Option<&'static Jprobe>;

/// Registers all jprobes, or none.
fn register_all(clients: &[JprobePtr]) -> Result<(), Refusal> {
    register::all_or_none(Jprobe::probes(clients), &mut |points, number, addr| {
        let jprobe = clients.get(number).copied().flatten();
        check(points, jprobe.ok_or(Refusal::NoProbe)?, addr)
    })
}

/// Unregisters all jprobes.
fn unregister_all(clients: &[JprobePtr]) {
    unregister::all(Jprobe::probes(clients));
}

/// Checks a jprobe before the probe on the entry is registered.
fn check(points: &Points, jprobe: &Jprobe, addr: ProbeAddr) -> Result<(), Refusal> {
    register::check_entry(points, jprobe.entry_probe(), addr)?;
    let handler = symbols::function_address(jprobe.handler().get() as usize);
    let function = symbols::function(handler);
    if function.is_none_or(|function| function.text.start() != handler) {
        return Err(Refusal::HandlerIsNoFunction);
    }
    jprobe.entry_probe().mark_as_jprobe();
    Ok(())
}
