// SPDX-License-Identifier: GPL-2.0

//! The kernel refuses something in the middle: whatever it is, nothing is left of what was begun.

use crate::prelude::*;

/// Registers probes on all kinds of places, with the `call` refused that comes after so many
/// others, for every number there is; tells how many there are.
fn each_refused(call: Call, status: Error) -> usize {
    for after in 0.. {
        let mut world = World::new();
        let (moved, jump) = (world.place(&MOVE), world.place(&JUMP));
        let (one, other) = (world.traced(), world.traced());
        let clients = [
            Client::at(moved),
            Client::at(jump),
            Client::at(one),
            Client::around(moved),
            Client::around(one),
            Client::around(other),
        ];
        faults::refuse(call, after);
        let found = client::register(&clients);
        if faults::none() {
            assert_eq!(found, 0);
            client::unregister(&clients);
            return after;
        }
        assert_eq!(found, status.to_errno());
        for place in [moved, jump, one, other] {
            assert!(!cpu::is_known(place));
        }
        assert_eq!(text::breakpoints().count(), 0);
        assert_eq!(ftrace::calls(), []);
        // What they had is theirs again: they can try once more.
        assert_eq!(client::register(&clients), 0);
        client::unregister(&clients);
    }
    unreachable!("there are numbers enough")
}

#[test]
fn refused_memory_undoes_the_batch() {
    // The list for the batch, and the places.
    assert!(each_refused(Call::Allocate, ENOMEM) >= 5);
}

#[test]
fn refused_call_of_ftrace_undoes_the_batch() {
    // One for each user.
    assert_eq!(each_refused(Call::FtraceRegister, EBUSY), 2);
}

#[test]
fn refused_ftrace_filter_undoes_the_batch() {
    let mut world = World::new();
    let clients = [Client::at(world.place(&JUMP)), Client::at(world.traced())];
    faults::refuse(Call::FtraceFilter, 0);
    assert_eq!(client::register(&clients), EBUSY.to_errno());
    world.has_told("lock wait free unlock lock unlock wait free");
    let traced = clients[1].place();
    assert_eq!(client::register(&clients), 0);
    let others = client::registered([Client::at(world.traced())]);
    faults::refuse(Call::FtraceFilter, 0);
    assert_eq!(clients[1].disable(), EBUSY.to_errno());
    assert_eq!(cpu::call_from(traced, false), Ok(()));
    assert_eq!(clients[1].disable(), 0);
    faults::refuse(Call::FtraceFilter, 0);
    assert_eq!(clients[1].enable(), EBUSY.to_errno());
    assert_eq!(clients[1].enable(), 0);
    // A place that stays in the filter only causes useless calls, while there are others.
    faults::refuse(Call::FtraceFilter, 0);
    client::unregister(&clients);
    assert!(!faults::none());
    assert!(ftrace::calls().contains(&(traced, false)));
    client::unregister(&others);
    assert_eq!(ftrace::calls(), []);
}

#[test]
fn hits_are_handled_while_ftrace_keeps_calling() {
    // Each of the two users of a place.
    for after in 0..2 {
        let mut world = World::new();
        let place = world.traced();
        let clients = client::registered([Client::at(place), Client::around(place)]);
        assert_eq!(clients[1].disable(), 0);
        faults::refuse(Call::FtraceUnregister, after);
        assert_eq!(clients[0].disable(), EBUSY.to_errno());
        // One of the users that are still called handles the hits.
        let calls = ftrace::calls();
        assert_eq!(calls.len(), 2 - after);
        for &(at, user) in calls.iter().filter(|_| !cfg!(miri)) {
            assert_eq!(cpu::call_from(at, user), Ok(()));
        }
        assert_eq!(clients[0].calls().0, usize::from(!cfg!(miri)));
        assert_eq!(clients[0].disable(), 0);
        assert_eq!(ftrace::calls(), []);
        client::unregister(&clients);
    }
}

