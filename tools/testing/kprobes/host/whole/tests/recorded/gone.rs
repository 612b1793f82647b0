// SPDX-License-Identifier: GPL-2.0

//! Text that goes while there are probes on it, and probes that go with their module.

use crate::prelude::*;

#[test]
fn unloaded_text_is_not_written() {
    let mut world = World::new();
    let (place, kept) = (world.place(&MOVE), world.place(&JUMP));
    world::module_at(place);
    let clients = client::registered([Client::at(place), Client::at(kept)]);
    world.story();
    world::go(false);
    // An asynchronous call of the module may still reach the text.
    world.has_told("lock [ mend-a sync ] unlock");
    modules::unload();
    // No CPU gets there any more, and other text may be loaded there.
    text::come_again(place);
    let _other = client::registered([Client::at(place)]);
    world.has_told("lock [ copy copy ] [ break-a sync ] unlock wait free tasks");
    client::unregister(&clients);
    world.has_told("lock [ mend-b sync ] unlock wait free");
    // It was among the probes of the new point.
    assert_eq!(clients[0].place(), place);
}

#[test]
fn freed_init_text_takes_only_its_own_places() {
    let mut world = World::new();
    let (init, core) = (world.place(&JUMP), world.place(&JUMP));
    modules::load(Layout {
        init: init..init + 1,
        core: core..core + 1,
        ..Layout::default()
    });
    // While the module is coming.
    world::comes();
    let clients = client::registered([Client::at(init), Client::at(core)]);
    modules::set_coming(false);
    world::go(true);
    text::come_again(init);
    world.story();
    assert_eq!(text::breakpoints().collect::<Vec<_>>(), [core]);
    client::unregister(&clients);
    world.has_told("lock [ mend-b sync ] unlock wait free free");
}

#[test]
fn coming_module_is_refused_until_the_notifier_ran() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    world::module_at(place);
    modules::set_coming(true);
    let clients = [Client::at(place)];
    // No notifier would be called if the load failed now.
    assert_eq!(client::register(&clients), EAGAIN.to_errno());
    world::comes();
    assert_eq!(client::register(&clients), 0);
    // Another notifier refuses the module before ours is called again.
    world::load_failed();
    world.story();
    modules::unload();
    text::come_again(place);
    client::unregister(&clients);
    world.has_told("lock unlock wait free tasks");
}

#[test]
fn load_that_fails_during_registration_is_seen() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    modules::load(Layout {
        load_fails: true,
        ..Layout::of(place..place + 1)
    });
    modules::set_coming(true);
    assert_eq!(client::register(&[Client::at(place)]), EAGAIN.to_errno());
}

#[test]
fn init_text_freed_during_registration_is_seen() {
    let mut world = World::new();
    let init = world.place(&JUMP);
    modules::load(Layout {
        init: init..init + 1,
        init_goes: true,
        ..Layout::default()
    });
    world::comes();
    modules::set_coming(false);
    assert_eq!(client::register(&[Client::at(init)]), ENOENT.to_errno());
}

#[test]
fn late_load_failure_is_handled_once() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    world::module_at(place);
    world::comes();
    let clients = client::registered([Client::at(place)]);
    world::sorted();
    world.story();
    // The module's own clients unregister in between.
    world::load_failed();
    world.has_told("lock unlock");
    assert_eq!(text::breakpoints().count(), 1);
    world::go(false);
    text::come_again(place);
    client::unregister(&clients);
}

#[test]
fn freed_init_text_with_a_symbol_is_no_text() {
    let mut world = World::new();
    let init = world.place(&JUMP);
    modules::keep_names(init..init + 1);
    let clients = [Client::at(init)];
    assert_eq!(client::register(&clients), ENOENT.to_errno());
    modules::unload();
    assert_eq!(client::register(&clients), 0);
}

#[test]
fn a_modules_tables_are_read_once_while_it_stays() {
    let mut world = World::new();
    let (first, last) = (world.place(&MOVE), world.place(&JUMP));
    let core = first.min(last)..first.max(last) + 1;
    modules::load(Layout {
        core: core.clone(),
        trap: Some(first),
        ..Layout::default()
    });
    let (trap, other) = ([Client::at(first)], [Client::at(last)]);
    let before = modules::reads();
    for _ in 0..2 {
        assert_eq!(client::register(&trap), EINVAL.to_errno());
        assert_eq!(client::register(&other), 0);
        assert_eq!(modules::reads(), before + 1);
        client::unregister(&other);
    }
    world::go(false);
    // Another one comes to the same place.
    modules::load(Layout::of(core));
    assert_eq!(client::register(&trap), 0);
    assert_eq!(modules::reads(), before + 2);
    client::unregister(&trap);
    world::go(false);
}

#[test]
fn tables_of_text_that_will_be_freed_are_not_kept() {
    let mut world = World::new();
    let (first, last) = (world.place(&MOVE), world.place(&JUMP));
    let (begin, end) = (first.min(last), first.max(last) + 1);
    let clients = [Client::at(first.max(last))];
    // It is live, and its text for the beginning is still there.
    modules::load(Layout {
        init: begin..end,
        ..Layout::default()
    });
    assert_eq!(client::register(&clients), ENOENT.to_errno());
    // It is freed, and another one comes to a part of it.
    modules::load(Layout {
        core: end - 1..end,
        trap: Some(end - 1),
        ..Layout::default()
    });
    world::comes();
    modules::set_coming(false);
    assert_eq!(client::register(&clients), EINVAL.to_errno());
    world::go(false);
}

#[test]
fn place_is_made_anew_after_a_reload() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let layout = Layout::of(place..place + 1);
    modules::load(layout.clone());
    let old = client::registered([Client::at(place)]);
    world::go(false);
    text::come_again(place);
    modules::load(layout);
    world.story();
    let new = client::registered([Client::at(place)]);
    // The old place is freed only when no CPU can be in it.
    world.has_told("lock [ copy copy ] [ break-a sync ] unlock wait free tasks");
    let calls = old[0].calls();
    cpu::come_to(place);
    assert_eq!(old[0].calls(), calls);
    client::unregister(&old);
    world.has_told("lock unlock wait");
    old[0].set(|probe| assert_eq!(probe.flags & 3, 1, "gone, not disabled"));
    client::unregister(&new);
    // Its copies wait with those of the old place.
    world.has_told("lock [ mend-a sync ] unlock wait free");
}

#[test]
fn forgotten_probe_is_removed_before_its_module() {
    let mut world = World::new();
    let (place, shared) = (world.place(&JUMP), world.place(&JUMP));
    let forgotten = client::registered([Client::at(place), Client::at(shared)]);
    let others = client::registered([Client::at(shared)]);
    world.story();
    let memory = forgotten.each_ref().map(|client| client.as_c() as u64);
    modules::load(Layout {
        init: memory[0]..memory[0] + 1,
        core: memory[1]..memory[1] + 1,
        ..Layout::default()
    });
    world::go(false);
    // Its place is disarmed; the shared one still has a probe.
    world.has_told("lock [ mend-a sync ] unlock wait free");
    client::forget(&forgotten);
    drop(forgotten);
    cpu::come_to(shared);
    assert!(!cpu::is_known(place));
    client::unregister(&others);
    world.has_told("lock [ mend-b sync ] unlock wait free");
    assert!(events::history().is_empty());
}
