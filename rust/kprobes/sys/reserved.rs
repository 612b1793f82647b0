// SPDX-License-Identifier: GPL-2.0

//! Text that others change, or whose address means something to them: jump labels, static calls,
//! and the instructions that BUG() and WARN() trap on.
//!
//! The kernel keeps all three in tables that are not in the order of addresses, thousands of
//! entries long. Walking them for each probe is most of what registering one costs in C. So the
//! first registration puts what the kernel's own tables say into one index, ordered by address,
//! four bytes an entry; they do not change after boot. What a module's say is put into one when it
//! is first asked for, and kept until a module comes, is there, or goes: while a module is coming
//! the kernel puts them in order, and it forgets some of them after.
//!
//! Where such an entry is an instruction starts, so the index also tells where decoding may begin.
//! For that it has the instructions, too, that exception tables expect to fault.
//!
//! Not for the hit path.

use crate::{
    model::{
        addr::{
            TextAddr,
            TextRange, //
        },
        landing::Kind,
        not_optimized::NotOptimized,
        refusal::Refusal,
        span_index::{
            self,
            Said,
            Span, //
        }, //
    },
    sys::{
        modules::{
            Kept,
            Pin, //
        },
        sort, //
    },
};
use kernel::{
    bindings,
    prelude::*, //
};

/// Length of the call or jump of a static call, and of what takes its place.
#[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
const STATIC_CALL_LEN: u64 = bindings::JMP32_INSN_SIZE as u64;

/// Where others' text is in the kernel proper, or in a part of a module.
pub(crate) struct Index {
    /// The text that it is about.
    of: TextRange,
    spans: KVVec<Span>,
}

impl Index {
    /// Reads the kernel's own tables.
    pub(crate) fn read() -> Result<Self, Refusal> {
        let start = TextAddr::new((&raw const bindings::_stext).addr() as u64);
        // What is too far from there is not text.
        let of = TextRange::with_len(start, span_index::REACH)?;
        Self::of(&Tables::of_the_kernel(), of)
    }

    /// Says no if `at` belongs to somebody else. Else, where an instruction is known to start that
    /// is not behind it.
    pub(crate) fn check(&self, at: TextAddr) -> Result<Option<TextAddr>, Refusal> {
        match span_index::ask(&self.spans, self.of.start(), at) {
            Said::Covered => Err(Refusal::Reserved),
            Said::After(start) => Ok(start),
        }
    }

    fn of(tables: &Tables, of: TextRange) -> Result<Self, Refusal> {
        let _jump_labels = JumpLabelLock::new();
        let mut spans = KVVec::new();
        tables.each(&mut |at, len| {
            let span = span_index::span(of.start(), at, len);
            match span.filter(|_| of.contains(at)) {
                Some(span) => spans.push(span, GFP_KERNEL).map_err(|_| Refusal::NoMemory),
                None => Ok(()),
            }
        })?;
        sort::ascending(&mut spans);
        Ok(Self { of, spans })
    }
}

/// The indices of the parts of modules that were asked for of late.
pub(crate) type Modules = Kept<Index>;

impl Modules {
    /// That of the part of a module that an address is in.
    pub(crate) fn index(&mut self, module: &Pin, at: TextAddr) -> Result<&Index, Refusal> {
        // Nobody says here that the registry was unlocked in between.
        self.begin_turn();
        self.of(module, at, Refusal::NotText, |part| {
            Index::of(&Tables::of(module), part)
        })
    }
}

/// The lock under which jump labels are put in order, and change.
pub(super) struct JumpLabelLock;

impl JumpLabelLock {
    pub(super) fn new() -> Self {
        // SAFETY: The caller may sleep, as registering says.
        unsafe { bindings::rust_kprobes_jump_label_lock() };
        Self
    }
}

impl Drop for JumpLabelLock {
    fn drop(&mut self) {
        // SAFETY: `new` has locked it.
        unsafe { bindings::rust_kprobes_jump_label_unlock() };
    }
}

/// A table of C's: its first entry and what is behind its last one.
struct Bounds<T>(*mut T, *mut T);

/// The tables of the kernel, or of a module.
///
/// # Invariants
///
/// Each is empty or stays as long as this value.
pub(super) struct Tables {
    fixups: Bounds<bindings::exception_table_entry>,
    /// Is the text that was for the beginning no more?
    #[cfg_attr(not(CONFIG_JUMP_LABEL), expect(dead_code))]
    init_gone: bool,
    #[cfg(CONFIG_JUMP_LABEL)]
    jump_labels: Bounds<bindings::jump_entry>,
    #[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
    static_calls: Bounds<bindings::static_call_site>,
    #[cfg(CONFIG_GENERIC_BUG)]
    bugs: Bounds<bindings::bug_entry>,
}

