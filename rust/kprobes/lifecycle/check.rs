// SPDX-License-Identifier: GPL-2.0

//! Finds the address of a probe, and checks whether that address may be probed.
//!
//! An offset may lead out of the named function. Then the function at the resulting address decides
//! whether the probe is on an entry.
//!
//! The checks do not depend on the instruction. `register::prepare_insn()` calls
//! `Isa::check_boundary()`, which refuses the middle of an instruction. C makes the checks in the
//! same order: a client sees the errno of the first check that fails. The results hold while the
//! registry is locked: the notifier of a module's end waits for the lock before the module's text
//! is freed.
//!
//! C counterpart: `_kprobe_addr()` and `check_kprobe_address_safe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    model::{
        symbol,
        target::{
            ProbeAddr,
            Target, //
        }, //
    },
    registry::{
        batch_cache::BatchCache,
        prelude::*, //
    },
    sys::{
        blacklist,
        ftrace,
        symbols::{
            self,
            Function, //
        }, //
    },
    text_metadata::Images, //
};
use kernel::prelude::*;

/// Returns the address that a client names, and whether it is the entry of a function.
pub(super) fn resolve(target: Target<'_>, cache: &mut BatchCache) -> Result<ProbeAddr, Refusal> {
    let (base, offset) = match target {
        Target::Symbol(name, offset) => {
            (symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?, offset)
        }
        Target::Address(base, offset) => (base, offset),
    };
    // On 32-bit kernels the sum wraps, as that of pointers does in C.
    let at = TextAddr::new(base.after(offset)?.get() as usize as u64);
    let function = cache.function(at)?.text.start();
    let offset = at.get().wrapping_sub(function.get());
    Arch::adjust_addr(function, offset).ok_or(Refusal::OutOfText)
}

/// Returns the address that a client names, which must be the entry of a function.
pub(crate) fn resolve_entry(target: Target<'_>) -> Result<ProbeAddr, Refusal> {
    match resolve(target, &mut BatchCache::new())? {
        place if place.on_entry => Ok(place),
        _ => Err(Refusal::NotOnEntry),
    }
}

/// The nearest known start of an instruction at or before a probe point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownStart {
    pub(super) start: TextAddr,
    /// The function that has both addresses.
    pub(super) function: TextRange,
}

/// Checks whether the text at `at` may be probed. Returns where to decode from, to prove that an
/// instruction starts at `at`. `Ok(None)` means that ftrace calls from `at` and will hit the point:
/// no instruction is decoded or prepared.
pub(super) fn check_address(
    images: &mut Images,
    at: TextAddr,
    cache: &mut BatchCache,
) -> Result<Option<KnownStart>, Refusal> {
    let ftrace = ftrace::calls_from(at);
    if ftrace && !cfg!(CONFIG_KPROBES_ON_FTRACE) {
        return Err(Refusal::FtraceOnly);
    }
    let module = images.owner(at)?;
    let module = module.as_ref();
    let function = cache.function(at)?;
    if symbols::is_gate(at) || is_blacklisted(at, Some(&function)) {
        return Err(Refusal::Blacklisted);
    }
    // Refuses text that other code changes or traps on.
    let known_start = images.image(module, at)?.start_unless_reserved(at)?;
    match function.kind {
        symbol::FunctionKind::Function => (),
        symbol::FunctionKind::Preamble => return Err(Refusal::Preamble),
        symbol::FunctionKind::Trampoline => return Err(Refusal::Reserved),
    }
    if module.is_some_and(|module| module.has_freed(at)) {
        return Err(Refusal::InitTextFreed);
    }
    Ok((!ftrace).then(|| KnownStart {
        start: cache.known_start(&function, known_start, at),
        function: function.text,
    }))
}

/// Returns whether the address is blacklisted: in code that may run while a hit is handled.
///
/// A function that the compiler split from a blacklisted function is blacklisted as well.
pub(crate) fn blacklisted(at: TextAddr) -> bool {
    is_blacklisted(at, symbols::function(at).as_ref())
}

fn is_blacklisted(at: TextAddr, function: Option<&Function>) -> bool {
    let listed = |at, entry| {
        Arch::arch_blacklist().any(|range| range.contains(at)) || blacklist::covers(at, entry)
    };
    let split_from = function.and_then(|function| function.split_from);
    listed(at, function.map(|function| function.text.start()))
        || split_from.is_some_and(|base| listed(base, Some(base)))
}

/// Calls `each` with the start and the end of each blacklisted function.
pub(crate) fn each_blacklisted(registry: &Registry, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    blacklist::each(Arch::arch_blacklist(), each);
    registry.blacklisted_modules.each(each);
}

/// Reads the blacklist and the tables that the back end needs. Called before init memory is freed.
pub(crate) fn load() -> Result<(), Refusal> {
    if Arch::read_tables().is_err() {
        pr_err!("out of memory: no text of the kernel can be probed\n");
    }
    blacklist::load()
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_check)]
mod tests {
    use super::*;

    fn checked(name: &CStr, offset: u64) -> Result<Option<KnownStart>, Refusal> {
        let at = symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?;
        let images = &mut Registry::lock().images;
        super::check_address(images, at.after(offset)?, &mut BatchCache::new())
    }

    #[test]
    fn trampolines_of_static_calls_are_refused() {
        for offset in [0, 5] {
            let found = checked(c"__SCT__tp_func_sched_switch", offset);
            assert!(matches!(
                found,
                Err(Refusal::Reserved | Refusal::UnknownSymbol)
            ));
        }
    }

    #[test]
    fn functions_that_handle_hits_are_blacklisted() {
        assert_eq!(checked(c"register_kprobe", 0), Err(Refusal::Blacklisted));
        assert_eq!(checked(c"notify_die", 1), Err(Refusal::Blacklisted));
        assert!(checked(c"kernel_clone", 0).is_ok());
    }

    const NAME: &CStr = c"kernel_clone";

    fn resolved(target: Target<'_>) -> Result<ProbeAddr, Refusal> {
        resolve(target, &mut BatchCache::new())
    }

    #[test]
    fn symbol_and_its_address_are_one_place() {
        let by_name = resolve_entry(Target::Symbol(NAME, 0));
        assert!(by_name.is_ok());
        let addr = symbols::lookup(NAME).map(|addr| Target::Address(addr, 0));
        assert!(addr.is_some_and(|target| resolve_entry(target) == by_name));
    }

    #[test]
    fn inside_a_function_is_not_its_entry() {
        let inside = Target::Symbol(NAME, 9);
        assert!(resolved(inside).is_ok_and(|inside| !inside.on_entry));
        assert_eq!(resolve_entry(inside), Err(Refusal::NotOnEntry));
    }

    #[test]
    fn unknown_symbols_and_non_text_are_refused() {
        assert_eq!(
            resolved(Target::Symbol(c"no_such_function", 0)),
            Err(Refusal::UnknownSymbol)
        );
        assert_eq!(
            resolved(Target::Address(TextAddr::new(16), 0)),
            Err(Refusal::OutOfText)
        );
        assert_eq!(
            resolved(Target::Symbol(NAME, u64::MAX)),
            Err(Refusal::OutOfText)
        );
    }
}
