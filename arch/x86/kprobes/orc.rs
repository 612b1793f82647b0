// SPDX-License-Identifier: GPL-2.0

//! Starts of instructions, from the tables of the ORC unwinder.
//!
//! objtool writes an entry where the unwind state changes, one for every few instructions. Each
//! entry has the address of an instruction in the object file.
//!
//! The entries in alternatives cannot be used: they are the entries of all replacements together,
//! as offsets from the start of the original, and the running kernel has one of the replacements.
//! For instance, `pushf; pop %rax` may replace a call, with an entry after each byte. So
//! `read_tables()` notes the alternatives that have entries, before the list of alternatives is
//! freed with init memory. For objtool, other patched text (jump labels, static calls, calls of
//! thunks) is one instruction.
//!
//! The list of a module's alternatives is not kept, so its entries are not used.

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
use crate::sys::symbols;
use crate::{
    model::starts::{
        StartTable, //
        Stretch,
    },
    sys::{
        prelude::*,
        sort, //
    }, //
};
use kernel::sync::SetOnce;

/// The alternatives with entries after their first byte.
static ALTERNATIVES: SetOnce<KVec<Stretch>> = SetOnce::new();

/// Notes the alternatives. Called once, before init memory is freed.
pub(super) fn read_tables() -> Result<(), Refusal> {
    let table = table();
    let mut noted = KVec::new();
    let alternatives = (0..).map_while(alternative);
    for (start, end) in alternatives {
        let last = end.before(1).ok().and_then(|at| table.last(at, &[]));
        if last.is_some_and(|last| last > start) {
            noted.push((start, end), GFP_KERNEL)?;
        }
    }
    sort::ascending(&mut noted);
    ALTERNATIVES.populate(noted);
    Ok(())
}

/// Returns the last start of an instruction in the kernel proper that is not after `at`.
pub(super) fn last(at: TextAddr) -> Option<TextAddr> {
    table().last(at, ALTERNATIVES.as_ref()?)
}

fn table() -> StartTable<'static> {
    let start = (&raw const bindings::__start_orc_unwind_ip).cast::<c_int>();
    let end = (&raw const bindings::__stop_orc_unwind_ip).cast::<c_int>();
    let count = end.addr().saturating_sub(start.addr()) / size_of::<c_int>();
    // SAFETY: The linker puts the table between the two symbols, sorted, and no code changes it.
    let distances = unsafe { core::slice::from_raw_parts(start, count) };
    StartTable::new(TextAddr::new(start.addr() as u64), distances)
}

/// Returns the range of alternative number `number`, if there are so many.
fn alternative(number: usize) -> Option<Stretch> {
    let mut len = 0;
    // SAFETY: By the caller of `read_tables`, init memory, which has the entries, is not freed yet.
    let start = unsafe { bindings::rust_kprobes_alternative(number, &mut len) };
    let at = TextAddr::new(start.addr() as u64);
    let end = at.after(len as u64).ok()?;
    (!start.is_null()).then_some((at, end))
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_x86_starts)]
mod tests {
    use super::*;

    #[test]
    fn orc_gives_no_start_inside_alternatives() {
        let noted = ALTERNATIVES.as_ref();
        assert!(noted.is_some());
        for &(start, end) in noted.into_iter().flatten() {
            let told = end.before(1).ok().and_then(last);
            assert!(told.is_none_or(|told| told <= start));
        }
    }

    #[test]
    fn orc_gives_a_start_behind_the_first_one() {
        let function = symbols::lookup(c"kernel_clone").and_then(symbols::function);
        let told = function.and_then(|function| last(function.text.end()));
        assert!(told > function.map(|function| function.text.start()));
    }
}