impl Tables {
    pub(super) fn of_the_kernel() -> Self {
        macro_rules! bounds {
            ($start:ident, $stop:ident) => {
                Bounds(
                    (&raw mut bindings::$start).cast(),
                    (&raw mut bindings::$stop).cast(),
                )
            };
        }
        // SAFETY: Only looks at what the kernel is at.
        let init_gone = unsafe { bindings::rust_kprobes_init_text_gone() };
        // INVARIANT: The linker puts them between these symbols, in memory that stays.
        Self {
            fixups: bounds!(__start___ex_table, __stop___ex_table),
            init_gone,
            #[cfg(CONFIG_JUMP_LABEL)]
            jump_labels: bounds!(__start___jump_table, __stop___jump_table),
            #[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
            static_calls: bounds!(__start_static_call_sites, __stop_static_call_sites),
            #[cfg(CONFIG_GENERIC_BUG)]
            bugs: bounds!(__start___bug_table, __stop___bug_table),
        }
    }

    pub(super) fn of(module: &Pin) -> Self {
        macro_rules! bounds {
            ($first:ident, $count:ident) => {{
                let (first, count) = module.read(|module| (module.$first, module.$count as usize));
                Bounds(first, first.wrapping_add(count))
            }};
        }
        let [first, end] = module.fixups();
        // INVARIANT: They are in the module, which is pinned. What the exception table loses at
        // both ends when the module is there stays in memory.
        Self {
            fixups: Bounds(first, end),
            init_gone: !module.is_coming(),
            #[cfg(CONFIG_JUMP_LABEL)]
            jump_labels: bounds!(jump_entries, num_jump_entries),
            #[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
            static_calls: bounds!(static_call_sites, num_static_call_sites),
            #[cfg(CONFIG_GENERIC_BUG)]
            bugs: bounds!(bug_table, num_bugs),
        }
    }

    /// Tells `found` of each entry: where it is, and how long.
    pub(super) fn each(
        &self,
        found: &mut dyn FnMut(TextAddr, u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let kinds = [Self::fixup, Self::jump_label, Self::static_call, Self::bug];
        for kind in kinds {
            let mut number = 0;
            while let Some((at, len)) = kind(self, number) {
                found(at, len)?;
                number += 1;
            }
        }
        Ok(())
    }

    /// Tells `found` of each address that an entry leads to, and by what.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(super) fn each_landing(
        &self,
        found: &mut dyn FnMut(TextAddr, Kind) -> Result<(), NotOptimized>,
    ) -> Result<(), NotOptimized> {
        let mut tell = |leads: fn(&Self, usize) -> Option<(TextAddr, u64)>, kind| {
            let mut number = 0;
            while let Some((to, _)) = leads(self, number) {
                found(to, kind)?;
                number += 1;
            }
            Ok(())
        };
        tell(Self::fixup_leads, Kind::Fixup)?;
        tell(Self::jump_label_leads, Kind::Label)
    }

    fn fixup_leads(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.fixups;
        // SAFETY: The bounds of a table that is there, by the invariant.
        let to = unsafe { bindings::rust_kprobes_fixup_leads(first, end, number) };
        entry(to, 0)
    }

    #[cfg(CONFIG_JUMP_LABEL)]
    fn jump_label_leads(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.jump_labels;
        // SAFETY: The bounds of a table that is there, by the invariant.
        let to = unsafe { bindings::rust_kprobes_jump_label_leads(first, end, number) };
        entry(to, 0)
    }

    fn fixup(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.fixups;
        // SAFETY: The bounds of a table that is there, by the invariant.
        let at = unsafe { bindings::rust_kprobes_fixup(first, end, number) };
        entry(at, 0)
    }

    #[cfg(CONFIG_JUMP_LABEL)]
    fn jump_label(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.jump_labels;
        let (gone, mut len) = (self.init_gone, 0);
        // SAFETY: The bounds of a table that is there, by the invariant.
        let at = unsafe { bindings::rust_kprobes_jump_label(first, end, number, gone, &mut len) };
        entry(at, len as u64)
    }

    #[cfg(CONFIG_HAVE_STATIC_CALL_INLINE)]
    fn static_call(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.static_calls;
        // SAFETY: The bounds of a table that is there, by the invariant.
        let at = unsafe { bindings::rust_kprobes_static_call(first, end, number) };
        entry(at, STATIC_CALL_LEN)
    }

    #[cfg(CONFIG_GENERIC_BUG)]
    fn bug(&self, number: usize) -> Option<(TextAddr, u64)> {
        let Bounds(first, end) = self.bugs;
        // SAFETY: The bounds of a table that is there, by the invariant.
        let at = unsafe { bindings::rust_kprobes_bug(first, end, number) };
        entry(at, 1)
    }

    #[cfg(not(CONFIG_JUMP_LABEL))]
    fn jump_label_leads(&self, _number: usize) -> Option<(TextAddr, u64)> {
        None
    }

    #[cfg(not(CONFIG_JUMP_LABEL))]
    fn jump_label(&self, _number: usize) -> Option<(TextAddr, u64)> {
        None
    }

    #[cfg(not(CONFIG_HAVE_STATIC_CALL_INLINE))]
    fn static_call(&self, _number: usize) -> Option<(TextAddr, u64)> {
        None
    }

    #[cfg(not(CONFIG_GENERIC_BUG))]
    fn bug(&self, _number: usize) -> Option<(TextAddr, u64)> {
        None
    }
}

fn entry(at: *const c_void, len: u64) -> Option<(TextAddr, u64)> {
    (!at.is_null()).then(|| (TextAddr::new(at.addr() as u64), len))
}
