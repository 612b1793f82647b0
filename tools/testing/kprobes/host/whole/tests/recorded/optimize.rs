// SPDX-License-Identifier: GPL-2.0

//! Jumps in the place of breakpoints: what is written, in which order, and what all CPUs are made
//! to see.
//!
//! At every moment a CPU comes to each breakpoint and each jump, and a task is put aside wherever
//! that leads: in a copy, in a detour, behind the instruction. The kernel complains when a jump is
//! written under one of them, or a detour freed.

use crate::prelude::*;

/// Instructions of three bytes each, so that a jump is over the second one.
const MOVES: [u8; 12] = [
    0x48, 0x89, 0xc3, 0x48, 0x89, 0xc3, 0x48, 0x89, 0xc3, 0x48, 0x89, 0xc3,
];
const INSN: u64 = MOVE.len() as u64;

/// One that is emulated, with room for a jump.
const LONG_JUMP: [u8; 5] = [JUMP[0], JUMP[1], 0x90, 0x90, 0x90];

const BATCH: usize = 256;

fn allow(on: bool) {
    c::rust_kprobes_allow_jumps(on);
}

fn switch(on: bool) {
    assert_eq!(c::rust_kprobes_enable_all(on), 0);
}

fn flush() {
    // SAFETY: No lock is held.
    unsafe { c::wait_for_kprobe_optimizer() };
}

fn jumps() -> Vec<u64> {
    text::jumps().collect()
}

/// A kernel in which there are to be jumps, and tasks are put aside at every moment.
pub(crate) fn world() -> World {
    let world = World::new();
    allow(true);
    // What there is to know of the kernel's text is found out once, under another lock.
    let first = client::registered([Client::at(cpu::function(&MOVES))]);
    client::unregister(&first);
    work();
    rcu_tasks::grace_period();
    // Slots have become free.
    work();
    events::at_every_moment(cpu::be_put_aside_everywhere);
    events::history();
    world
}

/// Lets the worker do what it is to do; tells how many passes that takes.
pub(crate) fn work() -> usize {
    (0..).take_while(|_| worker::run()).count()
}

/// A place with a jump, and its client.
fn jumped(world: &mut World) -> (u64, [Client; 1]) {
    let place = world.place(&MOVES);
    let clients = client::registered([Client::at(place)]);
    work();
    assert_eq!(jumps(), [place]);
    world.story();
    (place, clients)
}

#[test]
fn jump_is_written_after_a_wait_without_locks() {
    let mut world = world();
    let clients = client::registered([Client::at(world.place(&MOVES))]);
    world.has_told("lock [ copy copy ] [ break-a sync detour kick ] unlock");
    assert_eq!(work(), 1);
    world.has_told("lock unlock begin over lock [ jump-a sync sync sync ] unlock");
    let before = clients[0].calls().0;
    cpu::come_by_jump(clients[0].place());
    assert_eq!(clients[0].calls().0, before + 1);
    client::unregister(&clients);
    world.has_told("lock [ break-a sync tail-a sync mend-a sync ] unlock wait free tasks tasks");
    // Tasks are in the detour until it is freed.
    assert!(rcu_tasks::aside() > 0);
}

#[test]
fn hits_of_queued_places_go_to_the_detour() {
    let mut world = world();
    let place = world.place(&MOVES);
    let clients = [Client::at(place)];
    let leads = || {
        let mut registers = cpu::registers(place + 1);
        assert_eq!(cpu::trap(&mut registers, cpu::Lost::Breakpoint), Ok(()));
        text::detoured(registers.ip as u64)
    };
    assert_eq!(client::register(&clients), 0);
    assert_eq!(leads(), Some(place));
    assert_eq!(clients[0].disable(), 0);
    allow(false);
    assert_eq!(clients[0].enable(), 0);
    assert_eq!(leads(), None);
}

