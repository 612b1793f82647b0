// SPDX-License-Identifier: GPL-2.0

//! Functions that nobody may probe: those that a probe's hit itself runs through.
//!
//! Three things make a function one of them: it lies in `.kprobes.text`, it lies in a noinstr
//! section, or C names it by `NOKPROBE_SYMBOL()`. The sections are compared by their bounds. The
//! names are entry addresses in a table; the kernel's own is in memory that is freed after boot, so
//! [`load`] copies it. A module's bounds and table are read where they are, in the module:
//! they hold from before its first instruction runs until it is gone, without a list that must
//! follow modules as they come and go.
//!
//! Not for the hit path: looking up a function walks kallsyms.
//!
//! C counterpart: `populate_kprobe_blacklist()` and `__within_kprobe_blacklist()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use crate::{
    model::{
        addr::{
            TextAddr,
            TextRange, //
        },
        refusal::Refusal, //
    },
    sys::symbols,
};
use kernel::{
    bindings,
    prelude::*,
    sync::SetOnce, //
};

/// The entries of the kernel's own functions that C names.
static NAMED: SetOnce<KVec<TextAddr>> = SetOnce::new();

/// Copies the kernel's own table. To be called once, before init memory is freed.
pub(crate) fn load() -> Result<(), Refusal> {
    let start = (&raw const bindings::__start_kprobe_blacklist).cast::<usize>();
    let end = (&raw const bindings::__stop_kprobe_blacklist).cast::<usize>();
    let count = end.addr().saturating_sub(start.addr()) / size_of::<usize>();
    // SAFETY: The linker puts the table of addresses between the two symbols, and init memory,
    // which it is in, is still there.
    let table = unsafe { core::slice::from_raw_parts(start, count) };

    let mut named = KVec::with_capacity(count, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    for &entry in table {
        let entry = TextAddr::new(entry as u64);
        named
            .push(entry, GFP_KERNEL)
            .map_err(|_| Refusal::NoMemory)?;
    }
    NAMED.populate(named);
    Ok(())
}

/// Tells `each` of the functions of the kernel proper: where they start and end.
pub(crate) fn each(areas: &[TextRange], each: &mut dyn FnMut(TextAddr, TextAddr)) {
    for &entry in NAMED.as_ref().into_iter().flatten() {
        if let Some(end) = symbols::len(entry).and_then(|len| entry.after(len).ok()) {
            each(entry, end);
        }
    }
    let sections = kernel_sections();
    for area in Iterator::chain(sections.iter(), areas) {
        each_in(area, each);
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

/// May nobody probe here?
pub(crate) fn covers(at: TextAddr) -> bool {
    if in_kernel_section(at) {
        return true;
    }
    let entry = symbols::function_around(at).map(|(entry, _)| entry);
    entry.is_some_and(is_named) || in_module(at, entry)
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
    NAMED.as_ref().is_some_and(|named| named.contains(&entry))
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
    let (kprobes, noinstr) = unsafe {
        (
            ((*module).kprobes_text_start, (*module).kprobes_text_size),
            ((*module).noinstr_text_start, (*module).noinstr_text_size),
        )
    };
    // SAFETY: As for the sections.
    let (table, count) = unsafe { ((*module).kprobe_blacklist, (*module).num_kprobe_blacklist) };

    let inside = |(start, len): (*mut c_void, c_uint)| {
        TextRange::with_len(TextAddr::new(start.addr() as u64), u64::from(len))
            .is_ok_and(|section| section.contains(at))
    };
    if inside(kprobes) || inside(noinstr) {
        return true;
    }
    if table.is_null() {
        return false;
    }
    // SAFETY: The loader found `count` addresses there; they are part of the module, which RCU
    // keeps.
    let named = unsafe { core::slice::from_raw_parts(table, count as usize) };
    entry.is_some_and(|entry| named.iter().any(|&addr| addr as u64 == entry.get()))
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_blacklist)]
mod tests {
    use super::*;

    fn covers_inside(name: &CStr) -> Option<bool> {
        symbols::lookup(name)?.after(1).ok().map(covers)
    }

    #[test]
    fn this_crate_is_covered() {
        assert_eq!(covers_inside(c"register_kprobe"), Some(true));
        assert_eq!(covers_inside(c"kprobe_busy_begin"), Some(true));
        let here = in_kernel_section as fn(TextAddr) -> bool;
        assert!(covers(TextAddr::new(here as usize as u64)));
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
        assert!(!covers(TextAddr::new(16)));
    }
}
