// SPDX-License-Identifier: GPL-2.0

//! A call is over where something is not as usual.

use super::*;
use kernel::bindings;

#[test]
fn a_hit_that_is_handled_goes_on_after_a_return() {
    let mut world = quiet();
    let function = world.place(&cpu::MOVE);
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
    client.unregister();
    nothing_is_left();
}

#[test]
fn an_end_in_another_frame_is_told() {
    let mut world = quiet();
    let function = world.place(&cpu::MOVE);
    let client = Client::of(function, 1);
    assert_eq!(client.register(), 0);
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
    client.unregister();
    nothing_is_left();
}
