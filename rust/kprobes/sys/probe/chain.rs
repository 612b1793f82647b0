// SPDX-License-Identifier: GPL-2.0

//! The probes at one address, newest first.
//!
//! Mostly there is one, and it wants to be called before the instruction, no more. A hit need not
//! walk the chain to know: whoever changes the chain, or whether one of its probes is to be called,
//! notes it beside. What a hit reads of both it reads once, and acts on that.
//!
//! What is noted is one word, a [`Brief`]: the only probe, if it is enabled and a plain one, and
//! what it wants; the newest of several, if all are enabled and plain and want to be called before
//! the instruction only; or that the chain has to be walked. Who walks from that newest one need
//! not ask them. Those that come later are newer, so he does not meet them, save one: the oldest
//! of all may come last ([`push_oldest`](Chain::push_oldest)), and must not mind being called.
//!
//! Whatever leads to a probe is stored with a release, also where it led to an older one already:
//! a hit may see nothing but the latest store. And what leads to a probe that is older is an
//! address that one of the loads has given.
//!
//! A brief is the address of a probe, of which the lowest bits tell what is said of it; the bits
//! alone say that the chain has to be walked.

use super::{
    Flag,
    Probe, //
};
use crate::atomics::{
    AtomicBool,
    AtomicPtr,
    Ordering, //
};

/// What leads to a probe.
///
/// # Invariants
///
/// In a chain, and in a probe that one leads to: NULL, or a probe that is registered, and stays
/// until a grace period after nothing leads to it any more.
#[repr(transparent)]
pub(crate) struct Link(AtomicPtr<Probe>);

