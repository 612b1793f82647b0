// SPDX-License-Identifier: GPL-2.0

//! May this address be probed?
//!
//! What is said here does not depend on the instruction; that is for [`prepare`](super::prepare).
//! C asks in the same order, since a client sees the errno of the first thing that is wrong.
//!
//! C counterpart: `check_kprobe_address_safe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#[cfg(CONFIG_MODULES)]
use super::optimize;
use super::{
    site::{
        self,
        Registry, //
    },
    symbol_cache::SymbolCache, //
};
#[cfg(CONFIG_MODULES)]
use crate::sys::modules::Loaded;
use crate::{
    arch::Current,
    contract::Machine,
    model::symbol::Kind,
    prelude::*,
    sys::{
        blacklist,
        ftrace,
        lock::Lock,
        modules::{
            self,
            Owner, //
        },
        symbols::{
            self,
            Function, //
        }, //
    }, //
};

/// How a place can be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// By a breakpoint. The address is one not behind it where an instruction starts.
    Breakpoint(TextAddr),
    /// Through ftrace, whose call is there.
    Ftrace,
}

/// Says no unless the text at `at` may be probed; else, how it can be hit.
///
/// The answer holds while the registry is locked: a module that goes waits for the lock before its
/// text does.
pub(crate) fn probeable(
    registry: &mut Registry,
    at: TextAddr,
    cache: &mut SymbolCache,
) -> Result<Means, Refusal> {
    let ftrace = is_ftraces(at)?;
    let owner = modules::owner(at)?;
    if !registry.images.accepts(&owner) {
        return Err(Refusal::ModuleComing);
    }
    let function = cache.function(at)?;
    if symbols::is_gate(at) || is_blacklisted(at, Some(&function)) {
        return Err(Refusal::Blacklisted);
    }
    let told = registry.images.image(&owner, at)?.check(at)?;
    match function.kind {
        Kind::Function => (),
        Kind::Preamble => return Err(Refusal::Preamble),
        Kind::Trampoline => return Err(Refusal::Reserved),
    }
    match owner {
        Owner::Module(module) if module.has_freed(at) => Err(Refusal::InitTextFreed),
        _ if ftrace => Ok(Means::Ftrace),
        _ => Ok(Means::Breakpoint(cache.known(&function, told, at))),
    }
}

/// Does the address belong to what a probe's hit itself runs through?
///
/// What the compiler split from a function shares the function's fate.
pub(crate) fn blacklisted(at: TextAddr) -> bool {
    is_blacklisted(at, symbols::function(at).as_ref())
}

fn is_blacklisted(at: TextAddr, function: Option<&Function>) -> bool {
    let listed = |at, entry| Current::reserved().contains(at) || blacklist::covers(at, entry);
    let split_from = function.and_then(|function| function.split_from);
    listed(at, function.map(|function| function.text.start()))
        || split_from.is_some_and(|base| listed(base, Some(base)))
}

/// Tells `each` of the functions that nobody may probe: where they start and end.
pub(crate) fn each_blacklisted(registry: &Registry, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    blacklist::each(&[Current::reserved()], each);
    registry.modules.each(each);
}

/// A module comes: from now on it may be probed, and its functions that nobody may probe are among
/// those told.
#[cfg(CONFIG_MODULES)]
pub(crate) fn module_comes(module: Loaded) -> Result<(), Refusal> {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    registry.modules.add(module)?;
    registry.images.comes(module)
}

/// The tables of a module that comes are in order: from now on its probes may have jumps.
#[cfg(CONFIG_MODULES)]
pub(crate) fn module_sorted(module: Loaded) {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    registry.images.sorted(module);
    optimize::consider_all(registry, |at| module.has(at));
}

/// Learns the functions that C names, and what the back end must know. To be called once, while
/// init memory is there.
pub(crate) fn load() -> Result<(), Refusal> {
    // Without it fewer starts of instructions are known, which only takes longer.
    let _ = Current::learn();
    blacklist::load()
}

/// Does ftrace's call stand there? Says no if nobody else may change it.
fn is_ftraces(at: TextAddr) -> Result<bool, Refusal> {
    let ftraces = ftrace::calls_from(at);
    if ftraces && !cfg!(CONFIG_KPROBES_ON_FTRACE) {
        return Err(Refusal::FtraceOnly);
    }
    Ok(ftraces)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_check)]
mod tests {
    use super::*;
    use kernel::prelude::*;

    fn probeable(name: &CStr, offset: u64) -> Result<Means, Refusal> {
        let at = symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?;
        let mut lock = Lock::new();
        let registry = site::registry(&mut lock);
        super::probeable(registry, at.after(offset)?, &mut SymbolCache::new())
    }

    #[test]
    fn trampolines_of_static_calls_are_others() {
        for offset in [0, 5] {
            let found = probeable(c"__SCT__tp_func_sched_switch", offset);
            assert!(matches!(
                found,
                Err(Refusal::Reserved | Refusal::UnknownSymbol)
            ));
        }
    }

    #[test]
    fn what_handles_hits_is_not_for_probes() {
        assert_eq!(probeable(c"register_kprobe", 0), Err(Refusal::Blacklisted));
        assert_eq!(probeable(c"notify_die", 1), Err(Refusal::Blacklisted));
        assert!(probeable(c"kernel_clone", 0).is_ok());
    }
}
