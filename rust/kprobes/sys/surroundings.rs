// SPDX-License-Identifier: GPL-2.0

//! What the kernel's tables say of the text around a jump.
//!
//! Where jump labels and exceptions lead, and the few places where a branch of one function leads
//! into another, are put into one list, ordered by address, four bytes each; so are the places that
//! others change. For the branches all text has to be decoded. So for the kernel proper that is
//! done once, when somebody first asks. Nothing in it changes later: alternatives are chosen at
//! boot, jump labels lead to where they lead. A module's text is looked at by each who has probes
//! in it. What is for the kernel's beginning alone is in neither: it stays for so short that no
//! jump is worth looking for.
//!
//! Each piece of text, from one symbol to the next, and what is before the first, is read while
//! nobody changes text: an instruction of which a part has been written is none. What still cannot
//! be decoded has something else in it, data between functions, say, and where instructions start
//! there nobody knows. So one may start at each byte, which tells of some branches that there are
//! not, and of all that there are. If text cannot be read at all, nothing is known, and there is no
//! list.
//!
//! Not for the hit path.

use super::{
    blacklist,
    modules::{
        Kept,
        Loaded,
        Owner, //
    },
    reserved,
    sort,
    symbols::each,
    text, //
};
use crate::model::{
    addr::{
        TextAddr,
        TextRange, //
    },
    landing::{
        self,
        Kind,
        Landing, //
    },
    not_optimized::{
        NotOptimized,
        Reason, //
    },
    span_index::{
        self,
        Span, //
    },
    surroundings::Surroundings,
    symbol::Family, //
};
use kernel::{
    bindings,
    prelude::*,
    sync::SetOnce, //
};

/// Tells where the branches of a piece of an image lead that leave it, while nobody changes text.
/// Returns whether one may lead anywhere in the function that the piece is of, or was split from.
pub(crate) type Leaving<'a> =
    &'a mut dyn FnMut([TextRange; 2], Found<'_>, &mut text::Lock) -> Result<bool, NotOptimized>;

/// Is told of each.
pub(crate) type Found<'a> = &'a mut dyn FnMut(TextAddr) -> Result<(), NotOptimized>;

/// What is known of the kernel proper.
static KERNEL: SetOnce<Lists> = SetOnce::new();

/// What the tables say of the kernel proper, or of a part of a module.
struct Lists {
    of: TextRange,
    landings: KVVec<Landing>,
    owned: KVVec<Span>,
    /// The families in which a jump may lead anywhere, in order.
    jumping: KVVec<Family>,
}

/// Where a symbol is, and the family of its name.
type Symbol = (Landing, Family);

/// What is known of modules.
pub(crate) struct Modules(Kept<Lists>);

/// What the tables say of the text around an address.
pub(crate) struct Tables<'a>(&'a Lists);

impl Modules {
    /// Nothing.
    pub(crate) const NONE: Self = Self(Kept::NONE);

    /// Were the tables around an address read before?
    pub(crate) fn have(&self, owner: &Owner, at: TextAddr) -> bool {
        match owner {
            Owner::Kernel => KERNEL.as_ref().is_some(),
            Owner::Module(_) => self.0.has(at),
        }
    }

    /// The tables around an address in text of `owner`. If nobody has read them, the text is read
    /// by `leaving`; the caller does not hold its lock, as that of jump labels comes before it.
    pub(crate) fn tables(
        &mut self,
        owner: &Owner,
        at: TextAddr,
        leaving: Leaving<'_>,
    ) -> Result<Tables<'_>, NotOptimized> {
        match owner {
            // What is kept of the kernel proper would say that nothing leads there.
            Owner::Kernel if blacklist::init_text().contains(at) => {
                Err(NotOptimized::from(Reason::InitText))
            }
            Owner::Kernel => of_the_kernel(leaving),
            Owner::Module(module) => {
                let lists = self
                    .0
                    .of(module, at, NotOptimized::from(Reason::NoMemory), |part| {
                        let tables = reserved::Tables::of(module);
                        Lists::read(&tables, part, leaving, |found| each::of(module, found))
                    });
                lists.map(Tables)
            }
        }
    }

    /// The registry was unlocked since this was last asked: what is known of modules that were
    /// coming may not be true any more.
    pub(crate) fn begin_turn(&mut self) {
        self.0.begin_turn();
    }

    /// Nor may what is known of a module that comes, is there, or goes.
    pub(crate) fn forget(&mut self, module: Loaded) {
        self.0.forget(module);
    }
}

