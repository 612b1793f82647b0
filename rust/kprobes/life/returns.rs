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

use super::hit::{
    self,
    Registers, //
};
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
                Calls,
                Link,
                Taken, //
            },
            probe::ReturnProbe,
            store::Store, //
        },
        this_cpu,
    },
};

/// A function with a return probe was entered.
///
/// A client that is told of the end alone, on a CPU that has something at home, is what all this is
/// for: no call is made then, and nothing is put aside. Everything else is a call away.
#[inline(always)]
pub(crate) fn entered(probe: &ReturnProbe, registers: &mut Registers, pinned: &Pinned) {
    let Some(store) = probe.store() else {
        return probe.miss();
    };
    match store.take(Current::cpu(pinned)) {
        Some(taken) if probe.asks() => ask(probe, taken, registers, pinned),
        Some(taken) => watch(taken, registers, pinned),
        None => seek(probe, store, registers, pinned),
    }
}

/// The same, where the client is told of the beginning, too, and may say that it does not want it.
#[inline(never)]
fn ask(probe: &ReturnProbe, taken: Taken<'_>, registers: &mut Registers, pinned: &Pinned) {
    if probe.wants(taken.call(), registers) {
        watch(taken, registers, pinned);
    } else {
        taken.give_back();
    }
}

/// The same, where this CPU has nothing at home.
#[cold]
#[inline(never)]
fn seek(probe: &ReturnProbe, store: &Store, registers: &mut Registers, pinned: &Pinned) {
    match store.search(Current::cpu(pinned)) {
        Some(taken) => ask(probe, taken, registers, pinned),
        None => probe.miss(),
    }
}

/// The call is watched from now on.
#[inline(always)]
fn watch(taken: Taken<'_>, registers: &mut Registers, pinned: &Pinned) {
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
///
/// One client that is still there, and does not deal with faults, on a CPU that handles no hit, is
/// what this is for.
#[inline(always)]
pub(crate) fn returned(registers: &mut Registers, frame: usize, pinned: &Pinned) {
    let Some(call) = Current::calls(pinned).latest() else {
        return report::nowhere_to_return();
    };
    let to = call.to();
    if to == Current::trampoline() || call.frame() != frame {
        return all_returned(registers, frame, pinned);
    }
    // It is so for the call's client until this is over, if it is not any more in between.
    let Some(used) = call.store().used() else {
        return all_returned(registers, frame, pinned);
    };
    let probe = used.probe();
    let handler = probe.on_return();
    if handler.is_some() && (Current::is_running(pinned) || probe.entry().handles_faults()) {
        return all_returned(registers, frame, pinned);
    }
    Current::goes_on(registers, to);
    if let Some(handler) = handler {
        Current::set_running(Some(Probe::running(probe.entry())), pinned);
        handler.call(call, registers);
        Current::set_running(None, pinned);
    }
    Current::unhook(registers, to);
    Current::calls(pinned).end_latest(call).give_back_to(used);
}

/// The same for any number of clients, whatever has become of them.
#[cold]
#[inline(never)]
fn all_returned(registers: &mut Registers, frame: usize, pinned: &Pinned) {
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
fn known(mut call: &Call) -> Option<&Call> {
    while call.to() == Current::trampoline() {
        call = call.older()?;
    }
    Some(call)
}

/// Tells a client that its call is over.
fn tell(call: &Call, to: usize, registers: &mut Registers, pinned: &Pinned) {
    let Some(used) = call.store().used() else {
        return;
    };
    let probe = used.probe();
    let Some(handler) = probe.on_return() else {
        return;
    };
    call.set_to(to);
    let context = &Current::this_cpu(pinned).context;
    let (outer, outer_context) = (Current::running(pinned), context.get());
    hit::turn_to(probe.entry(), pinned);
    handler.call(call, registers);
    // Nobody is asked about a fault of who comes in between.
    Current::set_running(this_cpu::nobody(), pinned);
    context.set(outer_context);
    Current::set_running(outer, pinned);
}

/// Where a function returns to whose frame is known by `frame`, if it is one of these calls; looks
/// from behind `last` on, and tells which one it was.
///
/// `last` may be from long ago: whoever unwinds was preempted, the task has run, and what was the
/// call's is memory of somebody else's. So it is only compared with the calls that there are; where
/// it is none of them, what is behind it is not known. The calls of a task that begins to run now
/// stay until a grace period from now: as long as the caller is pinned.
pub(crate) fn find<'a>(
    calls: &'a Calls,
    last: *mut Link,
    frame: usize,
    _pinned: &'a Pinned,
) -> Option<(&'a Call, usize)> {
    let mut next = calls.latest();
    let mut passed = last.is_null();
    while !passed {
        let call = next?;
        passed = core::ptr::eq(call.link(), last);
        next = call.older();
    }
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
