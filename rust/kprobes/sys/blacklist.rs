// SPDX-License-Identifier: GPL-2.0

//! Functions that nobody may probe: those that a probe's hit itself runs through.
//!
//! Three things make a function one of them: it lies in `.kprobes.text`, it lies in a noinstr
//! section, or C names it by `NOKPROBE_SYMBOL()`. The sections are compared by their bounds. The
//! names are entry addresses in a table; the kernel's own is in memory that is freed after boot, so
//! [`load`] copies it. A module's bounds and table are read where they are, in the module:
//! they hold from before its first instruction runs until it is gone. Only who shows them all needs
//! to know which modules have any: those are [`Modules`].
//!
//! Not for the hit path.
//!
//! C counterpart: `populate_kprobe_blacklist()` and `__within_kprobe_blacklist()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    prelude::*,
    sys::{
        modules::Loaded,
        symbols, //
    }, //
};
use kernel::{
    bindings,
    prelude::*,
    sync::SetOnce, //
};

/// The entries of the kernel's own functions that C names.
static NAMED: SetOnce<KVec<usize>> = SetOnce::new();

/// Copies the kernel's own table. To be called once, before init memory is freed.
pub(crate) fn load() -> Result<(), Refusal> {
    let start = (&raw const bindings::__start_kprobe_blacklist).cast::<usize>();
    let end = (&raw const bindings::__stop_kprobe_blacklist).cast::<usize>();
    let count = end.addr().saturating_sub(start.addr()) / size_of::<usize>();
    // SAFETY: The linker puts the table of addresses between the two symbols, and init memory,
    // which it is in, is still there.
    let table = unsafe { core::slice::from_raw_parts(start, count) };
    let mut named = KVec::new();
    let copied = named.extend_from_slice(table, GFP_KERNEL);
    copied.map_err(|_| Refusal::NoMemory)?;
    NAMED.populate(named);
    Ok(())
}

/// Tells `each` of the functions of the kernel proper: where they start and end.
pub(crate) fn each(
    areas: impl Iterator<Item = TextRange>,
    each: &mut dyn FnMut(TextAddr, TextAddr),
) {
    for &entry in NAMED.as_ref().into_iter().flatten() {
        each_at(TextAddr::new(entry as u64), each);
    }
    for area in Iterator::chain(kernel_sections().into_iter(), areas) {
        each_in(&area, each);
    }
}

/// The modules that have functions which nobody may probe.
pub(crate) struct Modules(KVec<Loaded>);

impl Modules {
    /// None.
    pub(crate) const NONE: Self = Self(KVec::new());

    /// Notes a module that comes, if it has any.
    pub(crate) fn add(&mut self, module: Loaded) -> Result<(), Refusal> {
        if module.read(|module| Parts::of(module).is_empty()) {
            return Ok(());
        }
        let pushed = self.0.push(module, GFP_KERNEL);
        pushed.map_err(|_| Refusal::NoMemory)
    }

    /// Forgets a module that goes.
    pub(crate) fn remove(&mut self, module: Loaded) {
        self.0.retain(|&mut other| other != module);
    }

    /// Tells `each` of the functions of modules: where they start and end.
    pub(crate) fn each(&self, each: &mut dyn FnMut(TextAddr, TextAddr)) {
        for module in &self.0 {
            module.read(|module| Parts::of(module).each(each));
        }
    }
}

/// Tells `each` of the function at `entry`.
fn each_at(entry: TextAddr, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    if let Some(end) = symbols::len(entry).and_then(|len| entry.after(len).ok()) {
        each(entry, end);
    }
}

fn each_in(area: &TextRange, each: &mut dyn FnMut(TextAddr, TextAddr)) {
    let mut at = area.start();
    while area.contains(at) {
        let Some(len) = symbols::len(at) else { return };
        let Ok(end) = at.after(len) else { return };
        each(at, end);
        // Several symbols may be at one address; only the last one has a length.
        at = if len == 0 {
            TextAddr::new(at.get().wrapping_add(1))
        } else {
            end
        };
    }
}

/// May nobody probe here, in the function that starts at `entry`?
pub(crate) fn covers(at: TextAddr, entry: Option<TextAddr>) -> bool {
    in_kernel_section(at) || entry.is_some_and(is_named) || in_module(at, entry)
}

/// The text of the kernel proper that stays.
pub(crate) fn core_text() -> TextRange {
    between(&raw const bindings::_stext, &raw const bindings::_etext)
}