#[test]
fn refused_page_for_copies_undoes_the_batch() {
    let mut world = World::new();
    // The page that is always kept is full with these.
    let _clients = client::registered(world.clients(&MOVE, PAGE_OF_COPIES));
    let pages = text::pages();
    let late = [&JUMP[..], &MOVE].map(|insn| Client::at(world.place(insn)));
    world.story();
    faults::refuse(Call::ExecutablePage, 0);
    assert_eq!(client::register(&late), ENOMEM.to_errno());
    assert!(!faults::none());
    world.has_told("lock unlock lock unlock wait free");
    assert_eq!(text::pages(), pages);
    assert_eq!(client::register(&late), 0);
}

const PAGE_OF_COPIES: usize = 64;

/// What the file of refusals says last, to somebody who may not see addresses.
fn said_last() -> String {
    let text = crate::files::refused();
    text.lines().last().unwrap_or_default().into()
}

#[test]
#[cfg(not(miri))]
fn list_of_refusals_hides_addresses() {
    let mut world = World::new();
    let place = world.place(&JUMP);
    let clients = [Client::at(place + 1)];
    assert_eq!(client::register(&clients), EILSEQ.to_errno());
    assert!(said_last().starts_with("function+0x1/0x3  -84  "));
    // Without its module, only the address could be shown.
    text::clear();
    let said = said_last();
    assert!(said.starts_with("0x") && said.contains("  -84  "));
    assert!(!said.contains(&format!("{:x}", place + 1)));
}

#[test]
fn unregistration_is_never_refused() {
    let mut world = World::new();
    let place = world.traced();
    let clients = client::registered([Client::at(place)]);
    world.story();
    faults::refuse(Call::FtraceUnregister, 0);
    client::unregister(&clients);
    world.has_told("lock unlock wait free");
    // Ftrace goes on to call, and nobody minds.
    assert_eq!(ftrace::calls(), [(place, false)]);
    // The next one who comes there is the last to go.
    assert_eq!(client::register(&clients), 0);
    world.has_told("lock add-a-watch unlock");
    client::unregister(&clients);
    world.has_told("lock watch-off unlock wait free");
}

#[test]
fn switch_returns_the_errno_of_ftrace() {
    let mut world = World::new();
    let (place, jump) = (world.traced(), world.place(&JUMP));
    let clients = client::registered([Client::at(place), Client::at(jump)]);
    let switch = |on| c::rust_kprobes_enable_all(on);
    assert_eq!(switch(false), 0);
    faults::refuse(Call::FtraceRegister, 0);
    assert_eq!(switch(true), EBUSY.to_errno());
    // All else is done, and the switch is on.
    assert_eq!(ftrace::calls(), []);
    assert_eq!(text::breakpoints().collect::<Vec<_>>(), [jump]);
    assert_eq!(switch(true), 0);
    assert_eq!(ftrace::calls(), []);
    assert_eq!(clients[0].disable(), 0);
    assert_eq!(clients[0].enable(), 0);
    assert_eq!(ftrace::calls(), [(place, false)]);
}

#[test]
fn place_that_ftrace_kept_is_removed_with_the_next() {
    let mut world = World::new();
    let (kept, next) = (world.traced(), world.traced());
    let clients = client::registered([Client::at(kept)]);
    faults::refuse(Call::FtraceUnregister, 0);
    client::unregister(&clients);
    assert_eq!(ftrace::calls(), [(kept, false)]);
    let others = client::registered([Client::at(next)]);
    assert_eq!(ftrace::calls(), [(next, false)]);
    world.story();
    client::unregister(&others);
    world.has_told("lock watch-off unlock wait free");
}

#[test]
fn unloaded_text_takes_kept_ftrace_places_with_it() {
    let mut world = World::new();
    let (goes, next) = (world.traced(), world.traced());
    world::module_at(goes);
    let clients = client::registered([Client::at(goes)]);
    faults::refuse(Call::FtraceUnregister, 0);
    world::go(false);
    assert!(!faults::none());
    client::unregister(&clients);
    modules::unload();
    let others = client::registered([Client::at(next)]);
    world.story();
    client::unregister(&others);
    world.has_told("lock watch-off unlock wait free");
}
