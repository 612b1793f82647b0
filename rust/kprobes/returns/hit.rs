// SPDX-License-Identifier: GPL-2.0

//! The hits of a return probe: at the entry of the function, and at its return.
//!
//! A hit of the entry saves the return address in an instance, puts the instance into the list of
//! the task, and replaces the return address by the address of a trampoline. When the function
//! returns to the trampoline, the client's handler is called, and the task continues at the saved
//! address.
//!
//! Several return probes may hook one call, each with an instance in the list. Only the oldest one
//! has the real return address; the others have the address of the trampoline.
//!
//! All functions here are on the hit path.
//!
//! C counterpart: `rethook_trampoline_handler()` and its neighbours in
//! [`kernel/trace/rethook.c`](srctree/kernel/trace/rethook.c).

use super::*;
use crate::hit::handlers;

/// Handles a hit of the entry.
///
/// Fast path: the client has no entry handler, and the CPU's own block has a free instance. On x86
/// this path calls no function. All other hits are handled out of line.
///
/// # Safety
///
/// `registers` are the registers of a hit at the entry of the function.
#[inline(always)]
pub(super) unsafe fn entered(
    probe: &ReturnProbe,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    let Some(pool) = probe.pool() else {
        return probe.miss();
    };
    match pool.take(Arch::cpu(no_preempt)) {
        Some(taken) if probe.has_entry_handler() => {
            // SAFETY: The precondition is the same.
            unsafe { call_client(probe, taken, registers, no_preempt) }
        }
        // SAFETY: The precondition is the same.
        Some(taken) => unsafe { hook(taken, registers, no_preempt) },
        // SAFETY: The precondition is the same.
        None => unsafe { search(probe, pool, registers, no_preempt) },
    }
}

/// Calls the client's entry handler, which may refuse the call.
///
/// # Safety
///
/// As for [`entered`].
#[inline(never)]
unsafe fn call_client(
    probe: &ReturnProbe,
    taken: Taken<'_>,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    if probe.run_entry_handler(taken.instance(), registers) {
        // SAFETY: The precondition is the same.
        unsafe { hook(taken, registers, no_preempt) };
    } else {
        taken.give_back_maybe_killed(no_preempt);
    }
}

/// Handles a hit of the entry where this CPU's own block has no free instance.
///
/// # Safety
///
/// As for [`entered`].
#[cold]
#[inline(never)]
unsafe fn search(
    probe: &ReturnProbe,
    pool: &Pool,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    match pool.search(Arch::cpu(no_preempt)) {
        // SAFETY: The precondition is the same.
        Some(taken) => unsafe { call_client(probe, taken, registers, no_preempt) },
        None => probe.miss(),
    }
}

/// Hooks the return. Adds the instance to the list before it changes the stack: an unwinder that
/// interrupts this must find the instance.
///
/// # Safety
///
/// As for [`entered`].
#[inline(always)]
unsafe fn hook(taken: Taken<'_>, registers: &mut Registers, no_preempt: &PreemptOff) {
    let frame = Arch::return_frame(registers);
    // SAFETY: By the precondition the registers are those of a function's entry.
    unsafe {
        let to = Arch::returns_to(registers);
        TaskInstances::of_this_task(no_preempt).push(taken, frame, to);
        Arch::hook_return(registers);
    }
}

/// Handles a return to the trampoline: calls the handlers, and makes the task continue at the real
/// return address.
///
/// Fast path: one client, which is still registered and has no fault handler, on a CPU that handles
/// no other hit.
///
/// # Safety
///
/// `registers` are the registers that the trampoline has saved.
#[inline(always)]
pub(super) unsafe fn returned(registers: &mut Registers, no_preempt: &PreemptOff) {
    let frame = Arch::frame_returned(registers);
    let Some(instance) = TaskInstances::of_this_task(no_preempt).latest() else {
        return report::no_return_address();
    };
    // SAFETY: The precondition is the same.
    let handle_all =
        |registers: &mut Registers| unsafe { all_returned(registers, frame, no_preempt) };
    let to = instance.return_address();
    if to == Arch::trampoline() || instance.frame() != frame {
        return handle_all(registers);
    }
    // The owner is not freed before the end of this function, even if it is unregistered meanwhile.
    let Some(probe) = instance.pool().owner(no_preempt) else {
        return handle_all(registers);
    };
    let (handler, entry) = (probe.handler(), probe.entry_probe());
    if handler.is_some() && (Arch::is_in_hit(no_preempt) || entry.has_fault_handler()) {
        return handle_all(registers);
    }
    Arch::show_return_address(registers, to);
    if let Some(handler) = handler {
        Arch::set_current_probe(Some(entry.as_current()), no_preempt);
        handler(instance, registers);
        Arch::set_current_probe(None, no_preempt);
    }
    // SAFETY: The trampoline has saved the registers, by the precondition.
    unsafe { Arch::unhook_return(registers, to) };
    TaskInstances::of_this_task(no_preempt)
        .pop(instance)
        .give_back();
}