/// The kernel's own.
pub(crate) fn of_the_kernel(leaving: Leaving<'_>) -> Result<Tables<'static>, NotOptimized> {
    if KERNEL.as_ref().is_none() {
        let start = TextAddr::new((&raw const bindings::_stext).addr() as u64);
        let end = TextAddr::new((&raw const bindings::_etext).addr() as u64);
        let of = TextRange::new(start, end);
        let tables = reserved::Tables::of_the_kernel();
        let lists = Lists::read(&tables, of, leaving, |found| each::of_the_kernel(found))?;
        KERNEL.populate(lists);
    }
    KERNEL
        .as_ref()
        .map(Tables)
        .ok_or(NotOptimized::from(Reason::NoMemory))
}

impl Tables<'_> {
    fn landing(&self, within: TextRange, kind: Kind) -> Option<TextAddr> {
        landing::within(&self.0.landings, self.0.of.start(), within, kind)
    }
}

impl Surroundings for Tables<'_> {
    fn image(&self) -> TextRange {
        self.0.of
    }

    fn owner(&self, within: TextRange) -> Option<Reason> {
        let first = within.start().get() as usize;
        let last = (within.end().get() as usize).wrapping_sub(1);
        let at = |addr: usize| core::ptr::with_exposed_provenance_mut::<c_void>(addr);
        #[cfg(CONFIG_DYNAMIC_FTRACE)]
        // SAFETY: Only compares the addresses.
        if unsafe { bindings::ftrace_text_reserved(at(first), at(last)) } != 0 {
            return Some(Reason::OfFtrace);
        }
        let bytes = || (first..=last).map(|addr| TextAddr::new(addr as u64));
        if bytes().any(text::is_debugged) {
            return Some(Reason::OfDebugger);
        }
        let lists = self.0;
        let len = bytes().find_map(|at| span_index::len_at(&lists.owned, lists.of.start(), at))?;
        Some(match len {
            1 => Reason::OfBug,
            2 => Reason::OfJumpLabel,
            // SAFETY: Only compares the addresses.
            _ if unsafe { bindings::static_call_text_reserved(at(first), at(last)) } != 0 => {
                Reason::OfStaticCall
            }
            _ => Reason::OfJumpLabel,
        })
    }

    fn may_fault(&self, at: TextAddr) -> bool {
        text::has_fixup(at)
    }

    fn entered(&self, within: TextRange) -> Option<TextAddr> {
        self.landing(within, Kind::Branch)
    }

    fn label(&self, within: TextRange) -> Option<TextAddr> {
        self.landing(within, Kind::Label)
    }

    fn fixup(&self, within: TextRange) -> Option<TextAddr> {
        self.landing(within, Kind::Fixup)
    }

    fn jumps_in(&self, family: Family) -> bool {
        let mut from = family.leading_here();
        from.any(|one| self.0.jumping.binary_search(&one).is_ok())
    }

    fn is_call_check(&self, at: TextAddr) -> bool {
        text::is_cfi_trap(at)
    }
}

