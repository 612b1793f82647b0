// SPDX-License-Identifier: GPL-2.0

//! Return probes: a call begins, and it is over.
//!
//! A return probe is a probe on the entry of a function. When that is hit, the address that the
//! function returns to is put aside, in the list of the task's [calls](crate::sys::returns::call),
//! and the function returns to a trampoline instead. From there its client is told, and the task
//! goes on where it would have.
//!
//! Several return probes may watch one call, each with room of its own in the list: only the oldest
//! of them knows where the function returns to; the others would return to the trampoline.
//!
//! All that is here is on the hit path.
//!
//! C counterpart: `rethook_trampoline_handler()` and its neighbours in
//! [`kernel/trace/rethook.c`](srctree/kernel/trace/rethook.c).

mod register;

pub(crate) use register::{
    batch,
    reserve,
    unregister, //
};

use super::hit::Registers;
use crate::{
    arch::Current,
    contract::{
        Machine,
        Returns, //
    },
    sys::{
        preempt::Pinned,
        probe::Probe,
        report,
        returns::{
            call::{
                Call,
                Calls, //
            },
            probe::ReturnProbe, //
        },
    },
};

/// A function with a return probe was entered.
#[inline(always)]
pub(crate) fn entered(probe: &ReturnProbe, registers: &mut Registers, pinned: &Pinned) {
    let taken = probe
        .store()
        .and_then(|store| store.take(Current::cpu(pinned)));
    let Some(taken) = taken else {
        return probe.miss();
    };
    if !probe.wants(taken.call(), registers) {
        return taken.give_back();
    }
    let frame = Current::frame(registers);
    // The task has it before the stack says so: who unwinds in between must find it.
    taken.begin(
        Current::calls(pinned),
        frame,
        Current::returns_to(registers),
    );
    Current::hook(registers);
}

/// A call of this task that was watched is over: tells the clients, and where the task goes on.
#[inline(always)]
pub(crate) fn returned(registers: &mut Registers, frame: usize, pinned: &Pinned) {
    let calls = Current::calls(pinned);
    let Some(last) = calls.latest().and_then(known) else {
        return report::nowhere_to_return();
    };
    let to = last.to();
    Current::goes_on(registers, to);
    let mut call = calls.latest();
    while let Some(this) = call {
        if this.frame() != frame {
            report::foreign_frame();
            break;
        }
        tell(this, to, registers, pinned);
        call = this.older().filter(|_| !core::ptr::eq(this, last));
    }
    Current::unhook(registers, to);
    calls.end(last).for_each(|taken| taken.give_back());
}

/// The first call from this one on of which it is known where the function returns to.
#[inline(always)]
fn known(mut call: &Call) -> Option<&Call> {
    while call.to() == Current::trampoline() {
        call = call.older()?;
    }
    Some(call)
}

/// Tells a client that its call is over.
#[inline(always)]
fn tell(call: &Call, to: usize, registers: &mut Registers, pinned: &Pinned) {
    let Some(probe) = call.store().probe().filter(|probe| probe.wants_returns()) else {
        return;
    };
    call.set_to(to);
    let outer = Current::running(pinned);
    Current::set_running(Some(Probe::running(probe.entry())), pinned);
    probe.returned(call, registers);
    Current::set_running(outer, pinned);
}

/// Where a function returns to whose frame is known by `frame`, if it is one of these calls; looks
/// from behind `last` on, and tells which one it was.
pub(crate) fn find<'a>(
    calls: &'a Calls,
    last: Option<&'a Call>,
    frame: usize,
) -> Option<(&'a Call, usize)> {
    let mut next = match last {
        Some(last) => last.older(),
        None => calls.latest(),
    };
    loop {
        let call = next.and_then(known)?;
        if call.frame() == frame {
            return Some((call, call.to()));
        }
        next = call.older();
    }
}

/// A task is no more, and its calls never return.
pub(crate) fn forget(calls: &Calls, _pinned: &Pinned) {
    calls.end_all().for_each(|taken| taken.give_back());
}
