// SPDX-License-Identifier: GPL-2.0

//! Reading text as it is without our jumps and breakpoints.

use super::{
    over,
    JUMPS, //
};
use crate::{
    arch::Current,
    contract::{
        Detour,
        Isa,
        Machine, //
    },
    life::{
        prepare,
        site::{
            Armed,
            Site, //
        }, //
    },
    prelude::*,
    table::Writer, //
};
use core::sync::atomic::Ordering;

/// Makes of code that was read at `from` what its first instruction is without jumps.
pub(crate) fn uncover(sites: &Writer<Site>, from: TextAddr, code: &mut [u8]) {
    if JUMPS.load(Ordering::Relaxed) == 0 {
        return;
    }
    let places = over(sites, from).map(|(at, _)| at);
    Iterator::chain(places, [from]).for_each(|at| uncover_jump(sites, at, from, code));
}

/// The same of one jump, if there is one at `at`.
fn uncover_jump(sites: &Writer<Site>, at: TextAddr, from: TextAddr, code: &mut [u8]) {
    let jump = sites.get(at).and_then(|site| site.jump.jump());
    if let Some(jump) = jump.filter(|jump| jump.node.state().has_jump()) {
        Current::uncover(at, &jump.detour, from, code);
    }
}

/// Reads what the code at `from` is without any jump or breakpoint of ours.
pub(super) fn read(sites: &Writer<Site>, from: TextAddr, code: &mut [u8]) -> Option<()> {
    prepare::original(sites, from, code)?;
    uncover_behind(sites, from, code);
    Some(())
}

/// Makes of code that was read at `from`, and is right at its start, what it is behind that.
fn uncover_behind(sites: &Writer<Site>, from: TextAddr, code: &mut [u8]) {
    for offset in 1..code.len() {
        let Some(rest) = code.get_mut(offset..) else {
            return;
        };
        if !Current::is_jump(rest) && !Current::is_breakpoint(rest) {
            continue;
        }
        let Ok(at) = from.after(offset as u64) else {
            return;
        };
        let Some(site) = sites.get(at) else { continue };
        match site.prepared() {
            Some(prepared) if site.armed() == Armed::Breakpoint => {
                Current::restore(prepared, rest);
            }
            _ => (),
        }
        uncover_jump(sites, at, from, code);
    }
}
