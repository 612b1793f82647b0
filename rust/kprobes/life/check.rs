// SPDX-License-Identifier: GPL-2.0

//! May this address be probed?
//!
//! What is said here does not depend on the instruction; that is for [`prepare`](super::prepare).
//! C asks in the same order, since a client sees the errno of the first thing that is wrong.
//!
//! C counterpart: `check_kprobe_address_safe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::site::{
    self,
    Registry, //
};
use crate::{
    arch::Current,
    contract::Machine,
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    sys::{
        blacklist,
        ftrace,
        lock::Lock,
        modules::{
            self,
            Loaded,
            Owner, //
        },
        reserved,
        symbols, //
    },
};

/// How a place can be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// By a breakpoint.
    Breakpoint,
    /// Through ftrace, whose call is there.
    Ftrace,
}

/// Says no unless the text at `at` may be probed; else, how it can be hit.
///
/// The answer holds while the registry is locked: a module that goes waits for the lock before its
/// text does.
pub(crate) fn probeable(registry: &mut Registry, at: TextAddr) -> Result<Means, Refusal> {
    let means = means(at)?;
    let owner = modules::owner(at)?;
    if symbols::is_gate(at) || blacklisted(at) {
        return Err(Refusal::Blacklisted);
    }
    match &owner {
        Owner::Kernel => reserved_index(registry)?.check(at)?,
        Owner::Module(module) => reserved::check_module(module, at)?,
    }
    if symbols::is_preamble(at) {
        return Err(Refusal::Preamble);
    }
    match owner {
        Owner::Module(module) if module.has_freed(at) => Err(Refusal::InitTextFreed),
        _ => Ok(means),
    }
}

/// Does the address belong to what a probe's hit itself runs through?
///
/// What the compiler split from a function shares the function's fate.
pub(crate) fn blacklisted(at: TextAddr) -> bool {
    listed(at) || symbols::split_from(at).is_some_and(listed)
}

/// Tells `each` of the functions that nobody may probe: where they start and end.
pub(crate) fn each_blacklisted(registry: &Registry, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    blacklist::each(&[Current::reserved()], each);
    registry.modules.each(each);
}

/// A module comes: its functions that nobody may probe are to be among those told.
pub(crate) fn module_comes(module: Loaded) -> Result<(), Refusal> {
    site::registry(&mut Lock::new()).modules.add(module)
}

/// Learns the functions that C names. To be called once, while init memory is there.
pub(crate) fn load_blacklist() -> Result<(), Refusal> {
    blacklist::load()
}

fn listed(at: TextAddr) -> bool {
    Current::reserved().contains(at) || blacklist::covers(at)
}

fn means(at: TextAddr) -> Result<Means, Refusal> {
    if !ftrace::calls_from(at) {
        return Ok(Means::Breakpoint);
    }
    if cfg!(CONFIG_KPROBES_ON_FTRACE) {
        Ok(Means::Ftrace)
    } else {
        Err(Refusal::FtraceOnly)
    }
}

fn reserved_index(registry: &mut Registry) -> Result<&reserved::Index, Refusal> {
    if registry.reserved.is_none() {
        registry.reserved = Some(reserved::Index::read()?);
    }
    registry.reserved.as_ref().ok_or(Refusal::NoMemory)
}