/// Handles a return to the trampoline for any number of clients, registered or not.
///
/// # Safety
///
/// As for [`returned`].
#[cold]
#[inline(never)]
unsafe fn all_returned(registers: &mut Registers, frame: usize, no_preempt: &PreemptOff) {
    let list = TaskInstances::of_this_task(no_preempt);
    // Calls that never returned may be in front of the one that returns now.
    let found = find(list, core::ptr::null_mut(), frame, no_preempt).map(|(instance, _)| instance);
    let Some(last) = found.or_else(|| list.latest().and_then(with_address)) else {
        return report::no_return_address();
    };
    let to = last.return_address();
    Arch::show_return_address(registers, to);
    let mut next = list.latest();
    while let Some(instance) = next {
        if instance.frame() != frame {
            report::frame_mismatch();
            break;
        }
        call_handler(instance, to, registers, no_preempt);
        next = instance.older().filter(|_| !core::ptr::eq(instance, last));
    }
    // SAFETY: The trampoline has saved the registers, by the precondition.
    unsafe { Arch::unhook_return(registers, to) };
    give_back(list, Some(last), no_preempt);
}

/// Removes the instances from a list, up to `last` or all of them, and gives them back.
pub(super) fn give_back(list: &TaskInstances, last: Option<&Instance>, no_preempt: &PreemptOff) {
    let last = last.map(core::ptr::from_ref);
    while let Some(instance) = list.latest() {
        let is_last = last == Some(core::ptr::from_ref(instance));
        list.pop(instance).give_back_maybe_killed(no_preempt);
        if is_last {
            break;
        }
    }
}

/// Returns the first instance, from this one to older ones, that has the real return address.
fn with_address(mut instance: &Instance) -> Option<&Instance> {
    while instance.return_address() == Arch::trampoline() {
        instance = instance.older()?;
    }
    Some(instance)
}

/// Calls the client's handler for the return.
fn call_handler(
    instance: &Instance,
    to: usize,
    registers: &mut Registers,
    no_preempt: &PreemptOff,
) {
    let Some(probe) = instance.pool().owner(no_preempt) else {
        return;
    };
    let Some(handler) = probe.handler() else {
        return;
    };
    instance.set_return_address(to);
    let context = &Arch::this_cpu(no_preempt).context;
    let (outer, outer_context) = (Arch::current_probe(no_preempt), context.get());
    handlers::make_current(probe.entry_probe(), no_preempt);
    handler(instance, registers);
    // No fault handler is called for faults of an interrupt that comes now.
    Arch::set_current_probe(this_cpu::busy(), no_preempt);
    context.set(outer_context);
    Arch::set_current_probe(outer, no_preempt);
}

/// Finds the instance with this frame among the instances older than `last`, or among all if `last`
/// is NULL. Returns it with the real return address.
///
/// `last` may be stale: if the unwinder was preempted and the task has run, another call may use
/// that instance now. So `last` is only compared with the instances in the list; if none is equal,
/// nothing is found. If the task begins to run now, the memory of its instances is not freed for a
/// grace period, so not while preemption is off.
pub(super) fn find<'a>(
    list: &'a TaskInstances,
    last: *mut Link,
    frame: usize,
    _no_preempt: &'a PreemptOff,
) -> Option<(&'a Instance, usize)> {
    let mut next = list.latest();
    let mut passed = last.is_null();
    while !passed {
        let instance = next?;
        passed = core::ptr::eq(instance.link(), last);
        next = instance.older();
    }
    loop {
        let instance = next.and_then(with_address)?;
        if instance.frame() == frame {
            return Some((instance, instance.return_address()));
        }
        next = instance.older();
    }
}
