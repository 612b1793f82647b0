// SPDX-License-Identifier: GPL-2.0

//! From what the client names to the place that is probed.
//!
//! An offset may lead out of the named function: the place is then in whatever function is there,
//! and it is that function's entry that counts.
//!
//! C counterpart: `_kprobe_addr()` in [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::symbol_cache::SymbolCache;
use crate::{
    arch::Current,
    contract::Machine,
    model::target::{
        Site,
        Target, //
    },
    prelude::*,
    sys::{
        probe::Probe,
        symbols, //
    }, //
};
use core::ffi::CStr;

/// The place that a probe's client names.
pub(crate) fn of(probe: &Probe, cache: &mut SymbolCache) -> Result<Site, Refusal> {
    site(probe.target()?, cache)
}

/// The place that the client names.
fn site(target: Target<'_>, cache: &mut SymbolCache) -> Result<Site, Refusal> {
    let (base, offset) = match target {
        Target::Symbol(name, offset) => (symbol(name).ok_or(Refusal::UnknownSymbol)?, offset),
        Target::Address(base, offset) => (base, offset),
    };
    let at = base.after(offset)?;
    let function = cache.function(at)?.text.start();
    let offset = at.get().wrapping_sub(function.get());
    Current::site(function, offset).ok_or(Refusal::OutOfText)
}

/// The place that the client names, which must be the entry of a function.
pub(crate) fn entry(target: Target<'_>) -> Result<Site, Refusal> {
    let site = site(target, &mut SymbolCache::new())?;
    if site.on_entry {
        Ok(site)
    } else {
        Err(Refusal::NotOnEntry)
    }
}

/// The address of the symbol of that name.
pub(crate) fn symbol(name: &CStr) -> Option<TextAddr> {
    symbols::lookup(name)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_resolve)]
mod tests {
    use super::*;

    const NAME: &CStr = c"kernel_clone";

    fn site(target: Target<'_>) -> Result<Site, Refusal> {
        super::site(target, &mut SymbolCache::new())
    }

    #[test]
    fn symbol_and_its_address_are_one_place() {
        let by_name = entry(Target::Symbol(NAME, 0));
        assert!(by_name.is_ok());
        let addr = symbols::lookup(NAME).map(|addr| Target::Address(addr, 0));
        assert!(addr.is_some_and(|target| entry(target) == by_name));
    }

    #[test]
    fn inside_a_function_is_not_its_entry() {
        let inside = Target::Symbol(NAME, 9);
        assert!(site(inside).is_ok_and(|site| !site.on_entry));
        assert_eq!(entry(inside), Err(Refusal::NotOnEntry));
    }

    #[test]
    fn what_is_nowhere_is_refused() {
        assert_eq!(
            site(Target::Symbol(c"no_such_function", 0)),
            Err(Refusal::UnknownSymbol)
        );
        assert_eq!(
            site(Target::Address(TextAddr::new(16), 0)),
            Err(Refusal::OutOfText)
        );
        assert_eq!(
            site(Target::Symbol(NAME, u64::MAX)),
            Err(Refusal::OutOfText)
        );
    }
}
