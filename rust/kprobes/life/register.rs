// SPDX-License-Identifier: GPL-2.0

//! Registration: the order of the stages.
//!
//! A batch is what is registered; one probe is a batch of one. Its probes go through the stages in
//! the order of the array, so that what a client sees (the errno of the first refusal, which
//! fields were written, who is called first at one address) is what registering them one by one
//! would show. Only arming is put off to the end, where all breakpoints are written together. The
//! registry is unlocked every [`CHUNK`] probes, so that others get their turn.
//!
//! C counterpart: `register_kprobes()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    arm::Batch,
    check::{
        self,
        Means, //
    },
    prepare,
    resolve,
    share,
    site::{
        self,
        Registry,
        Site,
        Way, //
    },
    symbol_cache::SymbolCache,
    unregister, //
};
use crate::{
    arch::Current,
    contract::Machine,
    prelude::*,
    sys::{
        lock::Lock,
        probe::{
            Flag,
            Probe, //
        },
        report,
        text, //
    },
    table::Owned, //
};

/// How many probes are registered or unregistered before others get their turn.
pub(crate) const CHUNK: usize = 256;

/// A probe of the client's; `None` where it passed NULL.
pub(crate) type Client = Option<&'static Probe>;

/// What comes before the stages for one of several probes, by its number: tells which address was
/// found for it, and whether it is refused.
pub(crate) type Begin<'a> =
    dyn FnMut(&mut Registry, usize, &mut Option<TextAddr>) -> Result<(), Refusal> + 'a;

/// Registers all probes, or none.
pub(crate) fn batch(clients: &[Client]) -> Result<(), Refusal> {
    up_to_refused(clients, &mut |_, _, _| Ok(())).map_err(|(count, refusal)| {
        unregister::batch(clients.get(..count).unwrap_or_default());
        refusal
    })
}

/// Registers all probes up to the first that is refused; then tells how many are registered.
/// Nothing is done about those behind.
pub(crate) fn up_to_refused(
    clients: &[Client],
    begin: &mut Begin<'_>,
) -> Result<(), (usize, Refusal)> {
    let mut done = 0;
    for chunk in clients.chunks(CHUNK) {
        let begin =
            &mut |registry: &mut _, count, found: &mut _| begin(registry, done + count, found);
        register_chunk(chunk, begin).map_err(|(count, refusal)| (done + count, refusal))?;
        done += chunk.len();
    }
    Ok(())
}

/// Registers some probes; if one is refused, tells how many are registered.
fn register_chunk(chunk: &[Client], begin: &mut Begin<'_>) -> Result<(), (usize, Refusal)> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    let mut batch = Batch::with_room(chunk.len()).map_err(|refusal| (0, refusal))?;
    let mut cache = SymbolCache::with_room(chunk.len()).map_err(|refusal| (0, refusal))?;
    for (count, client) in chunk.iter().enumerate() {
        let done = client.ok_or(Refusal::NoProbe).and_then(|probe| {
            let mut found = None;
            let done = begin(registry, count, &mut found)
                .and_then(|()| one(registry, probe, &mut found, &mut batch, &mut cache));
            done.inspect_err(|&refusal| registry.refused.note(probe, found, refusal))
        });
        done.map_err(|refusal| (count, refusal))?;
    }
    batch.arm(registry, &mut cache);
    Ok(())
}

/// One probe, up to where it is to be armed. Tells which address was found for it.
fn one(
    registry: &mut Registry,
    probe: &'static Probe,
    found: &mut Option<TextAddr>,
    batch: &mut Batch,
    cache: &mut SymbolCache,
) -> Result<(), Refusal> {
    let site = resolve::of(probe, cache)?;
    *found = Some(site.at);
    probe.set_addr(site.at.get() as usize);
    refuse_again(registry, site.at, probe)?;
    probe.begin(site.at, site.on_entry);
    let means = check::probeable(registry, site.at, cache)?;
    probe.set(Flag::Ftrace, means == Means::Ftrace);
    if registry.sites.get(site.at).is_some() {
        share::join(registry, site.at, means, probe, batch)?;
    } else {
        insert(registry, site.at, means, probe)?;
        cache.prove(site.at);
        share::arm_if_wanted(registry, site.at, probe, batch).inspect_err(|_| {
            unregister::take_back(registry, probe);
        })?;
    }
    if let Some(prepared) = registry.sites.get(site.at).and_then(Site::prepared) {
        probe.set_opcode(|code| Current::restore(prepared, code));
    }
    Ok(())
}

/// Makes a place of an address, with its first probe.
fn insert(
    registry: &mut Registry,
    at: TextAddr,
    means: Means,
    probe: &'static Probe,
) -> Result<(), Refusal> {
    let way = way(registry, at, means)?;
    registry
        .sites
        .insert(Owned::new(at, Site::new(way, probe))?)
}

/// How a place will be hit, with all it takes.
pub(crate) fn way(registry: &Registry, at: TextAddr, means: Means) -> Result<Way, Refusal> {
    match means {
        Means::Ftrace => Ok(Way::Ftrace),
        Means::Breakpoint(known) => {
            let text = &mut text::Lock::new();
            prepare::at(registry, at, known, text).map(Way::Breakpoint)
        }
    }
}

/// Where a probe is to be that must be on the entry of a function, and is not registered yet. Tells
/// which address was found.
pub(crate) fn entry(
    registry: &Registry,
    probe: &Probe,
    found: &mut Option<TextAddr>,
) -> Result<TextAddr, Refusal> {
    let at = resolve::entry(probe.target()?)?.at;
    *found = Some(at);
    refuse_again(registry, at, probe)?;
    Ok(at)
}

/// Refuses a probe that is registered, and warns of it.
fn refuse_again(registry: &Registry, at: TextAddr, probe: &Probe) -> Result<(), Refusal> {
    if is_registered(registry, at, probe) {
        report::registered_twice();
        return Err(Refusal::AlreadyRegistered);
    }
    Ok(())
}

/// Is this very probe registered?
pub(crate) fn is_registered(registry: &Registry, at: TextAddr, probe: &Probe) -> bool {
    let site = registry.sites.get(at);
    site.is_some_and(|site| site.probes.has(probe))
}
