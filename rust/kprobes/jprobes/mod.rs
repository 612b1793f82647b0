// SPDX-License-Identifier: GPL-2.0

//! Jprobes, clients of the core: registration, and the interface to C.
//!
//! A jprobe is checked first; then the probe on its function's entry is registered and unregistered
//! like any other. [`hit::jprobe`](crate::hit::jprobe) handles its hits, and [`hit`](crate::hit)
//! says why that module is there. `jprobes.c` is the C side.
//!
//! C counterpart: `register_jprobe()` of kernels up to 4.14.

mod abi;

use crate::{
    core::{
        register,
        unregister, //
    },
    registry::prelude::*,
    sys::{
        jprobe::Jprobe,
        probe::ClientStruct,
        symbols, //
    }, //
};

/// A client's jprobe; `None` if the client passed NULL.
type Client = Option<&'static Jprobe>;

/// Registers all jprobes, or none.
fn batch(clients: &[Client]) -> Result<(), Refusal> {
    let entries = Jprobe::probes(clients);
    let done = register::up_to_refused(entries, &mut |points, number, found| {
        let jprobe = clients.get(number).copied().flatten();
        check(points, jprobe.ok_or(Refusal::NoProbe)?, found)
    });
    done.map_err(|(count, refusal)| {
        unregister::batch(entries.get(..count).unwrap_or_default());
        refusal
    })
}

/// Unregisters all jprobes.
fn unregister_batch(clients: &[Client]) {
    unregister::batch(Jprobe::probes(clients));
}

/// Checks a jprobe before the probe on the entry is registered. Sets `found` to the address.
fn check(points: &Points, jprobe: &Jprobe, found: &mut Option<TextAddr>) -> Result<(), Refusal> {
    register::unregistered_entry(points, jprobe.entry_probe(), found)?;
    let handler = symbols::function_address(jprobe.handler().get() as usize);
    let function = symbols::function(handler);
    if function.is_none_or(|function| function.text.start() != handler) {
        return Err(Refusal::HandlerIsNoFunction);
    }
    jprobe.entry_probe().mark_as_jprobe();
    Ok(())
}
