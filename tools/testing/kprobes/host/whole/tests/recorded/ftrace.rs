// SPDX-License-Identifier: GPL-2.0

//! Places that ftrace calls from, by one of its two users: the one that watches, or the one that
//! changes where the CPU goes on.
//!
//! At every moment ftrace calls whom it knows. While it calls anybody from a place, one of them,
//! and only one, must handle the hit.

use crate::{
    c,
    client::{
        self,
        Client, //
    },
    cpu,
    world::World, //
};
use core::sync::atomic::{
    AtomicPtr,
    AtomicUsize,
    Ordering::Relaxed, //
};
use kernel::{
    events,
    ftrace, //
};

/// The client whose calls are counted.
static COUNTED: AtomicPtr<Client> = AtomicPtr::new(core::ptr::null_mut());
/// How often it was called by one user where another calls, too.
static BOTH: AtomicUsize = AtomicUsize::new(0);

/// Ftrace calls whom it knows.
fn call_all() {
    // SAFETY: Set to a client that stays, or NULL.
    let client = unsafe { COUNTED.load(Relaxed).as_ref() };
    let (Some(client), calls) = (client, ftrace::calls()) else {
        return;
    };
    let before = client.calls().0;
    for &(at, user) in &calls {
        if let Err(lost) = cpu::call_from(at, user) {
            events::wrong(format!("{lost:?}: ftrace called from {at:#x}"));
        }
    }
    let handled = client.calls().0 - before;
    if !calls.is_empty() && handled != 1 {
        let latest = events::latest();
        events::wrong(format!(
            "{handled} handled what {calls:x?} called for, after {latest:?}"
        ));
    }
    if calls.len() > 1 {
        BOTH.fetch_add(1, Relaxed);
    }
}

/// Registers the first of the clients and has its calls counted until `work` is over.
fn counted(first: &mut [Box<Client>; 1], work: impl FnOnce()) {
    struct Until;
    impl Drop for Until {
        fn drop(&mut self) {
            COUNTED.store(core::ptr::null_mut(), Relaxed);
        }
    }
    let _until = Until;

    BOTH.store(0, Relaxed);
    assert_eq!(client::register(first), 0);
    COUNTED.store(&raw mut *first[0], Relaxed);
    if !cfg!(miri) {
        events::at_every_moment(call_all);
    }
    work();
}

#[test]
fn a_place_is_called_from_while_it_is_known() {
    let mut world = World::new();
    let mut clients = [Client::at(world.traced())];
    assert_eq!(client::register(&mut clients), 0);
    assert_eq!(world.story(), "lock add-a-watch watch-on unlock");
    client::unregister(&mut clients);
    assert_eq!(
        world.story(),
        "lock watch-off remove-a-watch unlock wait free"
    );
}

#[test]
fn who_changes_is_added_before_who_watches_is_removed() {
    let mut world = World::new();
    let place = world.traced();
    let mut first = [Client::at(place)];
    let mut second = [Client::around(place)];
    counted(&mut first, || {
        world.story();
        assert_eq!(client::register(&mut second), 0);
        assert_eq!(
            world.story(),
            "lock add-a-change change-on watch-off remove-a-watch unlock"
        );
    });
    assert!(BOTH.load(Relaxed) > 0 || cfg!(miri));
    client::unregister(&mut second);
    // It stays with the user that it has: nothing is won by changing.
    assert_eq!(world.story(), "lock unlock wait");
    client::unregister(&mut first);
    assert_eq!(
        world.story(),
        "lock change-off remove-a-change unlock wait free"
    );
}

#[test]
fn a_user_stays_as_long_as_it_has_places() {
    let mut world = World::new();
    let mut clients = [Client::at(world.traced()), Client::at(world.traced())];
    assert_eq!(client::register(&mut clients), 0);
    assert_eq!(
        world.story(),
        "lock add-a-watch watch-on add-b-watch unlock"
    );
    client::unregister(&mut clients[..1]);
    assert_eq!(world.story(), "lock remove-a-watch unlock wait free");
    client::unregister(&mut clients[1..]);
    assert_eq!(
        world.story(),
        "lock watch-off remove-b-watch unlock wait free"
    );
}

#[test]
fn the_switch_turns_both_kinds_of_places() {
    let mut world = World::new();
    let mut clients = [
        Client::at(world.place(&cpu::JUMP)),
        Client::at(world.traced()),
    ];
    assert_eq!(client::register(&mut clients), 0);
    world.story();
    // SAFETY: None is needed.
    assert_eq!(unsafe { c::rust_kprobes_enable_all(false) }, 0);
    assert_eq!(
        world.story(),
        "lock [ mend-a sync ] watch-off remove-b-watch unlock"
    );
    // SAFETY: None is needed.
    assert_eq!(unsafe { c::rust_kprobes_enable_all(true) }, 0);
    assert_eq!(
        world.story(),
        "lock [ break-a sync ] add-b-watch watch-on unlock"
    );
    client::unregister(&mut clients);
}
