// SPDX-License-Identifier: GPL-2.0

//! The probes at one address, newest first.
//!
//! Most points have one probe, which has a pre handler and no other handler. A hit need not walk
//! the chain to know that: every change of the chain, and of whether a probe in it is enabled, also
//! writes one word beside it, a [`Summary`]. A hit that reads the summary twice may find two
//! different ones, and acts on the second.
//!
//! A probe is *simple* if it is enabled, has no fault handler and is no jprobe. The summary is one
//! of these:
//!
//! - the only probe, if it is simple, with a mark if it has a post handler;
//! - the newest of several probes, if all are simple and none has a post handler;
//! - a mark that the chain has to be walked.
//!
//! A hit that walks from the newest probe of the summary checks none of the probes. Probes that are
//! registered later are newer, so the walk does not reach them. The exception is a probe from
//! [`add_tail`](Chain::add_tail), which is the last one: it must tolerate being called.
//!
//! Each link that hits may load is stored with a release, also where an older probe takes the place
//! of a removed one: a hit may see only the latest store. A hit loads each link with an acquire.
//!
//! A summary is the address of a probe, with the kind of the summary in the lowest bits. The bits
//! alone, without an address, mean that the chain has to be walked.

use super::{
    Flag,
    Probe, //
};
use crate::atomics::{
    AtomicBool,
    AtomicPtr,
    Ordering, //
};

/// A link to a probe.
///
/// # Invariants
///
/// In a chain, and in a probe that a chain links to: NULL, or a probe that is registered, and stays
/// until a grace period after no link leads to it any more.
#[repr(transparent)]
pub(crate) struct Link(pub(super) AtomicPtr<Probe>);

