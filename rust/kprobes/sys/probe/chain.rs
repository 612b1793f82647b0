// SPDX-License-Identifier: GPL-2.0

//! The probes at one address, newest first.
//!
//! Mostly there is one, and it wants to be called before the instruction, no more. A hit need not
//! walk the chain to know: whoever changes the chain, or whether one of its probes is to be called,
//! notes it beside. What a hit reads of both it reads once, and acts on that.
//!
//! What is noted is one word: the address of the only probe, if it is enabled, of which the lowest
//! bit tells what it wants; that bit alone says that the chain has to be walked.

use super::{
    Flag,
    Probe, //
};
use core::{
    marker::PhantomData,
    sync::atomic::{
        AtomicBool,
        AtomicPtr,
        Ordering, //
    }, //
};

/// The probes at one address, newest first. Only one may change it at a time.
///
/// # Invariants
///
/// What it leads to is registered: it stays until it has been taken out and a grace period is over.
pub(crate) struct Chain {
    newest: AtomicPtr<Probe>,
    /// See [`lone_before`](Chain::lone_before).
    lone: AtomicPtr<Probe>,
    /// See [`comes_back`](Chain::comes_back).
    comes_back: AtomicBool,
}

impl Chain {
    /// A chain of one probe.
    pub(crate) fn of(probe: &'static Probe) -> Self {
        // INVARIANT: `'static` says so, see `Probe::from_c`.
        let chain = Self {
            newest: AtomicPtr::new(core::ptr::null_mut()),
            lone: AtomicPtr::new(WALK),
            comes_back: AtomicBool::new(false),
        };
        chain.push(probe);
        chain
    }

    /// Puts a probe before all others.
    pub(crate) fn push(&self, probe: &'static Probe) {
        let newest = self.newest.load(Ordering::Relaxed);
        probe.older.store(newest, Ordering::Relaxed);
        // A hit that finds the probe also finds that it is to come back.
        if probe.comes_back() {
            self.comes_back.store(true, Ordering::Relaxed);
        }
        // INVARIANT: `'static` says so, see `Probe::from_c`.
        let probe = core::ptr::from_ref(probe).cast_mut();
        self.newest.store(probe, Ordering::Release);
        self.note();
    }

    /// Takes a probe out; who is at it still finds the older ones.
    pub(crate) fn remove(&self, probe: &Probe) {
        let mut link = &self.newest;
        for one in self.iter() {
            if core::ptr::eq(one, probe) {
                link.store(one.older.load(Ordering::Relaxed), Ordering::Release);
                return self.note();
            }
            link = &one.older;
        }
    }

    /// Takes over all probes of another chain, as older ones, from a chain that has one.
    pub(crate) fn append(&self, other: &Self) {
        if let Some(probe) = self.iter().next() {
            let older = other.newest.load(Ordering::Relaxed);
            probe.older.store(older, Ordering::Release);
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
        self.newest.load(Ordering::Relaxed).is_null()
    }

    /// Is this one of the probes?
    pub(crate) fn has(&self, probe: &Probe) -> bool {
        self.iter().any(|one| core::ptr::eq(one, probe))
    }

    /// Does any probe want to be called after the instruction?
    #[inline(always)]
    pub(crate) fn comes_back(&self) -> bool {
        self.comes_back.load(Ordering::Relaxed)
    }

    /// The probe, if it is the only one and is enabled. To be used in an RCU read-side section.
    #[inline(always)]
    pub(crate) fn lone(&self) -> Option<&Probe> {
        let lone = self.lone.load(Ordering::Acquire);
        let probe = lone.map_addr(|addr| addr & !AROUND);
        // SAFETY: NULL, or a probe that was in the chain, and so stays while who may look at the
        // chain does.
        unsafe { probe.as_ref() }
    }

    /// The same, if besides it does not want to be called after the instruction.
    #[inline(always)]
    pub(crate) fn lone_before(&self) -> Option<&Probe> {
        let lone = self.lone.load(Ordering::Acquire);
        // SAFETY: Without the bit, as for `lone`, but not NULL.
        (lone.addr() & AROUND == 0).then(|| unsafe { &*lone })
    }

    /// The probes. To be used in an RCU read-side section, or by who may change the chain.
    #[inline(always)]
    pub(crate) fn iter(&self) -> List<'_> {
        List {
            next: self.newest.load(Ordering::Acquire),
            _of: PhantomData,
        }
    }

    /// Notes what a hit means.
    fn note(&self) {
        let comes_back = self.iter().any(Probe::comes_back);
        self.comes_back.store(comes_back, Ordering::Relaxed);
        let mut probes = self.iter();
        let lone = match (probes.next(), probes.next()) {
            (Some(probe), None) if probe.is_enabled() => {
                let kind = if comes_back { AROUND } else { 0 };
                core::ptr::from_ref(probe)
                    .cast_mut()
                    .wrapping_byte_add(kind)
            }
            _ => WALK,
        };
        self.lone.store(lone, Ordering::Release);
    }
}

/// The bit that a lone probe has which wants to be called after the instruction; a probe's own
/// address does not have it.
const AROUND: usize = 1;
const _: () = assert!(align_of::<Probe>() > AROUND);

/// There is no lone probe.
const WALK: *mut Probe = core::ptr::without_provenance_mut(AROUND);

/// The probes of a chain.
pub(crate) struct List<'a> {
    next: *mut Probe,
    _of: PhantomData<&'a Chain>,
}

impl<'a> Iterator for List<'a> {
    type Item = &'a Probe;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a Probe> {
        // SAFETY: NULL, or it stays while whoever may look at the chain does, by its invariant.
        let probe: &'a Probe = unsafe { self.next.as_ref() }?;
        self.next = probe.older.load(Ordering::Acquire);
        Some(probe)
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
            assert!(chain.comes_back());
        });
    }

    #[test]
    fn several_probes_are_walked() {
        with_probes(|before, around| {
            let chain = Chain::of(before);
            chain.push(around);
            assert_eq!(lone(&chain), (None, false));
            assert!(chain.comes_back());
            let all = chain.iter().map(is);
            assert!(all.eq([is(around), is(before)]));
            chain.remove(around);
            assert_eq!(lone(&chain), (is(before), true));
            assert!(!chain.comes_back());
            chain.remove(before);
            assert_eq!(lone(&chain), (None, false));
            assert!(chain.is_empty());
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