/// The text that goes when the kernel has begun.
pub(crate) fn init_text() -> TextRange {
    between(
        &raw const bindings::__init_begin,
        &raw const bindings::__init_end,
    )
}

fn in_kernel_section(at: TextAddr) -> bool {
    kernel_sections().iter().any(|section| section.contains(at))
}

fn kernel_sections() -> [TextRange; 2] {
    [
        between(
            &raw const bindings::__kprobes_text_start,
            &raw const bindings::__kprobes_text_end,
        ),
        between(
            &raw const bindings::__noinstr_text_start,
            &raw const bindings::__noinstr_text_end,
        ),
    ]
}

fn is_named(entry: TextAddr) -> bool {
    NAMED
        .as_ref()
        .is_some_and(|named| named.contains(&(entry.get() as usize)))
}

/// The text between two symbols of the linker.
fn between<T>(start: *const T, end: *const T) -> TextRange {
    let addr = |symbol: *const T| TextAddr::new(symbol.addr() as u64);
    TextRange::new(addr(start), addr(end))
}

#[cfg(not(CONFIG_MODULES))]
fn in_module(_at: TextAddr, _entry: Option<TextAddr>) -> bool {
    false
}

/// Does the module whose text this is forbid it?
#[cfg(CONFIG_MODULES)]
fn in_module(at: TextAddr, entry: Option<TextAddr>) -> bool {
    let Ok(addr) = usize::try_from(at.get()) else {
        return false;
    };
    let _rcu = kernel::sync::rcu::read_lock();
    // SAFETY: RCU is read-locked, by the guard above.
    let module = unsafe { bindings::__module_text_address(addr) };
    if module.is_null() {
        return false;
    }
    // SAFETY: Not NULL, so it is a module, and RCU keeps it. The fields are written while it is
    // loaded, before it can be found by address.
    Parts::of(unsafe { &*module }).cover(at, entry)
}

/// What a module says nobody may probe.
struct Parts<'a> {
    sections: [Option<TextRange>; 2],
    named: &'a [usize],
}

impl<'a> Parts<'a> {
    #[cfg(CONFIG_MODULES)]
    fn of(module: &'a bindings::module) -> Self {
        let section = |start: *mut c_void, len: c_uint| {
            let start = TextAddr::new(start.addr() as u64);
            TextRange::with_len(start, len.into())
                .ok()
                .filter(|_| len != 0)
        };
        let (table, count) = (module.kprobe_blacklist, module.num_kprobe_blacklist);
        let named: &[usize] = if table.is_null() {
            &[]
        } else {
            // SAFETY: The loader found `count` addresses there; they are part of the module.
            unsafe { core::slice::from_raw_parts(table, count as usize) }
        };
        Self {
            sections: [
                section(module.kprobes_text_start, module.kprobes_text_size),
                section(module.noinstr_text_start, module.noinstr_text_size),
            ],
            named,
        }
    }

    #[cfg(not(CONFIG_MODULES))]
    fn of(_module: &'a bindings::module) -> Self {
        Self {
            sections: [None, None],
            named: &[],
        }
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.sections.iter().flatten().next().is_none()
    }

    /// Is the address, in the function at `entry`, one of them?
    fn cover(&self, at: TextAddr, entry: Option<TextAddr>) -> bool {
        let named = |entry: TextAddr| self.named.iter().any(|&addr| addr as u64 == entry.get());
        let mut sections = self.sections.iter().flatten();
        sections.any(|section| section.contains(at)) || entry.is_some_and(named)
    }

    fn each(&self, each: &mut dyn FnMut(TextAddr, TextAddr)) {
        for &entry in self.named {
            each_at(TextAddr::new(entry as u64), each);
        }
        for section in self.sections.iter().flatten() {
            each_in(section, each);
        }
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
        let here = in_kernel_section as fn(TextAddr) -> bool;
        assert!(covers(TextAddr::new(here as usize as u64), None));
    }

    #[test]
    fn what_c_names_is_covered() {
        assert_eq!(covers_inside(c"notify_die"), Some(true));
        assert_eq!(covers_inside(c"search_extable"), Some(false));
    }

    #[test]
    fn noinstr_is_covered() {
        assert_eq!(covers_inside(c"irqentry_enter"), Some(true));
    }

    #[test]
    fn other_text_is_free() {
        assert_eq!(covers_inside(c"kernel_clone"), Some(false));
        assert!(!covers(TextAddr::new(16), None));
    }
}
