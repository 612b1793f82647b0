// SPDX-License-Identifier: GPL-2.0

//! Whether a place can have a jump, and the detour that it leads to.
//!
//! That is found out once, when somebody first asks: hardly anything that it depends on changes.
//! For that the text around the place has to be read, and what the kernel's tables say of it. What
//! may pass is found out anew each time: want of memory, a module that is being loaded, and
//! breakpoints of a debugger, which also make of instructions what is none.

use super::{
    may_jump,
    nodes,
    uncover,
    Jump,
    Optimizer, //
};
use crate::{
    arch::Current,
    contract::{
        Detour,
        ReadText, //
    },
    life::{
        arm::Place,
        site::{
            Prepared,
            Site, //
        },
        symbol_cache::SymbolCache, //
    },
    model::text_metadata::TextMetadata,
    prelude::*,
    shared::optimizing::Node,
    slots,
    sys::{
        modules,
        symbols::Function,
        text,
        worker, //
    },
    table::Writer,
    text::{
        branch_targets::Found,
        Images, //
    }, //
};
use kernel::prelude::*;

/// Queues those of these places that may have a jump. `cache` has what a batch has found out.
pub(crate) fn consider_with(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    images: &mut Images,
    cache: &mut SymbolCache,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
) {
    if !optimizer.allowed {
        return;
    }
    for at in addresses {
        let _ = queue(sites, optimizer, images, text, at, cache);
    }
}

/// Queues one place, if there is one and it may have a jump.
fn queue(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    images: &mut Images,
    text: &mut text::Lazy,
    at: TextAddr,
    cache: &mut SymbolCache,
) -> Option<()> {
    let site = sites.get(at).filter(|site| may_jump(sites, (at, site)))?;
    let prepared = site.prepared()?;
    if site.jump.decided().is_none() {
        let made = make(sites, images, (at, prepared), text, cache);
        decide(optimizer, (at, site), made)?;
    }
    let detour = site.jump.detour()?;
    if optimizer.queue.add(at, &nodes(sites)) {
        Current::divert(prepared, Some(detour));
        worker::tell(optimizer.worker.kick());
    }
    Some(())
}

/// Notes whether a place has a jump, unless it may be otherwise another time.
fn decide(
    optimizer: &mut Optimizer,
    (at, site): Place<'_>,
    made: Result<Jump, NotOptimized>,
) -> Option<()> {
    let passing = made.as_ref().err().copied();
    if let Some(why) = passing.filter(|why| why.reason.may_pass()) {
        optimizer.lately.note(at, why);
        // There may be more when what waits for tasks is given back.
        if why.reason.is_shortage() && slots::waiting() != 0 {
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
    images: &mut Images,
    (at, prepared): (TextAddr, &Prepared),
    text: &mut text::Lazy,
    cache: &mut SymbolCache,
) -> Result<Jump, NotOptimized> {
    let function = cache.function(at).map_err(|_| Reason::NearEnd)?;
    let owner = modules::owner(at).map_err(|_| Reason::NearEnd)?;
    // `check::module_sorted` asks again.
    if !images.are_sorted(&owner) {
        return Err(Reason::ModuleComing.into());
    }
    let mut read = |from: TextAddr, into: &mut [u8]| uncover::read(sites, from, into);
    let leaving = &mut |piece, image, found: Found<'_>, text: &mut text::Lock| {
        Current::leaving(piece, image, &mut read, found, text)
    };
    let image = images.with_branch_targets(&owner, at, text, leaving)?;
    let text = text.get();
    let targets = targets(&mut cache.targets, &function, image, &mut read, text)?;
    let function = function.text;
    let detour = Current::detour(at, function, targets, prepared, image, &mut read, text)?;
    let node = Node::new();
    Ok(Jump { node, detour })
}

/// The function that was last asked for, and where branches lead into it, or why that cannot be
/// said.
pub(crate) type LastTargets = Option<(TextRange, Targets)>;

type Targets = Result<<Current as Detour>::BranchTargets, NotOptimized>;

/// Where branches lead into `function`.
fn targets<'a>(
    last: &'a mut LastTargets,
    function: &Function,
    metadata: &impl TextMetadata,
    read: ReadText<'_>,
    text: &mut text::Lock,
) -> Result<&'a <Current as Detour>::BranchTargets, NotOptimized> {
    let (whole, group) = (function.text, function.group);
    let same = last.take().filter(|(last, _)| *last == whole);
    let found = || {
        (
            whole,
            Current::branch_targets(whole, group, metadata, read, text),
        )
    };
    let (_, targets) = last.insert(same.unwrap_or_else(found));
    targets.as_ref().map_err(|&reason| reason)
}