#[test]
fn writing_a_batch_takes_three_rounds_removing_it_two() {
    let mut world = world();
    events::at_every_moment(|| ());
    let rounds = |story: &str| story.matches("sync").count();
    let places: Vec<_> = (0..BATCH + 44).map(|_| world.place(&MOVES)).collect();
    // In another order than that of addresses.
    let clients: Vec<_> = places.iter().rev().map(|&at| Client::at(at)).collect();
    assert_eq!(client::register(&clients), 0);
    let story = world.story();
    assert_eq!((rounds(&story), story.matches("kick").count()), (1, 1));
    assert_eq!(work(), 1);
    let story = world.story();
    assert_eq!(story.matches("jump-").count(), BATCH + 44);
    assert_eq!((rounds(&story), story.matches("begin").count()), (6, 1));
    // The worker gives up the lock in between.
    let turns = story.split("unlock lock [ jump-").skip(1);
    let jumps: Vec<_> = turns.map(|turn| turn.matches("jump-").count()).collect();
    assert_eq!(jumps, [43]);
    switch(false);
    let story = world.story();
    // Two for the jumps, and one for the breakpoints.
    assert_eq!((rounds(&story), story.matches("tail-").count()), (3, 300));
    switch(true);
    work();
    world.story();
    client::unregister(&clients);
    // The same again.
    assert_eq!(rounds(&world.story()), 3);
}

/// The worker makes a pass, and the client does something while it waits.
fn during_the_wait(client: &Client, does: fn()) {
    client::set_other(client);
    rcu_tasks::meanwhile(does);
    assert!(worker::run());
}

#[test]
fn place_requeued_during_the_wait_waits_again() {
    let mut world = world();
    let clients = client::registered([Client::at(world.place(&MOVES))]);
    during_the_wait(&clients[0], || {
        assert_eq!(client::other().disable(), 0);
        assert_eq!(client::other().enable(), 0);
    });
    assert_eq!(jumps(), []);
    world.story();
    // It was not forgotten.
    assert_eq!(work(), 1);
    world.has_told("lock unlock begin over lock [ jump-a sync sync sync ] unlock");
}

#[test]
fn place_that_leaves_during_the_wait_gets_no_jump() {
    let mut world = world();
    let clients = [Client::at(world.place(&MOVES))];
    let unregister = || client::other().unregister();
    for leaves in [unregister, || allow(false), || switch(false)] {
        assert_eq!(client::register(&clients), 0);
        world.story();
        during_the_wait(&clients[0], leaves);
        assert!(!world.story().contains("jump-"));
        if cpu::is_known(clients[0].place()) {
            client::unregister(&clients);
        }
        switch(true);
        allow(true);
        assert_eq!(work(), 0);
    }
}

#[test]
fn obstacle_that_comes_during_the_wait_stops_the_jump() {
    // A handler after the instruction, and a breakpoint that the jump would be over.
    for (offset, after) in [(0, true), (INSN, false)] {
        let mut world = world();
        let place = world.place(&MOVES);
        let _first = client::registered([Client::at(place)]);
        let at = world.name(place + offset);
        let second = [Client::at, Client::around][usize::from(after)](at);
        during_the_wait(&second, || assert_eq!(client::other().register(), 0));
        assert_eq!(jumps(), []);
        // The breakpoint's own jump covers no other place.
        let its_own = if after { vec![] } else { vec![at] };
        assert_eq!((work(), jumps()), (its_own.len(), its_own));
        cpu::come_to_all();
        let (before, calls_after) = second.calls();
        assert_eq!(calls_after, if after { before } else { 0 });
        assert!(before > 0);
        second.unregister();
        assert_eq!((work(), jumps()), (1, vec![place]));
    }
}

