// SPDX-License-Identifier: GPL-2.0

//! The blacklist: functions that cannot be probed, because the handling of a hit runs them.
//!
//! A function is on the blacklist if it is in `.kprobes.text`, if it is in a noinstr section, or if
//! C names it by `NOKPROBE_SYMBOL()`. An address is compared with the bounds of the sections. The
//! names are a table of entry addresses. The kernel's own table is in memory that is freed after
//! boot, so [`load`] copies it. A module's bounds and table are read in the module. They are valid
//! from before its first instruction runs until it is freed. Only the list in debugfs needs to know
//! the modules that have functions on the blacklist: [`Modules`].
//!
//! Not for the hit path.
//!
//! C counterpart: `populate_kprobe_blacklist()` and `__within_kprobe_blacklist()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    modules::{
        self,
        Module, //
    },
    sort,
    symbols, //
};
use crate::sys::prelude::*;
use kernel::sync::SetOnce;

/// The entries of the kernel's own functions that C names, in the order of addresses.
static NAMED: SetOnce<KVec<usize>> = SetOnce::new();

/// Copies and sorts the kernel's own table. Called once, before init memory is freed.
pub(crate) fn load() -> Result<(), Refusal> {
    let start = (&raw const bindings::__start_kprobe_blacklist).cast::<usize>();
    let end = (&raw const bindings::__stop_kprobe_blacklist).cast::<usize>();
    let count = end.addr().saturating_sub(start.addr()) / size_of::<usize>();
    // SAFETY: The linker puts the table of addresses between the two symbols, in init memory. An
    // early initcall calls this, before init memory is freed.
    let table = unsafe { core::slice::from_raw_parts(start, count) };
    let mut named = KVec::new();
    named.extend_from_slice(table, GFP_KERNEL)?;
    sort::ascending(&mut named);
    NAMED.populate(named);
    Ok(())
}

/// Calls `each` with the start and the end of each function of the kernel proper on the blacklist.
pub(crate) fn each(
    areas: impl Iterator<Item = TextRange>,
    each: &mut dyn FnMut(TextAddr, TextAddr),
) {
    kernel().each(each);
    areas.for_each(|area| each_in(&area, each));
}

/// The modules that have functions on the blacklist.
pub(crate) struct Modules(KVec<Module>);

impl Modules {
    /// No modules.
    pub(crate) const EMPTY: Self = Self(KVec::new());

    /// Notes a module that is being loaded, if it has blacklisted functions.
    pub(crate) fn add(&mut self, module: Module) -> Result<(), Refusal> {
        if Parts::of(&module).is_empty() {
            return Ok(());
        }
        Ok(self.0.push(module, GFP_KERNEL)?)
    }

    /// Forgets a module that is being unloaded.
    pub(crate) fn remove(&mut self, module: Module) {
        self.0.retain(|&mut other| other != module);
    }

    /// Calls `each` with the start and the end of each function of modules on the blacklist.
    pub(crate) fn each(&self, each: &mut dyn FnMut(TextAddr, TextAddr)) {
        for module in &self.0 {
            Parts::of(module).each(each);
        }
    }
}

fn each_in(area: &TextRange, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    let mut at = area.start();
    while area.contains(at) {
        let Some(end) = symbols::len(at).and_then(|len| at.after(len).ok()) else {
            return;
        };
        each(at, end);
        // Several symbols may have the same address; only the last one has a length.
        at = end.max(TextAddr::new(at.get().wrapping_add(1)));
    }
}

/// Returns whether this address, in the function that starts at `entry`, is on the blacklist.
pub(crate) fn covers(at: TextAddr, entry: Option<TextAddr>) -> bool {
    let kernel = kernel();
    let address = |named: &usize| symbols::function_address(*named);
    let is_named = |entry| kernel.named.binary_search_by_key(&entry, address).is_ok();
    let in_module = |module: Module| Parts::of(&module).cover(at, entry);
    kernel.has(at)
        || entry.is_some_and(is_named)
        || modules::with(at, true, in_module).unwrap_or(false)
}

/// Returns the text of the kernel proper that is never freed.
pub(crate) fn core_text() -> TextRange {
    between(&raw const bindings::_stext, &raw const bindings::_etext)
}

