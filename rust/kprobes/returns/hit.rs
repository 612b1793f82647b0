// SPDX-License-Identifier: GPL-2.0

//! A call begins, and it is over.
//!
//! When the entry of a function is hit, the address that the function returns to is put aside, in
//! the list of the task's [calls](super::call), and the function returns to a trampoline instead.
//! From there the client is told, and the task goes on where it would have.
//!
//! Several return probes may watch one call, each with an instance in the list: only the oldest one
//! knows where the function returns to; the others would return to the trampoline.
//!
//! All of this is on the hit path.
//!
//! C counterpart: `rethook_trampoline_handler()` and its neighbours in
//! [`kernel/trace/rethook.c`](srctree/kernel/trace/rethook.c).

#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

use super::{
    call::{
        Call,
        Calls,
        Link,
        Taken, //
    },
    probe::ReturnProbe,
    store::Store, //
};
use crate::{
    arch::Current,
    contract::{
        Machine,
        Returns, //
    },
    hit::handlers,
    sys::{
        preempt::Pinned,
        probe::Probe,
        report,
        this_cpu,
        Registers, //
    },
};

/// A function with a return probe was entered.
///
/// Fast path: the client is told of the end alone, and the CPU's own block has a free instance. No
/// function is called then. Everything else is out of line.
#[inline(always)]
pub(super) fn entered(probe: &ReturnProbe, registers: &mut Registers, pinned: &Pinned) {
    let Some(store) = probe.store() else {
        return probe.miss();
    };
    match store.take(Current::cpu(pinned)) {
        Some(taken) if probe.asks() => ask(probe, taken, registers, pinned),
        Some(taken) => watch(taken, registers, pinned),
        None => seek(probe, store, registers, pinned),
    }
}

/// The same, where the client has an entry handler, which may refuse the call.
#[inline(never)]
fn ask(probe: &ReturnProbe, taken: Taken<'_>, registers: &mut Registers, pinned: &Pinned) {
    if probe.wants(taken.call(), registers) {
        watch(taken, registers, pinned);
    } else {
        taken.give_back();
    }
}

/// The same, where this CPU's own block has no free instance.
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
    // First the list, then the stack: an unwinder in between must find the call.
    taken.begin(
        Calls::of_this_task(pinned),
        frame,
        Current::returns_to(registers),
    );
    Current::hook(registers);
}

/// A call of this task that was watched is over: tells the clients, and where the task goes on.
///
/// Fast path: one client, which is still registered and has no fault handler, on a CPU that handles
/// no hit.
#[inline(always)]
pub(crate) fn returned(registers: &mut Registers, frame: usize, pinned: &Pinned) {
    let Some(call) = Calls::of_this_task(pinned).latest() else {
        return report::nowhere_to_return();
    };
    let to = call.to();
    if to == Current::trampoline() || call.frame() != frame {
        return all_returned(registers, frame, pinned);
    }
    // The client stays registered for us until the end, even if it is unregistered meanwhile.
    let Some(owner) = call.store().owner() else {
        return all_returned(registers, frame, pinned);
    };
    let probe = owner.probe();
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
    Calls::of_this_task(pinned)
        .end_latest(call)
        .give_back_to(owner);
}

/// The same for any number of clients, whatever has become of them.
#[cold]
#[inline(never)]
fn all_returned(registers: &mut Registers, frame: usize, pinned: &Pinned) {
    let calls = Calls::of_this_task(pinned);
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
    let Some(owner) = call.store().owner() else {
        return;
    };
    let probe = owner.probe();
    let Some(handler) = probe.on_return() else {
        return;
    };
    call.set_to(to);
    let context = &Current::this_cpu(pinned).context;
    let (outer, outer_context) = (Current::running(pinned), context.get());
    handlers::turn_to(probe.entry(), pinned);
    handler.call(call, registers);
    // No fault handler is called for what interrupts this.
    Current::set_running(this_cpu::nobody(), pinned);
    context.set(outer_context);
    Current::set_running(outer, pinned);
}

/// Finds the call with this frame among those older than `last`, or all if that is NULL; and where
/// it returns to.
///
/// `last` may be stale: the unwinder was preempted, the task has run, and the call's memory is
/// another's now. So `last` is only compared with the calls that there are; if it is none of them,
/// nothing is found. The memory of the calls of a task that begins to run now stays for a grace
/// period: as long as the caller is pinned.
pub(super) fn find<'a>(
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

/// A task is dead, and its calls never return.
pub(super) fn forget(calls: &Calls, _pinned: &Pinned) {
    calls.end_all().for_each(|taken| taken.give_back());
}