#[test]
fn post_handler_removes_the_jump_first() {
    let mut world = world();
    let (place, _first) = jumped(&mut world);
    let second = client::registered([Client::around(place)]);
    world.has_told("lock [ break-a sync tail-a sync ] unlock");
    let (before, after) = second[0].calls();
    assert!(before > 0 && before == after);
    client::unregister(&second);
    world.has_told("lock kick unlock wait");
    assert_eq!(work(), 1);
    assert_eq!(jumps(), [place]);
}

#[test]
fn cpu_late_in_a_detour_misses_a_post_handler_probe() {
    let mut world = world();
    let (place, first) = jumped(&mut world);
    let detour = cpu::come_by_jump(place);
    let second = client::registered([Client::around(place)]);
    let calls = || (first[0].calls().0, second[0].calls(), second[0].missed());
    let before = calls();
    cpu::come_late(place, detour);
    assert_eq!(calls(), (before.0 + 1, before.1, before.2 + 1));
}

#[test]
fn probe_without_post_handler_keeps_the_jump() {
    let mut world = world();
    let (place, first) = jumped(&mut world);
    let second = client::registered([Client::at(place)]);
    world.has_told("lock unlock");
    let before = [&first, &second].map(|one| one[0].calls().0);
    cpu::come_by_jump(place);
    let now = [&first, &second].map(|one| one[0].calls().0);
    assert_eq!(now, before.map(|count| count + 1));
    client::unregister(&first);
    world.has_told("lock unlock wait");
    client::unregister(&second);
    assert!(world
        .story()
        .starts_with("lock [ break-a sync tail-a sync mend-a sync ]"));
}

#[test]
fn breakpoint_inside_a_jump_removes_the_jump_first() {
    let mut world = world();
    let (place, _first) = jumped(&mut world);
    let inside = world.name(place + INSN);
    let second = client::registered([Client::at(inside)]);
    world.has_told(
        "lock [ copy copy ] [ break-a sync tail-a sync break-b sync detour kick ] unlock",
    );
    // The new place's own jump covers no other place.
    assert_eq!((work(), jumps()), (1, vec![inside]));
    world.story();
    assert_eq!(second[0].disable(), 0);
    world.has_told("lock [ break-b sync tail-b sync mend-b sync kick ] unlock");
    assert_eq!((work(), jumps()), (1, vec![place]));
    world.story();
    assert_eq!(second[0].enable(), 0);
    world.has_told("lock [ break-a sync tail-a sync break-b sync kick ] unlock");
    client::unregister(&second);
    assert_eq!((work(), jumps()), (1, vec![place]));
}

#[test]
fn only_the_last_of_overlapping_places_gets_a_jump() {
    let mut world = world();
    let place = world.place(&[&MOVE[..], &MOVE, &[0x90], &MOVES].concat());
    // The last one is in the last byte of the jump at the second one.
    let places = [0, INSN, 2 * INSN + 1].map(|distance| world.name(place + distance));
    let clients = client::registered(places.map(Client::at));
    assert_eq!((work(), jumps()), (1, vec![places[2]]));
    client::unregister(&clients);
    assert_eq!(jumps(), []);
}

#[test]
fn switches_remove_all_jumps_at_once() {
    let mut world = world();
    let (place, first) = jumped(&mut world);
    let second = client::registered([Client::at(world.place(&MOVES))]);
    world.story();
    // One with a jump, and one in the queue.
    allow(false);
    world.has_told("lock [ break-a sync tail-a sync ] unlock");
    assert_eq!((work(), jumps()), (1, vec![]));
    world.story();
    allow(true);
    world.has_told("lock kick unlock");
    assert_eq!((work(), jumps().len()), (1, 2));
    world.story();
    switch(false);
    assert_eq!(jumps(), []);
    assert!(world.story().ends_with("sync ] unlock"));
    // What is registered meanwhile waits for the switch.
    let third = client::registered([Client::at(world.place(&MOVES))]);
    assert_eq!(work(), 0);
    switch(true);
    assert_eq!((work(), jumps().len()), (1, 3));
    assert!(jumps().contains(&place));
    for clients in [first, second, third] {
        client::unregister(&clients);
    }
}

