// SPDX-License-Identifier: GPL-2.0

//! The kernel's memory under the chains of [`shared::chain`](crate::shared::chain): pointers to
//! C's probes.
//!
//! What is noted for hits is the address of a probe, of which the lowest bits tell what is said of
//! it; the bits alone say that the chain has to be walked.

use super::{
    Flag,
    Probe, //
};
use crate::shared::chain::{
    self,
    Brief, //
};
use core::sync::atomic::{
    AtomicBool,
    AtomicPtr,
    Ordering, //
};

/// The probes at one address, newest first.
pub(crate) type Chain = chain::Chain<Probe>;

/// No probe.
pub(crate) static NOBODY: Chain = Chain::empty(NOWHERE, Note(AtomicPtr::new(WALK)), QUIET);

// INVARIANT: It is NULL.
#[expect(clippy::declare_interior_mutable_const, reason = "to be copied")]
const NOWHERE: Link = Link(AtomicPtr::new(core::ptr::null_mut()));
#[expect(clippy::declare_interior_mutable_const, reason = "to be copied")]
const QUIET: AtomicBool = AtomicBool::new(false);

/// What leads to a probe.
///
/// # Invariants
///
/// In a chain, and in a probe that one leads to: NULL, or a probe that is registered, and stays
/// until a grace period after nothing leads to it any more.
#[repr(transparent)]
pub(crate) struct Link(AtomicPtr<Probe>);

impl Link {
    /// Makes it, in a probe that no chain leads to, what C calls an empty list: one that leads to
    /// itself.
    pub(super) fn lead_to_itself(&self) {
        self.0.store(self.address(), Ordering::Relaxed);
    }

    /// Where it is, as C has it in a list.
    pub(super) fn address(&self) -> *mut Probe {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

impl chain::Link<Probe> for Link {
    fn empty() -> Self {
        // INVARIANT: It is NULL.
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline(always)]
    fn to(&self, order: Ordering) -> Option<&Probe> {
        // SAFETY: By the invariant, NULL, or it stays while whoever may look at the chain does.
        unsafe { self.0.load(order).as_ref() }
    }

    #[inline(always)]
    fn lead(&self, to: Option<&Probe>, order: Ordering) {
        let to = to.map_or(core::ptr::null_mut(), |to| {
            core::ptr::from_ref(to).cast_mut()
        });
        // INVARIANT: The chain says so.
        self.0.store(to, order);
    }
}

/// What notes a [`Brief`].
///
/// # Invariants
///
/// [`WALK`], or a probe as in [`Link`] plus what says which it is.
pub(crate) struct Note(AtomicPtr<Probe>);

/// The bits of a noted probe that tell which it is; its own address does not have them.
const WHICH: usize = 3;
const LONE: usize = 0;
const LONE_AROUND: usize = 1;
const SEVERAL: usize = 2;
const _: () = assert!(align_of::<Probe>() > WHICH);

/// The chain has to be walked.
const WALK: *mut Probe = core::ptr::without_provenance_mut(WHICH);

impl chain::Note<Probe> for Note {
    fn walk() -> Self {
        // INVARIANT: It is that.
        Self(AtomicPtr::new(WALK))
    }

    #[inline(always)]
    fn get(&self, order: Ordering) -> Brief<&Probe> {
        let noted = self.0.load(order);
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

    #[inline(always)]
    fn lone(&self, order: Ordering) -> Option<&Probe> {
        let noted = self.0.load(order);
        let probe = noted.map_addr(|addr| addr & !LONE_AROUND);
        // SAFETY: As for `get`.
        (noted.addr() & SEVERAL == 0).then(|| unsafe { &*probe })
    }

    #[inline(always)]
    fn note(&self, brief: Brief<&Probe>, order: Ordering) {
        let noted = |probe, which| {
            core::ptr::from_ref::<Probe>(probe)
                .cast_mut()
                .wrapping_byte_add(which)
        };
        let noted = match brief {
            Brief::Lone(probe) => noted(probe, LONE),
            Brief::LoneAround(probe) => noted(probe, LONE_AROUND),
            Brief::Several(probe) => noted(probe, SEVERAL),
            Brief::Walk => WALK,
        };
        // INVARIANT: The chain says that the probe is one.
        self.0.store(noted, order);
    }
}

impl chain::Linked for Probe {
    type Link = Link;
    type Note = Note;
    type Noted = AtomicBool;
    type Flag = Flag;

    #[inline(always)]
    fn older(&self) -> &Link {
        &self.older
    }

    #[inline(always)]
    fn comes_back(&self) -> bool {
        self.comes_back()
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.is_enabled() && !self.handles_faults() && !self.is_jprobe()
    }

    fn set(&self, flag: Flag, on: bool) {
        self.set(flag, on);
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
