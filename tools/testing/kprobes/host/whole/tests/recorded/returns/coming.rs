// SPDX-License-Identifier: GPL-2.0

//! Return probes while they come and go: who is told, who is counted, and what is written.

use super::*;
use kernel::events::latest;

const EILSEQ: c_int = -84;
const E2BIG: c_int = -7;

/// No instruction.
const NONE: [u8; 1] = [0x06];

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
    let (mut world, function) = quiet_at(&MOVE);
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
fn each_hit_while_a_probe_goes_is_handled_or_missed() {
    goes_under_hits(0);
    goes_under_hits(3);
}

/// The fields of a return probe by which a client sees whether it is registered.
type Said = (c_int, c_int, bool, *mut rethook);

fn said(client: &Client) -> Said {
    let probe = client.probe();
    let handler = probe.kp.pre_handler.is_some();
    (probe.maxactive, probe.nmissed, handler, probe.rh)
}

/// Somebody else's store, for all that is known.
const GARBAGE: *mut rethook = core::ptr::without_provenance_mut(0x123);

/// A client that leaves the number of calls to us, and has garbage where we write.
fn with_garbage(function: u64) -> Client {
    let client = Client::of(function, 0);
    client.set(|probe| (probe.nmissed, probe.rh) = (77, GARBAGE));
    client
}

/// Registers a batch whose second probe is refused; what it says then.
fn refused(world: &mut World, second: &Client, status: c_int) -> Said {
    let nothing = core::ptr::null_mut();
    let places = [(); 3].map(|()| world.place(&cpu::MOVE));
    let others = places.map(with_garbage);
    let batch = [&others[0], second, &others[1], &others[2]];
    assert_eq!(register(&batch), status);
    // It was registered, and had ten to begin with.
    assert_eq!(said(&others[0]), (10, 0, true, nothing));
    for other in &others[1..] {
        assert_eq!(said(other), (0, 77, false, GARBAGE));
        // What it has there is nobody's.
        other.set(|probe| probe.rh = nothing);
    }
    nothing_is_left();
    said(second)
}

#[test]
fn probes_after_a_refused_one_are_not_written() {
    let mut world = quiet();
    let nothing = core::ptr::null_mut();
    // A place that cannot be probed is refused after all fields are written.
    let none = with_garbage(world.place(&NONE));
    assert_eq!(refused(&mut world, &none, EILSEQ), (10, 0, true, nothing));
    // A place that is no entry, and too much data, are refused before anything is written.
    let function = world.place(&cpu::MOVE);
    let inside = with_garbage(function + 1);
    let untouched = (0, 77, false, GARBAGE);
    assert_eq!(refused(&mut world, &inside, EINVAL), untouched);
    let large = with_garbage(function);
    large.set(|probe| probe.data_size = 4097);
    assert_eq!(refused(&mut world, &large, E2BIG), untouched);
    // Too many instances are refused when their number is known.
    let many = with_garbage(function);
    many.set(|probe| probe.maxactive = (1 << 24) + 1);
    let found = refused(&mut world, &many, ENOMEM);
    assert_eq!(found, ((1 << 24) + 1, 77, true, nothing));
    for client in [&inside, &large] {
        client.set(|probe| probe.rh = nothing);
    }
}

#[test]
fn refused_later_chunk_undoes_the_earlier_ones() {
    let (_world, function) = quiet_at(&MOVE);
    let mut clients: Vec<_> = (0..300).map(|_| with_garbage(function)).collect();
    clients.push(with_garbage(function + 1));
    clients.push(with_garbage(function));
    let all: Vec<_> = clients.iter().collect();
    assert_eq!(register(&all), EINVAL);
    for (number, client) in clients.iter().enumerate() {
        let written = (10, 0, true, core::ptr::null_mut());
        let left = (0, 77, false, GARBAGE);
        assert_eq!(said(client), if number < 300 { written } else { left });
        client.set(|probe| probe.rh = core::ptr::null_mut());
    }
    nothing_is_left();
}

/// Unregisters a client's probe, which is not registered, though its `rh` says so.
fn unregister_with(client: &Client, rh: *mut rethook) {
    let place = client.probe().kp.addr;
    client.set(|probe| probe.rh = rh);
    assert_eq!(client.reserve(100), EINVAL);
    // SAFETY: A probe that stays.
    unsafe { c::unregister_kretprobes(&mut client.as_c(), 1) };
    assert!(client.probe().kp.addr.is_null());
    client.set(|probe| probe.kp.addr = place);
}

#[test]
fn unregistering_an_unknown_probe_frees_no_store() {
    let (_world, function) = quiet_at(&MOVE);
    let (client, other) = (Client::of(function, 1), Client::of(function + 1, 1));
    assert_eq!(client.register(), 0);
    // The pool of a registered probe, and garbage.
    let rh = client.probe().rh;
    for rh in [rh, GARBAGE] {
        other.set(|probe| probe.rh = rh);
        assert_eq!(other.register(), EINVAL);
        unregister_with(&other, rh);
    }
    assert!(!tend());
    let mut task = Caller::new();
    task.enter(0, function, &[&client]);
    task.leave(0);
    client.expect(1);
    assert_eq!((client.missed(), client.probe().rh), (0, rh));
    // Its own former pool, while that still exists, and when it is freed.
    client.unregister();
    unregister_with(&client, rh);
    nothing_is_left();
    unregister_with(&client, rh);
    assert!(!tend());
}
