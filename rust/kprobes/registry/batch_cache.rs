// SPDX-License-Identifier: GPL-2.0

//! The cache of a batch: results of lookups and proofs, for its next probes.
//!
//! Looking up the function at an address is the largest part of the cost of registering a probe: in
//! a module, the kernel walks over all symbols. The probes of a batch are often neighbours. So the
//! cache keeps the last function, the addresses inside functions at which an instruction was proved
//! to start, and the function's branch targets, which jumps depend on.
//!
//! The cache is valid while the registry is locked: the notifier of a module's end waits for the
//! lock before the module's text is freed.

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use super::optimizer::LastTargets;
use super::prelude::*;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::sys::modules::Module;
use crate::sys::symbols::{
    self,
    Function, //
};
use kernel::prelude::*;

/// Results of lookups and proofs for one batch.
pub(crate) struct BatchCache {
    /// The function that was looked up last.
    function: Option<Function>,
    /// The addresses at which an instruction was proved to start, in order; `None` in place of an
    /// empty list, whose drop would call `krealloc()`.
    starts: Option<KVec<TextAddr>>,
    /// The branch targets of a function.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) targets: LastTargets,
    /// The module, or `None` for the kernel, whose text was searched for branches in vain, and why.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) search_failed: Option<(Option<Module>, NoJump)>,
}

impl BatchCache {
    /// Makes an empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            function: None,
            starts: None,
            #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
            targets: None,
            #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
            search_failed: None,
        }
    }

    /// Makes an empty cache with room for the proofs of `count` probes.
    pub(crate) fn with_room(count: usize) -> Result<Self, Refusal> {
        Ok(Self {
            starts: Some(KVec::with_capacity(count, GFP_KERNEL)?),
            ..Self::new()
        })
    }

    /// Returns the function around an address.
    pub(crate) fn function(&mut self, at: TextAddr) -> Result<Function, Refusal> {
        let same = self.function.filter(|function| function.text.contains(at));
        if same.is_none() {
            self.function = symbols::function(at);
        }
        self.function.ok_or(Refusal::OutOfText)
    }

    /// Notes that an instruction was proved to start at `at`.
    pub(crate) fn note_start(&mut self, at: TextAddr) {
        // If there is no room, the next proof only takes longer.
        if let Some(starts) = &mut self.starts {
            let index = starts.partition_point(|&other| other <= at);
            let _ = starts.insert_within_capacity(index, at);
        }
    }

    /// Returns the last address in `function`, at or before `at`, at which an instruction is known
    /// to start, or the first address of `function` if it may have data. `table` is the last such
    /// address in the kernel's tables.
    pub(crate) fn known_start(
        &self,
        function: &Function,
        table: Option<TextAddr>,
        at: TextAddr,
    ) -> TextAddr {
        let starts = self.starts.as_deref().unwrap_or_default();
        let index = starts.partition_point(|&other| other <= at);
        let proved = index.checked_sub(1).and_then(|last| starts.get(last));
        let known = [table, proved.copied()].into_iter().flatten();
        let known = known.filter(|_| !Arch::DATA_IN_TEXT);
        known.fold(function.text.start(), TextAddr::max)
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_batch_cache)]
mod tests {
    use super::*;
    use crate::{
        model::symbol::FunctionKind,
        text_metadata::{
            Image,
            Images, //
        }, //
    };

    /// How many starts of instructions were looked at.
    #[derive(Default)]
    struct Count {
        right: usize,
        wrong: usize,
        /// Those behind something that is no instruction.
        undecodable: usize,
    }

    /// The last start that the kernel's tables tell of, not behind `at`.
    fn table_start(image: &Image, at: TextAddr) -> Option<TextAddr> {
        let mut probe = at;
        loop {
            match image.start_unless_reserved(probe) {
                Ok(start) => return start,
                Err(_) => probe = probe.before(1).ok()?,
            }
        }
    }