/// Returns the text that is freed after boot.
pub(crate) fn init_text() -> TextRange {
    between(
        &raw const bindings::__init_begin,
        &raw const bindings::__init_end,
    )
}

/// Returns the text between two symbols of the linker.
pub(crate) fn between<T>(start: *const T, end: *const T) -> TextRange {
    let addr = |symbol: *const T| TextAddr::new(symbol.addr() as u64);
    TextRange::new(addr(start), addr(end))
}

/// Returns the blacklist of the kernel proper.
fn kernel() -> Parts<'static> {
    Parts {
        sections: [
            between(
                &raw const bindings::__kprobes_text_start,
                &raw const bindings::__kprobes_text_end,
            ),
            between(
                &raw const bindings::__noinstr_text_start,
                &raw const bindings::__noinstr_text_end,
            ),
        ],
        named: NAMED.as_ref().map_or(&[], |named| named),
    }
}

/// The blacklist of the kernel proper, or of a module.
struct Parts<'a> {
    /// `.kprobes.text` and the noinstr section; empty for a section that does not exist.
    sections: [TextRange; 2],
    /// The entries of the functions that C names.
    named: &'a [usize],
}

impl<'a> Parts<'a> {
    /// Returns the blacklist of a module.
    fn of(module: &'a Module) -> Self {
        let module = module.as_c();
        // SAFETY: The module is not freed while the value is used. The loader writes these
        // fields before a module can be found by its addresses, and nothing changes them.
        let (table, count) =
            unsafe { ((*module).kprobe_blacklist, (*module).num_kprobe_blacklist) };
        // SAFETY: As above.
        let sections = unsafe {
            [
                modules::memory((*module).kprobes_text_start, (*module).kprobes_text_size),
                modules::memory((*module).noinstr_text_start, (*module).noinstr_text_size),
            ]
        };
        let named: &[usize] = if table.is_null() {
            &[]
        } else {
            // SAFETY: The loader found `count` addresses there; the table is part of the module.
            unsafe { core::slice::from_raw_parts(table, count as usize) }
        };
        Self { sections, named }
    }

    fn is_empty(&self) -> bool {
        let mut sections = self.sections.iter();
        self.named.is_empty() && sections.all(|section| section.start() == section.end())
    }

    /// Returns whether the address, in the function that starts at `entry`, is on this blacklist.
    fn cover(&self, at: TextAddr, entry: Option<TextAddr>) -> bool {
        let mut named = self.named.iter().copied().map(symbols::function_address);
        self.has(at) || entry.is_some_and(|entry| named.any(|named| named == entry))
    }

    /// Returns whether the address is in a section of this blacklist.
    fn has(&self, at: TextAddr) -> bool {
        self.sections.iter().any(|section| section.contains(at))
    }

    fn each(&self, each: &mut dyn FnMut(TextAddr, TextAddr)) {
        for &entry in self.named {
            let entry = symbols::function_address(entry);
            if let Some(end) = symbols::len(entry).and_then(|len| entry.after(len).ok()) {
                each(entry, end);
            }
        }
        self.sections.iter().for_each(|area| each_in(area, each));
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_blacklist)]
mod tests {
    use super::*;

    fn covers_inside(name: &CStr) -> Option<bool> {
        let entry = symbols::lookup(name)?;
        let inside = entry.after(1).ok()?;
        Some(covers(inside, Some(entry)))
    }

    #[test]
    fn this_crate_is_covered() {
        assert_eq!(covers_inside(c"register_kprobe"), Some(true));
        assert_eq!(covers_inside(c"kprobe_busy_begin"), Some(true));
        let here = init_text as fn() -> TextRange;
        assert!(covers(TextAddr::new(here as usize as u64), None));
    }

    #[test]
    fn functions_listed_by_c_are_covered() {
        assert_eq!(covers_inside(c"notify_die"), Some(true));
        assert_eq!(covers_inside(c"search_extable"), Some(false));
    }

    #[test]
    fn noinstr_is_covered() {
        assert_eq!(covers_inside(c"ct_nmi_enter"), Some(true));
    }

    #[test]
    fn other_text_is_not_covered() {
        assert_eq!(covers_inside(c"kernel_clone"), Some(false));
        assert!(!covers(TextAddr::new(16), None));
    }
}
