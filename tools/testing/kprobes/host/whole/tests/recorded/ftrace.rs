// SPDX-License-Identifier: GPL-2.0

//! Places that ftrace calls from, by one of our two users: the plain user, or the IPMODIFY user.
//!
//! At every moment ftrace calls whom it knows. While it calls anybody from a place, one of them,
//! and only one, must handle the hit.

use crate::prelude::*;

/// The client whose calls are counted.
static COUNTED: AtomicPtr<Client> = AtomicPtr::new(core::ptr::null_mut());
/// How often it was called by one user where another calls, too.
static BOTH: AtomicUsize = AtomicUsize::new(0);
/// The hits that have not come to their ends.
static HITS: Mutex<Vec<Hit>> = Mutex::new(Vec::new());

/// A hit: whom ftrace calls for it, as it was when it came.
struct Hit {
    calls: Vec<(u64, bool)>,
    called: usize,
    /// How often that called the client.
    handled: usize,
}

impl Hit {
    /// Makes some of its calls.
    fn call(&mut self, calls: usize, client: &Client) {
        let before = client.calls().0;
        for &(at, user) in self.calls.iter().skip(self.called).take(calls) {
            if let Err(lost) = cpu::call_from(at, user) {
                events::wrong(format!("{lost:?}: ftrace called from {at:#x}"));
            }
        }
        self.called += calls;
        self.handled += client.calls().0 - before;
    }

    /// Makes the rest of its calls; the client must have been called once.
    fn end(mut self, client: &Client) {
        self.call(self.calls.len() - self.called, client);
        if self.handled != 1 {
            let (handled, calls, latest) = (self.handled, &self.calls, events::latest());
            events::wrong(format!(
                "{handled} handled what {calls:x?} called for, after {latest:?}"
            ));
        }
    }
}

/// The hits that are under way come to their ends, and others come: one to where the first user is
/// to be called, and one to between two users.
fn go_on() {
    // SAFETY: Set to a client that stays, or NULL.
    let Some(client) = (unsafe { COUNTED.load(Relaxed).as_ref() }) else {
        return;
    };
    let mut hits = HITS.lock().unwrap();
    hits.drain(..).for_each(|hit| hit.end(client));
    let calls = ftrace::calls();
    if calls.is_empty() {
        return;
    }
    if calls.len() > 1 {
        BOTH.fetch_add(1, Relaxed);
    }
    for made in 0..2 {
        let mut hit = Hit {
            calls: calls.clone(),
            called: 0,
            handled: 0,
        };
        hit.call(made, client);
        hits.push(hit);
    }
}

/// Registers the first of the clients and has its calls counted until `work` is over.
fn counted(first: &[Client; 1], work: impl FnOnce()) {
    struct Until;
    impl Drop for Until {
        fn drop(&mut self) {
            // SAFETY: Set to a client that stays.
            let client = unsafe { COUNTED.swap(core::ptr::null_mut(), Relaxed).as_ref() };
            if let Some(client) = client {
                HITS.lock()
                    .unwrap()
                    .drain(..)
                    .for_each(|hit| hit.end(client));
            }
        }
    }
    let _until = Until;

    BOTH.store(0, Relaxed);
    assert_eq!(client::register(first), 0);
    COUNTED.store((&raw const first[0]).cast_mut(), Relaxed);
    if !cfg!(miri) {
        events::at_every_moment(go_on);
    }
    work();
}

#[test]
fn ipmodify_user_is_added_to_the_plain_one() {
    let mut world = World::new();
    let place = world.traced();
    let first = [Client::at(place)];
    let second = [Client::around(place)];
    counted(&first, || {
        world.story();
        assert_eq!(client::register(&second), 0);
        world.has_told("lock add-a-change change-on unlock");
        // The place keeps both users: there is nothing to gain from removing one.
        client::unregister(&second);
        world.has_told("lock unlock wait");
        assert_eq!(client::register(&second), 0);
        world.has_told("lock unlock");
    });
    assert!(BOTH.load(Relaxed) > 0 || cfg!(miri));
    client::unregister(&first);
    world.has_told("lock unlock wait");
    client::unregister(&second);
    world.has_told("lock watch-off change-off unlock wait free");
}

// Hits use assembly.
#[cfg(not(miri))]
#[test]
fn call_while_a_handler_runs_is_missed_once() {
    let mut world = World::new();
    let place = world.traced();
    let both_miss = || {
        c::kprobe_busy_begin();
        for changes in [false, true] {
            cpu::call_from(place, changes).unwrap();
        }
        c::kprobe_busy_end();
    };
    let watching = client::registered([Client::at(place)]);
    both_miss();
    assert_eq!(watching[0].missed(), 1);
    let changing = client::registered([Client::around(place)]);
    both_miss();
    assert_eq!((watching[0].missed(), changing[0].missed()), (2, 1));
}

#[test]
fn both_users_leave_a_place_that_is_disabled() {
    let mut world = World::new();
    let place = world.traced();
    let clients = client::registered([Client::at(place), Client::around(place)]);
    assert_eq!(clients[0].disable(), 0);
    world.story();
    assert_eq!(clients[1].disable(), 0);
    world.has_told("lock watch-off change-off unlock");
    // The IPMODIFY user serves both probes then.
    assert_eq!(clients[0].enable(), 0);
    world.has_told("lock add-a-change change-on unlock");
    client::unregister(&clients);
    assert_eq!(ftrace::calls(), []);
}

#[test]
fn ftrace_user_stays_while_it_has_places() {
    let mut world = World::new();
    let clients = client::registered([Client::at(world.traced()), Client::at(world.traced())]);
    world.has_told("lock add-a-watch watch-on add-b-watch unlock");
    client::unregister(&clients[..1]);
    world.has_told("lock remove-a-watch unlock wait free");
    client::unregister(&clients[1..]);
    world.has_told("lock watch-off unlock wait free");
}

#[test]
fn switch_disarms_and_arms_both_kinds_of_places() {
    let mut world = World::new();
    let _clients = client::registered([Client::at(world.place(&JUMP)), Client::at(world.traced())]);
    world.story();
    assert_eq!(c::rust_kprobes_enable_all(false), 0);
    world.has_told("lock [ mend-a sync ] watch-off unlock");
    assert_eq!(c::rust_kprobes_enable_all(true), 0);
    world.has_told("lock [ break-a sync ] add-b-watch watch-on unlock");
}