impl Lists {
    fn read(
        tables: &reserved::Tables,
        of: TextRange,
        leaving: Leaving<'_>,
        symbols: impl FnOnce(each::Found<'_>) -> Result<(), NotOptimized>,
    ) -> Result<Self, NotOptimized> {
        let (mut owned, mut starts) = (KVVec::new(), KVVec::new());
        symbols(&mut |at, family| match landing_in(of, at, Kind::Branch) {
            Some(start) => starts
                .push((start, family), GFP_KERNEL)
                .map_err(|_| NotOptimized::from(Reason::NoMemory)),
            None => Ok(()),
        })?;
        if !starts.is_sorted() {
            sort::ascending(&mut starts);
        }
        let (mut landings, jumping) = branches(of, &starts, leaving)?;
        let _jump_labels = reserved::JumpLabelLock::new();
        let found = tables.each(&mut |at, len| {
            let span = span_index::span(of.start(), at, len);
            match span.filter(|_| len != 0 && of.contains(at)) {
                Some(span) => owned
                    .push(span, GFP_KERNEL)
                    .map_err(|_| crate::model::refusal::Refusal::NoMemory),
                None => Ok(()),
            }
        });
        found.map_err(|_| Reason::NoMemory)?;
        tables.each_landing(&mut |to, kind| put(&mut landings, of, to, kind))?;
        sort::ascending(&mut owned);
        sort::ascending(&mut landings);
        Ok(Self {
            of,
            landings,
            owned,
            jumping,
        })
    }
}

fn put(
    list: &mut KVVec<Landing>,
    of: TextRange,
    to: TextAddr,
    kind: Kind,
) -> Result<(), NotOptimized> {
    match landing_in(of, to, kind) {
        Some(landing) => list
            .push(landing, GFP_KERNEL)
            .map_err(|_| NotOptimized::from(Reason::NoMemory)),
        None => Ok(()),
    }
}

fn landing_in(of: TextRange, to: TextAddr, kind: Kind) -> Option<Landing> {
    let landing = landing::landing(of.start(), to, kind);
    landing.filter(|_| of.contains(to))
}

/// Where branches lead that come from another function, and not to its start; and in which families
/// a jump may lead anywhere.
fn branches(
    of: TextRange,
    starts: &[Symbol],
    leaving: Leaving<'_>,
) -> Result<(KVVec<Landing>, KVVec<Family>), NotOptimized> {
    let (mut found, mut jumping) = (KVVec::new(), KVVec::new());
    for piece in landing::pieces(of, starts.iter().map(|&(at, _)| at)) {
        let tell = &mut |to| put(&mut found, of, to, Kind::Branch);
        if leaving([piece, of], tell, &mut text::Lock::new())? {
            note_names(of, starts, piece.start(), &mut jumping)?;
        }
        // SAFETY: The caller may sleep.
        unsafe { bindings::rust_kprobes_let_others_run() };
    }
    sort::ascending(&mut found);
    let mut kept = KVVec::new();
    let mut last = None;
    for &landing in found.iter() {
        if !is_start(starts, landing) && last != Some(landing) {
            let pushed = kept.push(landing, GFP_KERNEL);
            pushed.map_err(|_| Reason::NoMemory)?;
        }
        last = Some(landing);
    }
    Ok((kept, with_other_names(starts, &mut jumping)?))
}

/// Is there a symbol?
fn is_start(starts: &[Symbol], landing: Landing) -> bool {
    starts.binary_search_by_key(&landing, |&(at, _)| at).is_ok()
}

/// Notes the families of the names that there are for an address.
fn note_names(
    of: TextRange,
    starts: &[Symbol],
    at: TextAddr,
    families: &mut KVVec<Family>,
) -> Result<(), NotOptimized> {
    let Some(start) = landing_in(of, at, Kind::Branch) else {
        return Ok(());
    };
    let before = starts.partition_point(|&(at, _)| at < start);
    let names = starts.get(before..).unwrap_or_default().iter();
    let mut names = names.take_while(|&&(at, _)| at == start);
    names.try_for_each(|&(_, family)| put_family(families, family))
}

/// These families, in order, and where one of an address' names is that of parts that jump, those
/// of the others: parts have one of a function's names, and it may ask by another one.
fn with_other_names(
    starts: &[Symbol],
    families: &mut [Family],
) -> Result<KVVec<Family>, NotOptimized> {
    sort::ascending(families);
    let (mut all, mut rest) = (KVVec::new(), starts);
    for &family in families.iter() {
        put_family(&mut all, family)?;
    }
    if families.is_empty() {
        return Ok(all);
    }
    while let Some(&(start, _)) = rest.first() {
        let count = rest.iter().take_while(|&&(at, _)| at == start).count();
        let names = rest.get(..count).unwrap_or_default();
        let parts_jump = |&(_, family): &Symbol| families.binary_search(&family.of_parts()).is_ok();
        if count > 1 && names.iter().any(parts_jump) {
            for &(_, family) in names {
                put_family(&mut all, family.of_parts())?;
            }
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    sort::ascending(&mut all);
    Ok(all)
}

fn put_family(list: &mut KVVec<Family>, family: Family) -> Result<(), NotOptimized> {
    let pushed = list.push(family, GFP_KERNEL);
    pushed.map_err(|_| NotOptimized::from(Reason::NoMemory))
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
impl Tables<'_> {
    /// How many landings of a kind there are.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        let landings = self.0.landings.iter();
        landings.filter(|&&one| landing::is(one, kind)).count()
    }
}
