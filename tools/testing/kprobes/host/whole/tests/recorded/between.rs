// SPDX-License-Identifier: GPL-2.0

//! A CPU comes to all breakpoints after each instruction of what changes them, and changes come
//! after each instruction of a hit.

use crate::prelude::*;

static HITS: AtomicUsize = AtomicUsize::new(0);
/// Where the first hit was lost.
static LOST: AtomicU64 = AtomicU64::new(0);

/// A CPU comes to each breakpoint that it may find. Takes no lock and no memory, since whoever is
/// interrupted may have the same.
fn come_to_all() {
    for at in text::breakpoints() {
        HITS.fetch_add(1, Relaxed);
        if cpu::come(at).is_err() {
            let _ = LOST.compare_exchange(0, at, Relaxed, Relaxed);
        }
    }
}

/// No hit is lost after any of the instructions of `work`.
fn throughout(work: impl FnOnce()) {
    events::at_every_moment(|| ());
    HITS.store(0, Relaxed);
    LOST.store(0, Relaxed);
    let instructions = stepping::each(work, come_to_all);
    assert_eq!(LOST.load(Relaxed), 0, "in one of {instructions}");
    assert!(instructions > 1000);
}

#[test]
fn hits_are_handled_while_probes_come_and_go() {
    let mut world = World::new();
    let (first, second) = (world.place(&MOVE), world.place(&JUMP));
    let clients = [
        Client::at(first),
        Client::around(second),
        Client::around(first),
    ];
    throughout(|| {
        assert_eq!(client::register(&clients), 0);
    });
    assert!(HITS.load(Relaxed) > 0);
    throughout(|| client::unregister(&clients[2..]));
    throughout(|| client::unregister(&clients[..2]));
    assert!(HITS.load(Relaxed) > 0);
}

#[test]
fn no_hit_is_lost_while_another_probe_comes_and_goes() {
    let mut world = World::new();
    let place = world.place(&JUMP);
    let stays = client::registered([Client::at(place)]);
    let other = Client::at(place);
    let before = stays[0].calls().0;
    throughout(|| assert_eq!(other.register(), 0));
    let hits = HITS.load(Relaxed);
    throughout(|| other.unregister());
    let hits = hits + HITS.load(Relaxed);
    assert_eq!(stays[0].calls().0 - before, hits);
}

#[test]
fn hits_are_handled_while_probes_turn_on_and_off() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let clients = client::registered([Client::at(place), Client::around(place)]);
    throughout(|| {
        assert_eq!(clients[0].disable(), 0);
        assert_eq!(clients[1].disable(), 0);
        assert_eq!(clients[1].enable(), 0);
        assert_eq!(clients[0].enable(), 0);
    });
    throughout(|| {
        for on in [false, true] {
            assert_eq!(c::rust_kprobes_enable_all(on), 0);
        }
    });
}

/// The change comes after each instruction of a hit of `place`, and is undone again.
fn in_a_hit(place: u64, change: fn(), undo: fn()) {
    events::at_every_moment(|| ());
    for after in 0.. {
        let mut ended = None;
        let came = stepping::once(|| ended = Some(cpu::come(place)), change, after);
        assert_eq!(ended, Some(Ok(())), "after {after} instructions");
        assert!(cpu::is_idle());
        if !came {
            assert!(after > 20);
            return;
        }
        undo();
    }
}

/// In a hit of one probe `change` comes for another one at the same place, which `is_there` before.
fn in_a_hit_of_another(is_there: bool, change: fn(), undo: fn()) {
    for insn in [MOVE.as_slice(), &JUMP] {
        let mut world = World::new();
        let place = world.place(insn);
        let first = client::registered([Client::at(place)]);
        let second = Client::around(place);
        if is_there {
            assert_eq!(second.register(), 0);
        }
        client::set_other(&second);
        let before = first[0].calls().0;
        in_a_hit(place, change, undo);
        assert!(first[0].calls().0 > before);
        assert_eq!(first[0].missed(), 0);
        assert!(!first[0].has_strayed() && !second.has_strayed());
        if is_there {
            second.unregister();
        }
        client::unregister(&first);
    }
}

#[test]
fn hit_is_handled_while_another_probe_joins() {
    let join = || assert_eq!(client::other().register(), 0);
    in_a_hit_of_another(false, join, || client::other().unregister());
}

#[test]
fn hit_is_handled_while_another_probe_is_disabled() {
    let disable = || assert_eq!(client::other().disable(), 0);
    let enable = || assert_eq!(client::other().enable(), 0);
    in_a_hit_of_another(true, disable, enable);
}

#[test]
fn probe_that_came_in_a_step_is_called_after_it() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let (first, second) = (Client::around(place), Client::around(place));
    events::at_every_moment(|| ());
    assert_eq!(first.register(), 0);
    let mut registers = cpu::registers(place + 1);
    assert_eq!(cpu::trap(&mut registers, Lost::Breakpoint), Ok(()));
    assert_eq!(second.register(), 0);
    first.unregister();
    assert_eq!(cpu::finish(place, &mut registers), Ok(()));
    assert_eq!(first.calls(), (1, 0));
    assert_eq!(second.calls(), (0, 1));
    assert!(!second.has_strayed());
}
