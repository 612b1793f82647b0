// SPDX-License-Identifier: GPL-2.0

//! A call is over where something is not as usual.

use super::*;

#[test]
fn return_keeps_the_probe_that_is_running() {
    let (_world, function) = quiet_at(&MOVE);
    let (client, other) = (Client::of(function, 1), Client::of(function, 1));
    assert_eq!(client.register(), 0);
    let mut task = Caller::new();
    for outer in [core::ptr::null_mut(), other.as_c().cast::<kprobe>()] {
        task.enter(0, function, &[&client]);
        assert!(task.task.has_calls());
        // SAFETY: One CPU, which is this one.
        unsafe { (&raw mut bindings::current_kprobe).write(outer) };
        task.leave(0);
        assert_eq!(cpu::running(), outer);
        cpu::reset();
    }
    client.expect(2);
    assert_eq!(client.missed(), 0);
    client.ends();
}

#[test]
fn return_from_a_wrong_frame_is_reported() {
    let (_world, function, client) = registered(1);
    let mut task = Caller::new();
    task.enter(0, function, &[&client]);
    let (place, to) = task.stack[0];
    let mut frame = Frame {
        registers: cpu::registers(0),
        to: tasks::trampoline(),
    };
    // SAFETY: Registers of our own, and behind them where the task goes on.
    unsafe { c::rust_kprobes_returned((&raw mut frame).cast()) };
    let told = "a call is over before one that it has made";
    assert_eq!(events::complaints(), [told]);
    assert_eq!((frame.to, frame.registers.ip), (to, to));
    assert_eq!(client.calls(), (1, 0));
    assert!(!task.task.has_calls());
    // SAFETY: It is there, and goes on there as well.
    unsafe { (*place.as_ptr()).to = to };
    task.leave(0);
    client.ends();
}

/// Faults in handlers from after a call, and how many of them their probe was asked about.
static FAULTS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// A fault that nobody else has dealt with.
fn fault() {
    let mut registers = cpu::registers(0);
    FAULTS[0].fetch_add(1, Relaxed);
    // SAFETY: Registers of our own, on a CPU that is kept.
    if unsafe { c::kprobe_fault_handler(&mut registers, 14) } != 0 {
        FAULTS[1].fetch_add(1, Relaxed);
    }
}

unsafe extern "C" fn ends_with_a_fault(
    _call: *mut kretprobe_instance,
    _registers: *mut pt_regs,
) -> c_int {
    fault();
    0
}

unsafe extern "C" fn asked(_probe: *mut kprobe, _registers: *mut pt_regs, _trap: c_int) -> c_int {
    1
}

/// What returns while another probe's handler is called.
static RETURNS: core::sync::atomic::AtomicPtr<Caller> =
    core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" fn before(_probe: *mut kprobe, _registers: *mut pt_regs) -> c_int {
    // SAFETY: Nobody else uses it meanwhile.
    if let Some(task) = unsafe { RETURNS.load(Relaxed).as_mut() } {
        context::interrupt(|| task.leave(0));
        fault();
    }
    0
}

/// Whichever probe with a fault handler was hit last.
#[cfg(not(miri))]
#[test]
fn fault_in_a_return_handler_goes_to_its_own_probe() {
    let mut world = quiet();
    let (function, place) = (world.place(&cpu::MOVE), world.place(&cpu::MOVE));
    let client = Client::of(function, 4);
    client.set(|probe| {
        probe.handler = Some(ends_with_a_fault);
        probe.kp.fault_handler = Some(asked);
    });
    assert_eq!(client.register(), 0);
    let others = [client::Client::at(place)];
    others[0].set(|probe| probe.pre_handler = Some(before));
    others[0].set(|probe| probe.fault_handler = Some(asked));
    assert_eq!(client::register(&others), 0);
    let told = || [0, 1].map(|number| FAULTS[number].swap(0, Relaxed));
    let mut task = Caller::new();
    task.enter(0, function, &[&client]);
    assert_eq!(context::interrupt(|| cpu::come(place)), Ok(()));
    task.leave(0);
    assert_eq!(told(), [1, 1]);
    task.enter(0, function, &[&client]);
    assert_eq!(cpu::come(place), Ok(()));
    context::interrupt(|| task.leave(0));
    assert_eq!(told(), [1, 1]);
    // The other one's handler is asked about its own, before and after.
    task.enter(0, function, &[&client]);
    RETURNS.store(&raw mut task, Relaxed);
    assert_eq!(cpu::come(place), Ok(()));
    RETURNS.store(core::ptr::null_mut(), Relaxed);
    assert_eq!(told(), [2, 2]);
    assert!(cpu::is_idle());
    client::unregister(&others);
    client.ends();
}
