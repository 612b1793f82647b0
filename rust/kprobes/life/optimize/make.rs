// SPDX-License-Identifier: GPL-2.0

//! Whether a place can have a jump, and the detour that it leads to.
//!
//! That is found out once, when somebody first asks: hardly anything that it depends on changes.
//! For that the text around the place has to be read, and what the kernel's tables say of it. What
//! may pass is found out anew each time: want of memory, and breakpoints of a debugger, which also
//! make of instructions what is none.

use super::{
    may_jump,
    uncover,
    Jump,
    Optimizer, //
};
use crate::{
    arch::Current,
    contract::{
        Detour,
        Machine,
        ReadText, //
    },
    life::{
        around::Around,
        site::{
            Prepared,
            Site, //
        }, //
    },
    model::{
        addr::{
            TextAddr,
            TextRange, //
        },
        not_optimized::{
            NotOptimized,
            Reason, //
        },
        surroundings::Surroundings, //
    },
    shared::optimizing::Node,
    sys::{
        modules,
        surroundings,
        symbols::Function,
        table::Writer,
        text,
        worker, //
    },
};
use kernel::prelude::*;

/// Queues those of these places that may have a jump, by what a batch has found out.
pub(crate) fn consider_around(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
    around: &mut Around,
) {
    if !optimizer.allowed {
        return;
    }
    optimizer.modules.begin_turn();
    for at in addresses {
        let _ = queue(sites, optimizer, text, at, around);
    }
}

/// Queues one place, if there is one and it may have a jump.
fn queue(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    text: &mut text::Lazy,
    at: TextAddr,
    around: &mut Around,
) -> Option<()> {
    let site = sites.get(at).filter(|site| may_jump(sites, (at, site)))?;
    let prepared = site.prepared()?;
    if site.jump.decided().is_none() {
        decide(sites, optimizer, (at, site, prepared), text, around)?;
    }
    let detour = site.jump.detour()?;
    if optimizer.queue.add(at, sites) {
        Current::divert(prepared, Some(detour));
        worker::tell(optimizer.worker.kick());
    }
    Some(())
}

/// Decides whether a place has a jump, unless it may be otherwise another time.
fn decide(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    (at, site, prepared): (TextAddr, &Site, &Prepared),
    text: &mut text::Lazy,
    around: &mut Around,
) -> Option<()> {
    let made = make(sites, &mut optimizer.modules, (at, prepared), text, around);
    let passing = made.as_ref().err().copied();
    if let Some(why) = passing.filter(|why| why.reason.may_pass()) {
        optimizer.lately.note(at, why);
        // There may be more when what waits for tasks is given back.
        if why.reason.is_shortage() && Current::waiting() != 0 {
            optimizer.short = true;
            worker::tell(optimizer.worker.kick());
        }
        return None;
    }
    optimizer.lately.forget(at);
    site.jump.0.populate(KBox::new(made, GFP_KERNEL).ok()?);
    if let Some(detour) = site.jump.detour() {
        Current::direct(detour, Some(&site.probes));
    }
    Some(())
}

fn make(
    sites: &Writer<Site>,
    known: &mut surroundings::Modules,
    (at, prepared): (TextAddr, &Prepared),
    text: &mut text::Lazy,
    around: &mut Around,
) -> Result<Jump, NotOptimized> {
    let function = around.function(at).map_err(|_| Reason::NearEnd)?;
    let owner = modules::owner(at).map_err(|_| Reason::NearEnd)?;
    if !known.have(&owner, at) {
        *text = text::Lazy::new();
    }
    let mut read = |from: TextAddr, into: &mut [u8]| uncover::read(sites, from, into);
    let leaving = &mut |[piece, image]: [_; 2], found: surroundings::Found<'_>, text: &mut _| {
        Current::leaving(piece, image, &mut read, found, text)
    };
    let tables = known.tables(&owner, at, leaving)?;
    let text = text.get();
    let ways = around.ways.of(&function, &tables, &mut read, text)?;
    let function = function.text;
    let detour = Current::detour(at, function, ways, prepared, &tables, &mut read, text)?;
    let node = Node::new();
    Ok(Jump { node, detour })
}

/// What leads into the function that was last asked for.
pub(crate) struct Ways(Option<OfFunction>);

type OfFunction = (TextRange, Result<<Current as Detour>::Ways, NotOptimized>);

impl Ways {
    /// Nothing yet.
    pub(crate) const NONE: Self = Self(None);

    /// What leads into `function`, or why that cannot be said.
    fn of(
        &mut self,
        function: &Function,
        around: &impl Surroundings,
        read: ReadText<'_>,
        text: &mut text::Lock,
    ) -> Result<&<Current as Detour>::Ways, NotOptimized> {
        let (whole, family) = (function.text, function.family);
        let last = self.0.take().filter(|(last, _)| *last == whole);
        let found = || (whole, Current::ways(whole, family, around, read, text));
        let (_, ways) = self.0.insert(last.unwrap_or_else(found));
        ways.as_ref().map_err(|&reason| reason)
    }
}