#[test]
fn there_are_no_jumps_before_the_worker_can_run() {
    let mut world = World::new();
    assert!(!c::rust_kprobes_jumps_allowed());
    world.story();
    let _clients = client::registered([Client::at(world.place(&MOVES))]);
    world.has_told("lock [ copy copy ] [ break-a sync ] unlock");
    flush();
    world.has_told("lock unlock");
    allow(true);
    world.has_told("lock [ detour kick ] unlock");
    assert!(c::rust_kprobes_jumps_allowed());
}

#[test]
fn a_flush_ends_when_nothing_is_queued() {
    let mut world = world();
    let clients = client::registered([Client::at(world.place(&MOVES))]);
    world.story();
    flush();
    let pass = "lock unlock begin over lock [ jump-a sync sync sync ] unlock";
    world.has_told(&format!("lock unlock {pass} lock unlock"));
    flush();
    world.has_told("lock unlock");
    // What is queued anew in the middle is waited for, too.
    assert_eq!(clients[0].disable(), 0);
    assert_eq!(clients[0].enable(), 0);
    client::set_other(&clients[0]);
    rcu_tasks::meanwhile(|| {
        assert_eq!(client::other().disable(), 0);
        assert_eq!(client::other().enable(), 0);
    });
    flush();
    assert_eq!(jumps().len(), 1);
}

/// What of the events since this was last asked `choose` chooses.
fn events_of<T>(choose: fn(Event) -> Option<T>) -> Vec<T> {
    events::history().into_iter().filter_map(choose).collect()
}

/// The pieces of text that were searched for branches. (To do so without the lock is wrong.)
fn searched() -> Vec<Range<u64>> {
    events_of(|event| match event {
        Event::Searched(start, end) => Some(start..end),
        _ => None,
    })
}

#[test]
fn a_function_is_decoded_once_for_a_batch() {
    let mut world = world();
    let places = [world.place(&MOVES), world.place(&MOVES)];
    let inside = places.map(|place| world.name(place + 2 * INSN));
    let clients = [places[0], places[1], inside[0], inside[1]].map(Client::at);
    assert_eq!(client::register(&clients), 0);
    let decoded = events_of(|event| match event {
        Event::Decoded(function) => Some(function),
        _ => None,
    });
    assert_eq!(decoded, places);
}

/// Two functions of a module, with a gap before each.
fn two(world: &mut World) -> ([u64; 2], Layout) {
    let gap = world.place(&MOVES) + MOVES.len() as u64 + 1;
    let places = [world.place(&MOVES), world.place(&MOVES)];
    let core = gap..places[1] + MOVES.len() as u64 + 1;
    (places, Layout::of(core))
}

#[test]
fn all_of_a_module_is_searched() {
    let mut world = world();
    let ([first, second], layout) = two(&mut world);
    let core = layout.core.clone();
    modules::load(layout);
    let _clients = client::registered([Client::at(second)]);
    // What is before the first function as well.
    let pieces = [core.start..first, first..second, second..core.end];
    assert_eq!(searched(), pieces);
}

#[test]
fn a_module_is_searched_once_while_nothing_happens_to_it() {
    let mut world = world();
    let other = world.place(&MOVES);
    let ([first, second], layout) = two(&mut world);
    let times = |place| {
        let clients = client::registered([Client::at(place)]);
        client::unregister(&clients);
        searched().len() / 3
    };
    modules::load(layout.clone());
    assert_eq!([times(first), times(second)], [1, 0]);
    // Something happens to another one.
    world::module_at(other);
    world::go(false);
    modules::load(layout);
    assert_eq!(times(first), 0);
    world::go(true);
    assert_eq!([times(first), times(second)], [1, 0]);
}