impl Link {
    /// A link to no probe.
    pub(super) const fn empty() -> Self {
        // INVARIANT: It is NULL.
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Makes it, in a probe that no chain leads to, what C calls an empty list: one that leads to
    /// itself.
    pub(super) fn lead_to_itself(&self) {
        self.0.store(self.address(), Ordering::Relaxed);
    }

    /// Where it is, as C has it in a list.
    pub(super) fn address(&self) -> *mut Probe {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// The pointer, which may be NULL. One load.
    #[inline(always)]
    fn load(&self, order: Ordering) -> *mut Probe {
        self.0.load(order)
    }

    /// The probe that it leads to. One load.
    #[inline(always)]
    fn to(&self, order: Ordering) -> Option<&Probe> {
        // SAFETY: By the invariant, NULL, or it stays while whoever may look at the chain does.
        unsafe { self.load(order).as_ref() }
    }

    /// Makes it lead elsewhere. One store.
    #[inline(always)]
    fn lead(&self, to: Option<&Probe>, order: Ordering) {
        let to = to.map_or(core::ptr::null_mut(), |to| {
            core::ptr::from_ref(to).cast_mut()
        });
        // INVARIANT: The chain says so.
        self.0.store(to, order);
    }
}

/// What is noted of a chain for hits. All probes in it are enabled, and plain.
#[derive(Clone, Copy)]
pub(crate) enum Brief<'a> {
    /// The only probe, which wants to be called before the instruction, no more.
    Lone(&'a Probe),
    /// The only probe, which wants to be called after the instruction, too.
    LoneAround(&'a Probe),
    /// The newest of several, which all want to be called before the instruction, no more.
    Several(&'a Probe),
    /// Each of the probes has to be asked.
    Walk,
}

/// The bits of a noted probe that tell which [`Brief`] it is; its own address does not have them.
const WHICH: usize = 3;
const LONE: usize = 0;
const LONE_AROUND: usize = 1;
const SEVERAL: usize = 2;
const _: () = assert!(align_of::<Probe>() > WHICH);

/// The chain has to be walked.
const WALK: *mut Probe = core::ptr::without_provenance_mut(WHICH);

impl Brief<'_> {
    fn to_word(self) -> *mut Probe {
        let noted = |probe, which| {
            core::ptr::from_ref::<Probe>(probe)
                .cast_mut()
                .wrapping_byte_add(which)
        };
        match self {
            Self::Lone(probe) => noted(probe, LONE),
            Self::LoneAround(probe) => noted(probe, LONE_AROUND),
            Self::Several(probe) => noted(probe, SEVERAL),
            Self::Walk => WALK,
        }
    }
}

/// No probe.
pub(crate) static NOBODY: Chain = Chain {
    newest: Link::empty(),
    brief: AtomicPtr::new(WALK),
    has_post_handler: AtomicBool::new(false),
};

/// Are the handlers of a probe to be called, and is there nothing to be noted before?
fn is_plain(probe: &Probe) -> bool {
    probe.is_enabled() && !probe.handles_faults() && !probe.is_jprobe()
}

/// The probes at one address, newest first. Only one may change it at a time.
///
/// # Invariants
///
/// What it leads to is registered: it stays until it has been taken out and a grace period is over.
/// `brief` is [`WALK`], or such a probe plus what says which [`Brief`] it is.
pub(crate) struct Chain {
    newest: Link,
    /// See [`brief`](Chain::brief).
    brief: AtomicPtr<Probe>,
    /// See [`has_post_handler`](Chain::has_post_handler).
    has_post_handler: AtomicBool,
}

impl Chain {
    /// A chain of one probe.
    pub(crate) fn of(probe: &'static Probe) -> Self {
        // INVARIANT: `'static` says so.
        let chain = Self {
            newest: Link::empty(),
            brief: AtomicPtr::new(WALK),
            has_post_handler: AtomicBool::new(false),
        };
        chain.push(probe);
        chain
    }

    /// Puts a probe before all others. That it stays as long as the invariant wants is what
    /// `'static` stands for.
    pub(crate) fn push(&self, probe: &'static Probe) {
        // Nobody finds it yet, so this needs no order.
        probe
            .older
            .lead(self.newest.to(Ordering::Relaxed), Ordering::Relaxed);
        self.will_come_back(probe.has_post_handler());
        // INVARIANT: `'static` says so.
        self.newest.lead(Some(probe), Ordering::Release);
        self.note();
    }

    /// Puts a probe behind all others, as the oldest one. As for [`push`](Chain::push).
    pub(crate) fn push_oldest(&self, probe: &'static Probe) {
        probe.older.lead(None, Ordering::Relaxed);
        self.will_come_back(probe.has_post_handler());
        // INVARIANT: `'static` says so.
        let link = self.iter().last().map_or(&self.newest, |last| &last.older);
        link.lead(Some(probe), Ordering::Release);
        self.note();
    }

    /// Takes a probe out; who is at it still finds the older ones.
    pub(crate) fn remove(&self, probe: &Probe) {
        let mut link = &self.newest;
        for one in self.iter() {
            if core::ptr::eq(one, probe) {
                link.lead(one.older.to(Ordering::Relaxed), Ordering::Release);
                return self.note();
            }
            link = &one.older;
        }
    }

    /// Takes over all probes of another chain, as older ones, into a chain that has one.
    pub(crate) fn append(&self, other: &Self) {
        if let Some(probe) = self.iter().next() {
            self.will_come_back(other.has_post_handler());
            let older = other.newest.to(Ordering::Relaxed);
            probe.older.lead(older, Ordering::Release);
            self.note();
        }
    }

    /// Says of one of the probes what changes whether its handlers are called.
    pub(crate) fn mark(&self, probe: &Probe, flag: Flag, on: bool) {
        probe.set(flag, on);
        self.note();
    }

    /// Is there no probe?
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.to(Ordering::Relaxed).is_none()
    }

    /// Is this one of the probes?
    pub(crate) fn has(&self, probe: &Probe) -> bool {
        self.iter().any(|one| core::ptr::eq(one, probe))
    }

    /// Does any probe want to be called after the instruction? Who has seen one that does is told
    /// so, until that one is taken out.
    #[inline(always)]
    pub(crate) fn has_post_handler(&self) -> bool {
        // Who has seen a probe has, by the acquire that led to it, seen what was noted before.
        self.has_post_handler.load(Ordering::Relaxed)
    }

    /// What is noted for hits. To be used in an RCU read-side section.
    #[inline(always)]
    pub(crate) fn brief(&self) -> Brief<'_> {
        let noted = self.brief.load(Ordering::Acquire);
        let which = noted.addr() & WHICH;
        if which == LONE {
            // SAFETY: By the invariant, a probe that was in the chain, and so stays while who may
            // look at the chain does.
            return Brief::Lone(unsafe { &*noted });
        }
        let probe = noted.map_addr(|addr| addr & !WHICH);
        // SAFETY: The same, or NULL.
        match unsafe { probe.as_ref() } {
            Some(probe) if which == LONE_AROUND => Brief::LoneAround(probe),
            Some(probe) => Brief::Several(probe),
            None => Brief::Walk,
        }
    }

    /// The probe, if it is the only one, enabled, and plain. To be used in an RCU read-side
    /// section.
    #[inline(always)]
    pub(crate) fn lone(&self) -> Option<&Probe> {
        let noted = self.brief.load(Ordering::Acquire);
        let probe = noted.map_addr(|addr| addr & !LONE_AROUND);
        // SAFETY: As for `brief`.
        (noted.addr() & SEVERAL == 0).then(|| unsafe { &*probe })
    }

    /// The same, if besides it does not want to be called after the instruction.
    #[inline(always)]
    pub(crate) fn lone_before(&self) -> Option<&Probe> {
        match self.brief() {
            Brief::Lone(probe) => Some(probe),
            Brief::LoneAround(_) | Brief::Several(_) | Brief::Walk => None,
        }
    }

    /// The probes. To be used in an RCU read-side section, or by who may change the chain.
    #[inline(always)]
    pub(crate) fn iter(&self) -> List<'_> {
        List {
            next: self.newest.to(Ordering::Acquire),
        }
    }

