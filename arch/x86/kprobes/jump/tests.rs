// SPDX-License-Identifier: GPL-2.0

//! Detours at work: functions of `detour_test.S` run bare, then with a jump in them.
//!
//! A jump is put in and taken out by what the back end provides, under the text lock; nothing is
//! registered. So all of the [`registers`] and flags can be compared, and what handlers see.

use super::*;
use crate::{
    contract::Machine,
    model::{
        symbol,
        text_metadata::Alone, //
    },
    prelude::*,
    sys::probe::{
        from_c,
        Probe, //
    }, //
};

/// The first byte of one of the functions.
macro_rules! function {
    ($name:ident) => {
        TextAddr::new((&raw const bindings::$name).addr() as u64)
    };
}

// The macro is for those that come after it.
mod detours;
mod registers;
mod text_metadata;
#[cfg(all(CONFIG_UNWINDER_ORC, CONFIG_STACKTRACE))]
mod unwound;

type Handler = unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int;

/// A probe of a client's, which stays.
fn probe(handler: Handler) -> Result<&'static Probe, Refusal> {
    let probe = bindings::kprobe {
        pre_handler: Some(handler),
        ..Default::default()
    };
    let probe = KBox::new(probe, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    let probe = KBox::into_raw(probe);
    // SAFETY: Nobody frees it.
    let probes = unsafe { from_c::<Probe>(&raw const probe, 1) }?;
    probes.first().copied().flatten().ok_or(Refusal::NoProbe)
}

/// Frees it after all.
fn free(probe: &'static Probe) {
    // SAFETY: It came from a box, and no detour leads to it any more.
    drop(unsafe { KBox::from_raw(probe.as_c()) });
}

/// The first instruction of a function that is not for indirect branches only.
fn place(function: TextAddr) -> Result<TextAddr, Refusal> {
    let site = X86::adjust_addr(function, 0).ok_or(Refusal::NotABoundary)?;
    Ok(site.at)
}

/// A function with a jump in it, which is there as long as this.
struct Jump {
    at: TextAddr,
    prepared: ArchInsn,
    detour: Detour,
}

/// Why there is none.
#[derive(Debug)]
#[expect(dead_code, reason = "what is in there is shown")]
enum Failed {
    Refused(Refusal),
    NoJump(NoJump),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<NoJump> for Failed {
    fn from(reason: NoJump) -> Self {
        Self::NoJump(reason)
    }
}

impl Jump {
    /// Makes it, and puts it in. `function` is the function that `at` is in, as far as it matters.
    fn at(at: TextAddr, function: TextRange, chain: &Chain) -> Result<Self, Failed> {
        let mut text = text::Lock::new();
        let prepared = X86::prepare(at, function, false, &mut text::read, &mut text)?;
        let read = &mut text::read;
        let targets =
            X86::branch_targets(function, symbol::split_group(c""), &Alone, read, &mut text)?;
        let detour = X86::make_detour(at, function, &targets, &prepared, &Alone, read, &mut text)?;
        X86::set_owner(&detour, Some(chain));
        let jump = Self {
            at,
            prepared,
            detour,
        };
        X86::arm(&mut core::iter::once(&jump.prepared), &mut text);
        X86::optimize(&|each| each(at, &jump.prepared, &jump.detour), &mut text);
        Ok(jump)
    }

    /// At the entry of a function of the tests.
    fn on(function: TextAddr, chain: &Chain) -> Result<Self, Failed> {
        let len = crate::sys::symbols::len(function).ok_or(Refusal::UnknownSymbol)?;
        Self::at(place(function)?, TextRange::with_len(function, len)?, chain)
    }
}

impl Drop for Jump {
    fn drop(&mut self) {
        let (at, text) = (self.at, &mut text::Lock::new());
        X86::unoptimize(&|each| each(at, &self.prepared, &self.detour), text);
        X86::disarm(&mut core::iter::once(&self.prepared), text);
        X86::set_owner(&self.detour, None);
    }
}

/// What is at an address now.
fn now(at: TextAddr) -> [u8; 8] {
    let mut bytes = [0; 8];
    let _ = text::read(at, &mut bytes);
    bytes
}