#[test]
fn coming_module_gets_jumps_once_its_tables_are_sorted() {
    let mut world = world();
    let (places, layout) = two(&mut world);
    modules::load(layout);
    world::comes();
    let clients = client::registered(places.map(Client::at));
    work();
    // Its tables are being sorted, so they are not read for a jump.
    assert_eq!((jumps(), searched()), (vec![], vec![]));
    let reason = bindings::kprobe_no_jump_reason_KPROBE_NO_JUMP_MODULE_COMING;
    let text = "the module is being loaded, and its tables are not in order yet";
    assert_eq!(why(&clients[0]), Some((reason, 0, text)));
    world::sorted();
    assert_eq!((work(), jumps()), (1, places.to_vec()));
    assert_eq!(searched().len(), 3);
    assert_eq!(why(&clients[0]), None);
    modules::set_coming(false);
    world::go(true);
    assert_eq!(jumps(), places);
    client::unregister(&clients);
    world::go(false);
}

#[test]
fn no_jump_is_written_to_unloaded_text() {
    let mut world = world();
    let (place, first) = jumped(&mut world);
    let queued = world.place(&MOVES);
    world::module_at(queued);
    let second = client::registered([Client::at(queued)]);
    during_the_wait(&second[0], || {
        world::go(false);
        text::come_again(client::other().place());
    });
    assert_eq!(jumps(), [place]);
    world::module_at(place);
    world.story();
    world::go(false);
    world.has_told("lock [ break-a sync tail-a sync mend-a sync ] unlock");
    modules::unload();
    text::come_again(place);
    allow(false);
    world.has_told("lock unlock");
    client::unregister(&first);
    client::unregister(&second);
    assert_eq!(work(), 0);
}

#[test]
fn post_handler_of_unloaded_text_prevents_no_jump() {
    let mut world = world();
    let place = world.place(&MOVES);
    let layout = Layout::of(place..place + MOVES.len() as u64);
    modules::load(layout.clone());
    let gone = client::registered([Client::around(place)]);
    world::go(false);
    text::come_again(place);
    modules::load(layout);
    let new = client::registered([Client::at(place)]);
    work();
    assert_eq!(jumps(), [place]);
    client::unregister(&new);
    client::unregister(&gone);
    world::go(false);
}

#[test]
fn forgotten_probe_loses_its_jump_before_its_module() {
    let mut world = world();
    let (_, forgotten) = jumped(&mut world);
    world::forget_with_module(&forgotten);
    world.has_told("lock [ break-a sync tail-a sync mend-a sync ] unlock wait free tasks tasks");
}

#[test]
fn a_forgotten_probe_makes_room_for_a_jump() {
    let mut world = world();
    let place = world.place(&MOVES);
    let _first = client::registered([Client::at(place)]);
    let forgotten = client::registered([Client::at(world.name(place + INSN))]);
    assert_eq!((work(), jumps()), (1, vec![place + INSN]));
    world::forget_with_module(&forgotten);
    assert_eq!((work(), jumps()), (1, vec![place]));
}

/// Registers and works with the `call` refused that comes after so many others, for every number
/// there is; tells how often all was well but for the jump.
fn each_refused(call: Call) -> usize {
    let mut plain = 0;
    for after in 0.. {
        let mut world = world();
        let place = world.place(&MOVES);
        let clients = [Client::at(place)];
        faults::refuse(call, after);
        let status = client::register(&clients);
        work();
        let all_granted = faults::none();
        if status == 0 {
            cpu::come_to_all();
            assert!(clients[0].calls().0 > 0 && clients[0].missed() == 0);
            assert_eq!(jumps().len(), usize::from(all_granted));
            plain += usize::from(!all_granted);
            // Another time there is memory.
            assert_eq!(clients[0].disable(), 0);
            assert_eq!(clients[0].enable(), 0);
            work();
            assert_eq!(jumps(), [place]);
            client::unregister(&clients);
        } else {
            assert_eq!(text::breakpoints().count(), 0);
        }
        if all_granted {
            break;
        }
    }
    plain
}