    /// Notes, before it can be found, what a probe wants after the instruction. The release that
    /// makes it be found is what orders this.
    fn will_come_back(&self, has_post_handler: bool) {
        if has_post_handler {
            self.has_post_handler.store(true, Ordering::Relaxed);
        }
    }

    /// Notes what a hit means.
    fn note(&self) {
        let has_post_handler = self.iter().any(Probe::has_post_handler);
        self.has_post_handler
            .store(has_post_handler, Ordering::Relaxed);
        let plain = self.iter().all(is_plain);
        let mut probes = self.iter();
        let (newest, other) = (probes.next().filter(|_| plain), probes.next());
        let brief = match (newest, other) {
            (Some(lone), None) if has_post_handler => Brief::LoneAround(lone),
            (Some(lone), None) => Brief::Lone(lone),
            (Some(newest), Some(_)) if !has_post_handler => Brief::Several(newest),
            _ => Brief::Walk,
        };
        // INVARIANT: The probe is in the chain.
        self.brief.store(brief.to_word(), Ordering::Release);
    }
}

/// Probes of a chain, from one of them on.
pub(crate) struct List<'a> {
    next: Option<&'a Probe>,
}

impl<'a> List<'a> {
    /// This one, and those that are older.
    #[inline(always)]
    pub(crate) fn from(probe: &'a Probe) -> Self {
        Self { next: Some(probe) }
    }
}

impl<'a> Iterator for List<'a> {
    type Item = &'a Probe;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a Probe> {
        let probe = self.next?;
        self.next = probe.older.to(Ordering::Acquire);
        Some(probe)
    }

    /// As the provided method, but with one branch for each probe at any level of optimization.
    #[inline(always)]
    fn for_each<F: FnMut(&'a Probe)>(self, mut f: F) {
        let Some(mut probe) = self.next else { return };
        loop {
            // A pointer until `f` has returned: rustc compiles `f` twice if an `Option` is known
            // before it, once for the last probe, and the loop has one instruction more.
            let older = probe.older.load(Ordering::Acquire);
            f(probe);
            // SAFETY: As for `Link::to`: the section in which it was read is not over.
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

    /// What a chain says of hits: the lone probe, if there is one, by address; and whether that is
    /// enough to know before the instruction.
    fn lone(chain: &Chain) -> (Option<usize>, bool) {
        (chain.lone().and_then(is), chain.lone_before().is_some())
    }

    fn is(probe: &Probe) -> Option<usize> {
        Some(core::ptr::from_ref(probe).addr())
    }

    #[test]
    fn lone_probe_is_noted_with_what_it_wants() {
        with_probes(|before, around| {
            assert_eq!(lone(&Chain::of(before)), (is(before), true));
            let chain = Chain::of(around);
            assert_eq!(lone(&chain), (is(around), false));
            assert!(chain.has_post_handler());
        });
    }

    #[test]
    fn several_probes_are_walked() {
        with_probes(|before, around| {
            let chain = Chain::of(before);
            chain.push(around);
            assert_eq!(lone(&chain), (None, false));
            assert!(chain.has_post_handler());
            let all = chain.iter().map(is);
            assert!(all.eq([is(around), is(before)]));
            chain.remove(around);
            assert_eq!(lone(&chain), (is(before), true));
            assert!(!chain.has_post_handler());
            chain.remove(before);
            assert_eq!(lone(&chain), (None, false));
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
    fn probe_that_handles_faults_is_not_lone() {
        with_probes(|before, _| {
            before.fault_handler.set(Some(fault));
            let chain = Chain::of(before);
            assert_eq!(lone(&chain), (None, false));
            let all = chain.iter().map(is);
            assert!(all.eq([is(before)]));
        });
    }

    #[test]
    fn probe_that_is_not_to_be_called_is_not_lone() {
        with_probes(|before, around| {
            let chain = Chain::of(before);
            for flag in [Flag::Disabled, Flag::Gone] {
                chain.mark(before, flag, true);
                assert_eq!(lone(&chain), (None, false));
                chain.mark(before, flag, false);
                assert_eq!(lone(&chain), (is(before), true));
            }
            // It comes back into a chain that has none.
            let other = Chain::of(around);
            other.append(&chain);
            assert_eq!(lone(&other), (None, false));
            assert!(other.has(before));
        });
    }
}
