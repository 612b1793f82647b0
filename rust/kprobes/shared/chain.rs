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

use super::atomics::Atomic;
use core::sync::atomic::Ordering;

/// A word that leads to a probe, or to none.
pub(crate) trait Link<P> {
    /// It leads to none.
    fn empty() -> Self;

    /// The probe that it leads to. One load. To be used by who may look at the chain.
    fn to(&self, order: Ordering) -> Option<&P>;

    /// Makes it lead elsewhere. One store. The probe is registered, and stays until a grace period
    /// after nothing leads to it any more.
    fn lead(&self, to: Option<&P>, order: Ordering);
}

/// What is noted of a chain for hits. All probes in it are enabled, and plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brief<P> {
    /// The only probe, which wants to be called before the instruction, no more.
    Lone(P),
    /// The only probe, which wants to be called after the instruction, too.
    LoneAround(P),
    /// The newest of several, which all want to be called before the instruction, no more.
    Several(P),
    /// Each of the probes has to be asked.
    Walk,
}

/// A word that notes it.
pub(crate) trait Note<P> {
    /// That the chain has to be walked.
    fn walk() -> Self;

    /// What is noted. One load. To be used by who may look at the chain.
    fn get(&self, order: Ordering) -> Brief<&P>;

    /// The only probe, if that is what is noted, whatever it wants. One load.
    fn lone(&self, order: Ordering) -> Option<&P>;

    /// Notes it. One store. Of the probe goes what goes for [`Link::lead`].
    fn note(&self, brief: Brief<&P>, order: Ordering);
}

/// A probe that can be in a chain.
pub(crate) trait Linked: Sized + 'static {
    /// What leads to one.
    type Link: Link<Self>;
    /// What notes it for hits.
    type Note: Note<Self>;
    /// What notes whether any wants to be called after the instruction.
    type Noted: Atomic<bool>;
    /// What can be said of it.
    type Flag;

    /// What leads to the next older one.
    fn older(&self) -> &Self::Link;

    /// Does the client want to be called after the instruction?
    fn comes_back(&self) -> bool;

    /// Are its handlers to be called, and is there nothing to be noted before?
    fn is_plain(&self) -> bool;

    /// Says it, or the opposite, of this probe.
    fn set(&self, flag: Self::Flag, on: bool);
}

/// The probes at one address, newest first. Only one may change it at a time.
///
/// # Invariants
///
/// What it leads to is registered: it stays until it has been taken out and a grace period is over.
pub(crate) struct Chain<P: Linked> {
    newest: P::Link,
    /// See [`brief`](Chain::brief).
    brief: P::Note,
    /// See [`comes_back`](Chain::comes_back).
    comes_back: P::Noted,
}

impl<P: Linked> Chain<P> {
    /// A chain of one probe.
    pub(crate) fn of(probe: &'static P) -> Self {
        // INVARIANT: `'static` says so.
        let chain = Self {
            newest: P::Link::empty(),
            brief: P::Note::walk(),
            comes_back: P::Noted::new(false),
        };
        chain.push(probe);
        chain
    }

    /// A chain of none, of words that lead to nobody.
    pub(crate) const fn empty(newest: P::Link, brief: P::Note, comes_back: P::Noted) -> Self {
        // INVARIANT: It leads to nothing.
        Self {
            newest,
            brief,
            comes_back,
        }
    }

    /// Puts a probe before all others. That it stays as long as the invariant wants is what
    /// `'static` stands for.
    pub(crate) fn push(&self, probe: &'static P) {
        // Nobody finds it yet, so this needs no order.
        probe
            .older()
            .lead(self.newest.to(Ordering::Relaxed), Ordering::Relaxed);
        self.will_come_back(probe.comes_back());
        // INVARIANT: `'static` says so.
        self.newest.lead(Some(probe), Ordering::Release);
        self.note();
    }

    /// Puts a probe behind all others, as the oldest one. As for [`push`](Chain::push).
    pub(crate) fn push_oldest(&self, probe: &'static P) {
        probe.older().lead(None, Ordering::Relaxed);
        self.will_come_back(probe.comes_back());
        // INVARIANT: `'static` says so.
        let link = self.iter().last().map_or(&self.newest, P::older);
        link.lead(Some(probe), Ordering::Release);
        self.note();
    }

