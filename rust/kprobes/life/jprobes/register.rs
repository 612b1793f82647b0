// SPDX-License-Identifier: GPL-2.0

//! Registration of jprobes.
//!
//! What is particular to one comes first, then the probe on its function's entry is registered like
//! any other, and is unregistered like any other.
//!
//! C counterpart: `register_jprobe()` of kernels up to 4.14.

use crate::{
    life::{
        register,
        site::Registry,
        unregister, //
    },
    prelude::*,
    sys::{
        jprobe::Jprobe,
        symbols, //
    }, //
};

/// A jprobe of the client's; `None` where it passed NULL.
pub(crate) type Client = Option<&'static Jprobe>;

/// Registers all jprobes, or none.
pub(crate) fn batch(clients: &[Client]) -> Result<(), Refusal> {
    let entries = Jprobe::entries(clients);
    let done = register::up_to_refused(entries, &mut |registry, number, found| {
        let jprobe = clients.get(number).copied().flatten();
        begin(registry, jprobe.ok_or(Refusal::NoProbe)?, found)
    });
    done.map_err(|(count, refusal)| {
        unregister::batch(entries.get(..count).unwrap_or_default());
        refusal
    })
}

/// What comes before the registration of the probe on the entry. Tells which address was found.
fn begin(
    registry: &Registry,
    jprobe: &Jprobe,
    found: &mut Option<TextAddr>,
) -> Result<(), Refusal> {
    register::entry(registry, jprobe.entry(), found)?;
    let handler = jprobe.handler();
    let function = symbols::function(handler);
    if function.is_none_or(|function| function.text.start() != handler) {
        return Err(Refusal::HandlerIsNoFunction);
    }
    jprobe.entry().be_of_jprobe();
    Ok(())
}