#[test]
fn without_memory_a_probe_stays_on_its_breakpoint() {
    assert_eq!(each_refused(Call::Allocate), 2);
    assert_eq!(each_refused(Call::ExecutablePage), 1);
}

#[test]
fn jump_is_retried_after_waiting_slots_are_freed() {
    let mut world = world();
    let (_, gone) = jumped(&mut world);
    client::unregister(&gone);
    let place = world.place(&MOVES);
    faults::refuse(Call::ExecutablePage, 0);
    world.story();
    let _clients = client::registered([Client::at(place)]);
    let story = world.story();
    assert!(!faults::none(), "{story}");
    assert!(story.ends_with("kick ] unlock"), "{story}");
    // One that waits and asks again, and one that writes the jump.
    assert_eq!((work(), jumps()), (2, vec![place]));
}

/// What a client is told who asks why its probe is no jump: its number, where, and in words.
fn why(client: &Client) -> Option<(u32, u64, &'static str)> {
    let mut why = bindings::kprobe_no_jump {
        reason: 0,
        at: 0,
        text: core::ptr::null(),
    };
    // SAFETY: The client is there, and so is what is written to.
    if unsafe { c::kprobe_why_no_jump(client.as_c(), &mut why) } != 1 {
        assert_eq!((why.reason, why.text), (0, core::ptr::null()));
        return None;
    }
    // SAFETY: A text, by the interface.
    let text = unsafe { core::ffi::CStr::from_ptr(why.text.cast()) };
    Some((why.reason, why.at as u64, text.to_str().unwrap()))
}

#[test]
fn temporary_obstacles_are_checked_again() {
    for (obstacle, reason, text) in [
        (
            Obstacle::Debugger,
            bindings::kprobe_no_jump_reason_KPROBE_NO_JUMP_DEBUGGER,
            "a debugger has a breakpoint in the function",
        ),
        (
            Obstacle::NoInsn,
            bindings::kprobe_no_jump_reason_KPROBE_NO_JUMP_CANNOT_DECODE,
            "the function has bytes that cannot be decoded",
        ),
        (
            Obstacle::Detours,
            bindings::kprobe_no_jump_reason_KPROBE_NO_JUMP_DETOURS_WAIT,
            "too many detours wait for Tasks RCU",
        ),
    ] {
        let mut world = world();
        let place = world.place(&MOVES);
        faults::obstruct(Some(obstacle));
        let clients = client::registered([Client::at(place)]);
        work();
        assert_eq!(jumps(), []);
        let at = if obstacle == Obstacle::NoInsn {
            place
        } else {
            0
        };
        assert_eq!(why(&clients[0]), Some((reason, at, text)));
        faults::obstruct(None);
        // As with C, when another probe is registered at the place.
        let second = client::registered([Client::at(place)]);
        work();
        assert_eq!(jumps(), [place]);
        assert_eq!(why(&clients[0]), None);
        client::unregister(&clients);
        client::unregister(&second);
    }
}

#[test]
fn unregistering_needs_no_memory() {
    let mut world = world();
    let (place, first) = jumped(&mut world);
    let inside = client::registered([Client::at(place + INSN)]);
    faults::refuse(Call::Allocate, 0);
    client::unregister(&inside);
    assert_eq!((work(), jumps()), (1, vec![place]));
    client::unregister(&first);
    assert!(faults::none());
}

#[test]
fn list_shows_queued_places_as_optimized() {
    let mut world = world();
    // One that is emulated.
    let _clients = client::registered([Client::at(world.place(&LONG_JUMP))]);
    let shown = || files::list().contains("[OPTIMIZED]");
    assert!(shown());
    assert_eq!((work(), jumps().len()), (1, 1));
    assert!(shown());
    allow(false);
    assert!(!shown());
}
