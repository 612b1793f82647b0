// SPDX-License-Identifier: GPL-2.0

//! From an address to all it takes to break there: read the code before it, prove that an
//! instruction starts there, decide how that will be carried out, fill a slot.
//!
//! The code is read as it was before any probe: where a breakpoint of ours starts an instruction,
//! the place's own copy of its first bytes is put over it.

use super::{
    optimize,
    site::{
        Armed,
        Prepared,
        Registry,
        Site, //
    }, //
};
use crate::{
    arch::Current,
    contract::{
        Isa,
        Machine, //
    },
    prelude::*,
    sys::text,
    table::Writer, //
};

/// Gets ready to break at `at`, which may be probed. An instruction starts at `known`, not behind
/// it.
pub(crate) fn at(
    registry: &Registry,
    at: TextAddr,
    known: TextAddr,
    text: &mut text::Lock,
) -> Result<Prepared, Refusal> {
    let sites = &registry.sites;
    let mut read = |from: TextAddr, into: &mut [u8]| original(sites, from, into);
    Current::boundary(known, at, &mut read)?;
    Current::prepare(at, text::has_fixup(at), &mut read, text)
}

/// Reads what the code at `from` is without a jump of ours, or a breakpoint of ours at its first
/// byte. What a debugger has put there hides the instruction.
pub(super) fn original(sites: &Writer<Site>, from: TextAddr, into: &mut [u8]) -> Option<()> {
    text::read(from, into)?;
    optimize::uncover(sites, from, into);
    if !Current::is_breakpoint(into) {
        return Some(());
    }
    let site = sites.get(from);
    let armed = site.filter(|site| site.is_armed(Armed::Breakpoint));
    if let Some(prepared) = armed.and_then(Site::prepared) {
        Current::restore(prepared, into);
    } else if text::is_debugged(from) {
        return None;
    }
    Some(())
}
