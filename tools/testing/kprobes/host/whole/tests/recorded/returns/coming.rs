// SPDX-License-Identifier: GPL-2.0

//! Return probes while they come and go: who is told, and who is counted.

use super::*;
use core::sync::atomic::AtomicPtr;
use kernel::events::{
    latest,
    Event, //
};

/// What hits a probe that goes.
struct Hits {
    function: u64,
    client: Client,
    task: Caller,
    /// How many there were: before the breakpoint was gone, and in all.
    count: [usize; 2],
}

static HITS: AtomicPtr<Hits> = AtomicPtr::new(core::ptr::null_mut());

/// A hit that has found the probe comes to it now, and the call is over at once. When all hits have
/// been waited for there is none.
fn hit() {
    let hits = HITS.load(Relaxed);
    if hits.is_null() {
        return;
    }
    if latest() == Some(Event::GracePeriod) {
        HITS.store(core::ptr::null_mut(), Relaxed);
        return;
    }
    // SAFETY: Nobody else uses it at such a moment.
    let this = unsafe { &mut *hits };
    this.task.come(0, this.function, &[&this.client]);
    this.task.leave(0);
    this.count[1] += 1;
    if text::breakpoints().any(|at| at == this.function) {
        this.count[0] += 1;
        if this.client.missed() != 0 {
            events::wrong("a hit was missed before the place was disarmed".into());
        }
    }
}

/// Unregisters the first probe, alone or as one of several, under hits.
fn goes_under_hits(others: usize) {
    let mut world = quiet();
    let function = world.place(&cpu::MOVE);
    let mut hits = Hits {
        function,
        client: Client::of(function, 4),
        task: Caller::new(),
        count: [0; 2],
    };
    let others: Vec<_> = (0..others)
        .map(|_| Client::of(world.place(&cpu::MOVE), 4))
        .collect();
    let all: Vec<_> = [&hits.client].into_iter().chain(&others).collect();
    assert_eq!(register(&all), 0);
    let mut probes: Vec<_> = all.iter().map(|client| client.as_c()).collect();
    HITS.store(&raw mut hits, Relaxed);
    events::at_every_moment(hit);
    // SAFETY: Probes that stay.
    unsafe { c::unregister_kretprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    assert!(HITS.load(Relaxed).is_null());
    events::at_every_moment(|| ());
    for client in [&hits.client].into_iter().chain(&others) {
        client.shared().alive.store(false, Relaxed);
    }
    let [before, all] = hits.count;
    let missed = hits.client.missed() as usize;
    assert!(before >= 2);
    assert!((1..=all - before).contains(&missed), "{missed} of {all}");
    hits.client.expect(all - missed);
    nothing_is_left();
}

#[test]
fn each_hit_is_told_or_counted_while_its_probe_goes() {
    goes_under_hits(0);
    goes_under_hits(3);
}