impl Link {
    /// Returns a link to no probe.
    pub(super) const fn empty() -> Self {
        // INVARIANT: The link is NULL.
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Returns the pointer, which may be NULL, with one load.
    #[inline(always)]
    fn load(&self, order: Ordering) -> *mut Probe {
        self.0.load(order)
    }

    /// Returns the probe that the link leads to, with one load.
    #[inline(always)]
    fn to(&self, order: Ordering) -> Option<&Probe> {
        // SAFETY: By the invariant the link is NULL, or leads to a probe that stays as long as the
        // chain is borrowed.
        unsafe { self.load(order).as_ref() }
    }

    /// Changes the probe that the link leads to, with one store.
    #[inline(always)]
    fn lead(&self, to: Option<&Probe>, order: Ordering) {
        let to = to.map_or(core::ptr::null(), core::ptr::from_ref).cast_mut();
        // INVARIANT: The chain says that the probe is registered.
        self.0.store(to, order);
    }
}

/// The part of a chain that a hit reads with one load. All probes in it are simple.
#[derive(Clone, Copy)]
pub(crate) enum Summary<'a> {
    /// The only probe, without a post handler.
    SinglePreOnly(&'a Probe),
    /// The newest of several probes without post handlers.
    Several(&'a Probe),
    /// All others: each of the probes has to be checked.
    Walk,
}

/// The bits of a summary that are not part of the address of the probe.
const KIND_BITS: usize = SINGLE_WITH_POST | SEVERAL;
const SINGLE_WITH_POST: usize = 1;
const SEVERAL: usize = 2;
const _: () = assert!(align_of::<Probe>() > KIND_BITS);

/// The summary of a chain that has to be walked.
const WALK: *const Probe = core::ptr::without_provenance(KIND_BITS);

/// A chain without a probe.
pub(crate) static EMPTY_CHAIN: Chain = Chain::empty();

/// Returns whether a hit need not check the probe.
fn is_simple(probe: &Probe) -> bool {
    probe.is_enabled() && !probe.has_fault_handler() && !probe.is_jprobe()
}

/// The probes at one address, newest first. Only the owner of the registry's lock changes it.
///
/// A chain is borrowed from [`points::find`](crate::registry::points::find) in an RCU read-side
/// section, or from the registry under its lock, so a borrow ends with the section or the lock.
///
/// # Invariants
///
/// The probes that it leads to are registered: each stays until it has been removed and a grace
/// period is over. `summary` is [`WALK`], or the address of such a probe plus some
/// [`KIND_BITS`].
pub(crate) struct Chain {
    newest: Link,
    /// See [`summary`](Chain::summary).
    summary: AtomicPtr<Probe>,
    /// See [`has_post_or_jprobe`](Chain::has_post_or_jprobe).
    has_post_or_jprobe: AtomicBool,
}

impl Chain {
    const fn empty() -> Self {
        // INVARIANT: There are no probes.
        Self {
            newest: Link::empty(),
            summary: AtomicPtr::new(WALK.cast_mut()),
            has_post_or_jprobe: AtomicBool::new(false),
        }
    }

    /// Returns a chain of one probe. `'static` means that the probe stays as long as the chain's
    /// invariant says.
    pub(crate) fn of(probe: &'static Probe) -> Self {
        let chain = Self::empty();
        chain.push(probe);
        chain
    }

    /// Puts a probe before all others, as the newest one. `'static` is as for [`of`](Chain::of).
    pub(crate) fn push(&self, probe: &'static Probe) {
        // No hit finds the probe yet, so this store needs no order.
        let newest = self.newest.to(Ordering::Relaxed);
        probe.older.lead(newest, Ordering::Relaxed);
        self.insert(&self.newest, probe);
    }

    /// Puts a probe after all others. `'static` is as for [`of`](Chain::of).
    pub(crate) fn add_tail(&self, probe: &'static Probe) {
        probe.older.lead(None, Ordering::Relaxed);
        let link = self.iter().last().map_or(&self.newest, |last| &last.older);
        self.insert(link, probe);
    }

    fn insert(&self, link: &Link, probe: &'static Probe) {
        self.will_have_post_or_jprobe(probe.has_post_or_jprobe());
        // INVARIANT: `'static` says that the probe is registered.
        link.lead(Some(probe), Ordering::Release);
        self.update_summary();
    }

    /// Removes a probe. A hit that is at this probe still finds the older ones.
    pub(crate) fn remove(&self, probe: &Probe) {
        let mut link = &self.newest;
        for one in self.iter() {
            if core::ptr::eq(one, probe) {
                link.lead(one.older.to(Ordering::Relaxed), Ordering::Release);
                return self.update_summary();
            }
            link = &one.older;
        }
    }

    /// Takes over all probes of another chain, as older ones, into a chain of one probe.
    pub(crate) fn append(&self, other: &Self) {
        if let Some(probe) = self.iter().next() {
            self.will_have_post_or_jprobe(other.has_post_or_jprobe());
            let older = other.newest.to(Ordering::Relaxed);
            probe.older.lead(older, Ordering::Release);
            self.update_summary();
        }
    }

    /// Sets or clears a flag of one of the probes that changes whether its handlers are called.
    pub(crate) fn set_flag(&self, probe: &Probe, flag: Flag, on: bool) {
        probe.set(flag, on);
        self.update_summary();
    }

    /// Returns whether the chain has no probe.
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.to(Ordering::Relaxed).is_none()
    }

    /// Returns whether `probe` is in the chain.
    pub(crate) fn has(&self, probe: &Probe) -> bool {
        self.iter().any(|one| core::ptr::eq(one, probe))
    }

    /// Returns whether a probe has a post handler or is a jprobe. A hit that finds such a probe in
    /// the chain also gets `true` here, unless the probe is removed by then: its post handler is
    /// not called any more.
    #[inline(always)]
    pub(crate) fn has_post_or_jprobe(&self) -> bool {
        // `true` is stored before the probe is published, and the hit has found the probe by an
        // acquire load.
        self.has_post_or_jprobe.load(Ordering::Relaxed)
    }

    /// Returns the summary.
    #[inline(always)]
    pub(crate) fn summary(&self) -> Summary<'_> {
        let noted = self.summary.load(Ordering::Acquire);
        if noted.addr() & KIND_BITS == 0 {
            // SAFETY: By the invariant this is a probe that was in the chain, and stays as long as
            // the chain is borrowed.
            return Summary::SinglePreOnly(unsafe { &*noted });
        }
        if noted.addr() & SINGLE_WITH_POST != 0 {
            return Summary::Walk;
        }
        // SAFETY: The only bit is `SEVERAL`, so by the invariant this is such a probe, too.
        Summary::Several(unsafe { &*noted.wrapping_byte_sub(SEVERAL) })
    }

    /// Returns the only probe, with or without a post handler, if it is simple.
    #[inline(always)]
    pub(crate) fn single(&self) -> Option<&Probe> {
        let noted = self.summary.load(Ordering::Acquire);
        let probe = noted.map_addr(|addr| addr & !SINGLE_WITH_POST);
        // SAFETY: Without the bit `SEVERAL` the summary is not `WALK`. So by the invariant this is
        // a probe that was in the chain, and stays as long as the chain is borrowed.
        (noted.addr() & SEVERAL == 0).then(|| unsafe { &*probe })
    }

    /// Returns the probes, newest first.
    #[inline(always)]
    pub(crate) fn iter(&self) -> ChainIter<'_> {
        ChainIter(self.newest.to(Ordering::Acquire))
    }

    /// Stores, before hits can find the probe, that the chain has a post handler. The release store
    /// that publishes the probe orders this store.
    fn will_have_post_or_jprobe(&self, has_post_or_jprobe: bool) {
        if has_post_or_jprobe {
            self.has_post_or_jprobe.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the summary.
    fn update_summary(&self) {
        let has_post_or_jprobe = self.iter().any(Probe::has_post_or_jprobe);
        self.has_post_or_jprobe
            .store(has_post_or_jprobe, Ordering::Relaxed);
        let mut probes = self.iter();
        let (newest, several) = (probes.next(), probes.next().is_some());
        let kind =
            SINGLE_WITH_POST * usize::from(has_post_or_jprobe) + SEVERAL * usize::from(several);
        let newest = newest.filter(|_| kind != KIND_BITS && self.iter().all(is_simple));
        let noted = newest.map_or(WALK, |newest| {
            core::ptr::from_ref(newest).wrapping_byte_add(kind)
        });
        // INVARIANT: The probe is in the chain.
        self.summary.store(noted.cast_mut(), Ordering::Release);
    }
}

/// Probes of a chain, from one of them on.
pub(crate) struct ChainIter<'a>(Option<&'a Probe>);

