// SPDX-License-Identifier: GPL-2.0

//! A jump for the tests of a back end: made, put in and taken out by what the back end provides.
//!
//! Nothing is registered, so all registers and flags can be compared, and what handlers see.

// A back end may have no such tests.
#![allow(dead_code)]

use super::{
    Jumps,
    Machine, //
};
use crate::{
    model::{
        symbol,
        text_metadata::Alone, //
    },
    sys::{
        prelude::*,
        probe::{
            from_c,
            Chain,
            Probe, //
        },
        symbols,
        text,
        this_cpu, //
    }, //
};

type Handler = unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int;

/// A probe of a client's, which is not registered.
struct Client(&'static Probe);

impl Client {
    fn with(handler: Handler) -> Result<Self, Refusal> {
        let probe = bindings::kprobe {
            pre_handler: Some(handler),
            ..Default::default()
        };
        let probe = KBox::new(probe, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        let probe = KBox::into_raw(probe);
        // SAFETY: Only `drop` frees it.
        let probes = unsafe { from_c::<Probe>(&raw const probe, 1) }?;
        let probe = probes.first().copied().flatten();
        Ok(Self(probe.ok_or(Refusal::NoProbe)?))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: It came from a box, and no detour leads to it any more.
        drop(unsafe { KBox::from_raw(self.0.as_c()) });
    }
}

/// A function with a jump in it, which is there as long as this. A failed assertion ends the test
/// without a drop, so nothing is asserted before.
pub(crate) struct Jump<M: Jumps> {
    pub(crate) at: TextAddr,
    pub(crate) prepared: <M as Machine>::ArchInsn,
    pub(crate) detour: M::Detour,
    chain: KBox<Chain>,
    clients: [Option<Client>; 2],
}

impl<M: Jumps> Jump<M> {
    /// Makes a jump at `at` to a detour that calls `handler`, and puts it in. `function` is the
    /// function that `at` is in, as far as it matters.
    pub(crate) fn at(at: TextAddr, function: TextRange, handler: Handler) -> Result<Self, NoJump> {
        let client = Client::with(handler)?;
        let chain = KBox::new(Chain::of(client.0), GFP_KERNEL).map_err(Refusal::from)?;
        let (mut text, read) = (text::Lock::new(), &mut text::read);
        let prepared = M::prepare(at, function, false, read, &mut text)?;
        let group = symbol::split_group(c"");
        let targets = M::branch_targets(function, group, &Alone, read, &mut text)?;
        let detour = M::make_detour(at, function, &targets, &prepared, &Alone, read, &mut text)?;
        M::set_chain(&detour, Some(&chain));
        let jump = Self {
            at,
            prepared,
            detour,
            chain,
            clients: [Some(client), None],
        };
        M::arm(&mut core::iter::once(&jump.prepared), &mut text);
        M::optimize(&|each| each(at, &jump.prepared, &jump.detour), &mut text);
        Ok(jump)
    }

    /// The first instruction of a function that is not for indirect branches only.
    pub(crate) fn place(function: TextAddr) -> Result<TextAddr, Refusal> {
        let entry = M::adjust_addr(function, 0).ok_or(Refusal::NotABoundary)?;
        Ok(entry.at)
    }

    /// Makes a jump at the entry of a function of the tests, which has a symbol.
    pub(crate) fn on(function: TextAddr, handler: Handler) -> Result<Self, NoJump> {
        let len = symbols::len(function).ok_or(Refusal::UnknownSymbol)?;
        let function = TextRange::with_len(function, len)?;
        Self::at(Self::place(function.start())?, function, handler)
    }

    /// From now on, the detour also calls `handler`.
    pub(crate) fn also_call(&mut self, handler: Handler) -> Result<(), Refusal> {
        let client = Client::with(handler)?;
        self.chain.push(client.0);
        self.clients[1] = Some(client);
        Ok(())
    }

    /// Calls `run` as if a hit were being handled. Returns how many hits were counted as missed.
    pub(crate) fn missed_in_a_hit(&self, run: impl FnOnce()) -> usize {
        let no_preempt = PreemptOff::new();
        M::set_current_probe(this_cpu::busy(), &no_preempt);
        run();
        M::set_current_probe(None, &no_preempt);
        let missed = self.clients.iter().flatten().map(|client| {
            // SAFETY: The client owns the probe that the pointer leads to.
            unsafe { (*client.0.as_c()).nmissed }
        });
        missed.sum()
    }

    /// Returns the bytes at `from` as they were before the jump.
    pub(crate) fn recovered(&self, from: TextAddr) -> [u8; 8] {
        let mut code = now(from);
        M::recover_jump(self.at, &self.detour, from, &mut code);
        code
    }
}

impl<M: Jumps> Drop for Jump<M> {
    fn drop(&mut self) {
        let (at, text) = (self.at, &mut text::Lock::new());
        if !M::disarms_jumps() {
            M::unoptimize(&|each| each(at, &self.prepared, &self.detour), text);
        }
        M::disarm(&mut core::iter::once(&self.prepared), text);
        M::set_chain(&self.detour, None);
    }
}

/// Returns the bytes at an address.
pub(crate) fn now(at: TextAddr) -> [u8; 8] {
    let mut bytes = [0; 8];
    let _ = text::read(at, &mut bytes);
    bytes
}