    /// Decodes a function from its start on, past each start that is known. There may be probes.
    fn check_starts(
        points: &Points,
        function: &Function,
        image: &Image,
        count: &mut Count,
    ) -> Result<(), Refusal> {
        let mut read = |from: TextAddr, into: &mut [u8]| points.read_original_insn(from, into);
        let start = function.text.start();
        let mut starts = KVVec::new();
        let mut end = function.text.end();
        while let Some(one) = end.before(1).ok().and_then(|at| table_start(image, at)) {
            if one <= start {
                break;
            }
            starts.push(one, GFP_KERNEL)?;
            end = one;
        }
        let mut reached = start;
        for &one in starts.iter().rev() {
            match Arch::check_boundary(reached, one, &mut read) {
                Ok(()) => count.right += 1,
                Err(Refusal::NotABoundary) => {
                    pr_warn!("inside an instruction: {:x}\n", one.get());
                    count.wrong += 1;
                    continue;
                }
                Err(_) => count.undecodable += 1,
            }
            reached = one;
        }
        Ok(())
    }

    #[test]
    fn tables_agree_with_decoding_whole_functions() -> Result<(), Refusal> {
        let points = &Registry::lock().points;
        let mut count = Count::default();
        let mut at = symbols::lookup(c"_stext").ok_or(Refusal::UnknownSymbol)?;
        let mut images = Images::EMPTY;
        let image = images.image(None, at)?;
        let end = symbols::lookup(c"_etext").ok_or(Refusal::UnknownSymbol)?;
        while at < end {
            let function = symbols::function(at).ok_or(Refusal::OutOfText)?;
            // The jump in a trampoline stands where there were several instructions; no probe gets
            // there.
            if function.kind != FunctionKind::Trampoline {
                check_starts(points, &function, image, &mut count)?;
            }
            at = function.text.end();
        }
        pr_info!(
            "starts of instructions: {} right, {} wrong, {} undecodable\n",
            count.right,
            count.wrong,
            count.undecodable
        );
        assert_eq!(count.wrong, 0);
        assert!(count.undecodable * 1000 < count.right);
        Ok(())
    }

    #[test]
    fn nearest_known_start_is_used() -> Result<(), Refusal> {
        if Arch::DATA_IN_TEXT {
            return Ok(());
        }
        let mut cache = BatchCache::with_room(2)?;
        let start = symbols::lookup(c"kernel_clone").ok_or(Refusal::UnknownSymbol)?;
        let function = cache.function(start)?;
        assert_eq!(cache.known_start(&function, None, start), start);
        let last = function.text.end().before(1)?;
        assert_eq!(cache.known_start(&function, None, last), start);
        let (near, nearer) = (start.after(1)?, start.after(2)?);
        let known = |cache: &BatchCache, table| cache.known_start(&function, table, nearer);
        assert_eq!(known(&cache, Some(near)), near);
        cache.note_start(nearer);
        assert_eq!(known(&cache, Some(near)), nearer);
        cache.note_start(start);
        assert_eq!(known(&cache, Some(near)), nearer);
        assert_eq!(cache.known_start(&function, None, near), start);
        // A start in another function is ignored.
        assert_eq!(
            cache.known_start(&function, start.before(1).ok(), start),
            start
        );
        // There is no more room.
        cache.note_start(near);
        assert_eq!(cache.known_start(&function, None, near), start);
        Ok(())
    }

    #[test]
    fn function_is_found_from_any_address_inside() -> Result<(), Refusal> {
        let mut cache = BatchCache::new();
        let start = symbols::lookup(c"kernel_clone").ok_or(Refusal::UnknownSymbol)?;
        let first = cache.function(start)?;
        assert_eq!(cache.function(first.text.end().before(1)?), Ok(first));
        let next = cache.function(first.text.end())?;
        assert!(next.text.start() == first.text.end());
        assert_eq!(cache.function(start), Ok(first));
        assert_eq!(cache.function(TextAddr::new(16)), Err(Refusal::OutOfText));
        Ok(())
    }
}