impl<'a> ChainIter<'a> {
    /// Returns this probe and the older ones.
    #[inline(always)]
    pub(crate) fn from(probe: &'a Probe) -> Self {
        Self(Some(probe))
    }
}

impl<'a> Iterator for ChainIter<'a> {
    type Item = &'a Probe;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a Probe> {
        let probe = self.0?;
        self.0 = probe.older.to(Ordering::Acquire);
        Some(probe)
    }

    /// As the provided method, but with one branch for each probe at any level of optimization.
    #[inline(always)]
    fn for_each<F: FnMut(&'a Probe)>(self, mut f: F) {
        let Some(mut probe) = self.0 else { return };
        loop {
            // A pointer until `f` has returned: rustc compiles `f` twice if an `Option` is known
            // before it, once for the last probe, and the loop has one instruction more.
            let older = probe.older.load(Ordering::Acquire);
            f(probe);
            // SAFETY: As for `Link::to`: the chain is still borrowed.
            match unsafe { older.as_ref() } {
                Some(older) => probe = older,
                None => return,
            }
        }
    }
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_sys_chain)]
mod tests {
    use super::*;
    use kernel::{
        bindings,
        prelude::*, //
    };

    /// # Safety
    ///
    /// None is needed: it does nothing.
    unsafe extern "C" fn after(_: *mut bindings::kprobe, _: *mut bindings::pt_regs, _: c_ulong) {}

    /// Lends two probes, of which the second wants to be called after the instruction, to `test`.
    fn with_probes(test: impl FnOnce(&'static Probe, &'static Probe)) {
        let mut all = [bindings::kprobe::default(), bindings::kprobe::default()];
        all[1].post_handler = Some(after);
        let [before, around] = &mut all;
        let (before, around): (*mut _, *mut _) = (before, around);
        // SAFETY: They are laid out the same and stay until `test` returns, which keeps nothing.
        unsafe { test(&*before.cast::<Probe>(), &*around.cast::<Probe>()) }
    }

    /// What a chain says of hits: the single probe, if there is one, by address; and whether that
    /// is enough to know before the instruction.
    fn single(chain: &Chain) -> (Option<usize>, bool) {
        (
            chain.single().and_then(is),
            matches!(chain.summary(), Summary::SinglePreOnly(_)),
        )
    }

    fn is(probe: &Probe) -> Option<usize> {
        Some(core::ptr::from_ref(probe).addr())
    }

    #[test]
    fn lone_probe_is_noted_with_what_it_wants() {
        with_probes(|before, around| {
            assert_eq!(single(&Chain::of(before)), (is(before), true));
            let chain = Chain::of(around);
            assert_eq!(single(&chain), (is(around), false));
            assert!(chain.has_post_or_jprobe());
        });
    }

    #[test]
    fn several_probes_are_walked() {
        with_probes(|before, around| {
            let chain = Chain::of(before);
            chain.push(around);
            assert_eq!(single(&chain), (None, false));
            assert!(chain.has_post_or_jprobe());
            let all = chain.iter().map(is);
            assert!(all.eq([is(around), is(before)]));
            chain.remove(around);
            assert_eq!(single(&chain), (is(before), true));
            assert!(!chain.has_post_or_jprobe());
            chain.remove(before);
            assert_eq!(single(&chain), (None, false));
            assert!(chain.is_empty());
        });
    }

    /// # Safety
    ///
    /// None is needed: it does nothing.
    unsafe extern "C" fn fault(
        _: *mut bindings::kprobe,
        _: *mut bindings::pt_regs,
        _: c_int,
    ) -> c_int {
        0
    }

    #[test]
    fn probe_that_handles_faults_is_not_single() {
        with_probes(|before, _| {
            before.fault_handler.set(Some(fault));
            let chain = Chain::of(before);
            assert_eq!(single(&chain), (None, false));
            let all = chain.iter().map(is);
            assert!(all.eq([is(before)]));
        });
    }

    #[test]
    fn probe_that_is_not_to_be_called_is_not_single() {
        with_probes(|before, around| {
            let chain = Chain::of(before);
            for flag in [Flag::Disabled, Flag::Gone] {
                chain.set_flag(before, flag, true);
                assert_eq!(single(&chain), (None, false));
                chain.set_flag(before, flag, false);
                assert_eq!(single(&chain), (is(before), true));
            }
            // It comes back into a chain that has none.
            let other = Chain::of(around);
            other.append(&chain);
            assert_eq!(single(&other), (None, false));
            assert!(other.has(before));
        });
    }
}