    /// Takes a probe out; who is at it still finds the older ones.
    pub(crate) fn remove(&self, probe: &P) {
        let mut link = &self.newest;
        for one in self.iter() {
            if core::ptr::eq(one, probe) {
                link.lead(one.older().to(Ordering::Relaxed), Ordering::Release);
                return self.note();
            }
            link = one.older();
        }
    }

    /// Takes over all probes of another chain, as older ones, into a chain that has one.
    pub(crate) fn append(&self, other: &Self) {
        if let Some(probe) = self.iter().next() {
            self.will_come_back(other.comes_back());
            let older = other.newest.to(Ordering::Relaxed);
            probe.older().lead(older, Ordering::Release);
            self.note();
        }
    }

    /// Says of one of the probes what changes whether its handlers are called.
    pub(crate) fn mark(&self, probe: &P, flag: P::Flag, on: bool) {
        probe.set(flag, on);
        self.note();
    }

    /// Is there no probe?
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.to(Ordering::Relaxed).is_none()
    }

    /// Is this one of the probes?
    pub(crate) fn has(&self, probe: &P) -> bool {
        self.iter().any(|one| core::ptr::eq(one, probe))
    }

    /// Does any probe want to be called after the instruction? Who has seen one that does is told
    /// so, until that one is taken out.
    #[inline(always)]
    pub(crate) fn comes_back(&self) -> bool {
        // Who has seen a probe has, by the acquire that led to it, seen what was noted before.
        self.comes_back.load(Ordering::Relaxed)
    }

    /// What is noted for hits. To be used in an RCU read-side section.
    #[inline(always)]
    pub(crate) fn brief(&self) -> Brief<&P> {
        self.brief.get(Ordering::Acquire)
    }

    /// The probe, if it is the only one, enabled, and plain. To be used in an RCU read-side
    /// section.
    #[inline(always)]
    pub(crate) fn lone(&self) -> Option<&P> {
        self.brief.lone(Ordering::Acquire)
    }

    /// The same, if besides it does not want to be called after the instruction.
    #[inline(always)]
    pub(crate) fn lone_before(&self) -> Option<&P> {
        match self.brief() {
            Brief::Lone(probe) => Some(probe),
            Brief::LoneAround(_) | Brief::Several(_) | Brief::Walk => None,
        }
    }

    /// The probes. To be used in an RCU read-side section, or by who may change the chain.
    #[inline(always)]
    pub(crate) fn iter(&self) -> List<'_, P> {
        List {
            next: self.newest.to(Ordering::Acquire),
        }
    }

    /// Notes, before it can be found, what a probe wants after the instruction. The release that
    /// makes it be found is what orders this.
    fn will_come_back(&self, comes_back: bool) {
        if comes_back {
            self.comes_back.store(true, Ordering::Relaxed);
        }
    }

    /// Notes what a hit means.
    fn note(&self) {
        let comes_back = self.iter().any(P::comes_back);
        self.comes_back.store(comes_back, Ordering::Relaxed);
        let plain = self.iter().all(P::is_plain);
        let mut probes = self.iter();
        let (newest, other) = (probes.next().filter(|_| plain), probes.next());
        let brief = match (newest, other) {
            (Some(lone), None) if comes_back => Brief::LoneAround(lone),
            (Some(lone), None) => Brief::Lone(lone),
            (Some(newest), Some(_)) if !comes_back => Brief::Several(newest),
            _ => Brief::Walk,
        };
        self.brief.note(brief, Ordering::Release);
    }
}

/// Probes of a chain, from one of them on.
pub(crate) struct List<'a, P> {
    next: Option<&'a P>,
}

impl<'a, P: Linked> List<'a, P> {
    /// This one, and those that are older.
    #[inline(always)]
    pub(crate) fn from(probe: &'a P) -> Self {
        Self { next: Some(probe) }
    }
}

impl<'a, P: Linked> Iterator for List<'a, P> {
    type Item = &'a P;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a P> {
        let probe = self.next?;
        self.next = probe.older().to(Ordering::Acquire);
        Some(probe)
    }

    /// As it is by itself, but with one branch for each, whatever it is optimized for.
    #[inline(always)]
    fn for_each<F: FnMut(&'a P)>(self, mut f: F) {
        let Some(mut probe) = self.next else { return };
        loop {
            let older = probe.older().to(Ordering::Acquire);
            f(probe);
            match older {
                Some(older) => probe = older,
                None => return,
            }
        }
    }
}
