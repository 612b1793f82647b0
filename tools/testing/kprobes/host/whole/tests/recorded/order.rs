// SPDX-License-Identifier: GPL-2.0

//! The order of what is done to make a place be hit, and not be hit.
//!
//! At every moment in between, a CPU comes to every breakpoint that it may still find, and what
//! happens then must be right.

use crate::prelude::*;

#[test]
fn a_copy_is_there_before_its_breakpoint() {
    let mut world = World::new();
    let clients = client::registered([Client::at(world.place(&MOVE))]);
    world.has_told("lock [ copy copy ] [ break-a sync ] unlock");
    client::unregister(&clients);
    let (before, _) = clients[0].calls();
    assert!(before > 0 || cfg!(miri));
}

#[test]
fn writes_of_a_batch_are_synchronized_by_one_round() {
    let mut world = World::new();
    let places = [world.place(&JUMP), world.place(&JUMP), world.place(&JUMP)];
    // In another order than that of addresses.
    let clients = client::registered([2, 0, 1].map(|number: usize| Client::at(places[number])));
    world.has_told("lock [ break-a break-b break-c sync ] unlock");
    client::unregister(&clients);
    assert!(world.story().starts_with("lock [ mend-"));
}

#[test]
fn place_is_known_while_cpus_may_see_its_breakpoint() {
    static PLACE: AtomicU64 = AtomicU64::new(0);
    static KNOWN: Mutex<Vec<Option<Event>>> = Mutex::new(Vec::new());
    let mut world = World::new();
    let place = world.place(&JUMP);
    PLACE.store(place, Relaxed);
    KNOWN.lock().unwrap().clear();
    events::at_every_moment(|| {
        if cpu::is_known(PLACE.load(Relaxed)) {
            KNOWN.lock().unwrap().push(events::latest());
        }
    });
    let clients = client::registered([Client::at(place)]);
    client::unregister(&clients);
    let known = KNOWN.lock().unwrap().clone();
    let first = |event| known.iter().position(|&latest| latest == Some(event));
    // It is known while its breakpoint comes, and nothing says yet that it has come.
    assert!(first(Event::Broken(place)) > Some(0));
    assert!(first(Event::Mended(place)) > first(Event::Broken(place)));
    let last_seen = known
        .iter()
        .rposition(|&it| it == Some(Event::Synchronized));
    assert!(last_seen > first(Event::Mended(place)));
    // It is out of the table when the registry is unlocked, and the grace period begins after that.
    let mut end = known.iter().skip(last_seen.unwrap_or_default());
    assert!(end.all(|&it| it != Some(Event::Unlocked(Lock::Registry))));
    assert_eq!(first(Event::GracePeriod), None);
}

#[test]
fn unarmed_probes_unregister_without_the_cpu_lock() {
    let mut world = World::new();
    if cfg!(miri) {
        // No hits come in between, as they take too long there.
        events::at_every_moment(|| ());
    }
    let clients = client::registered([Client::at(world.place(&MOVE)), Client::at(world.traced())]);
    assert_eq!(clients[0].disable(), 0);
    // Copies that come back meanwhile are worth a look at their pages.
    let pages = text::pages();
    let others = client::registered(world.clients(&MOVE, 65));
    client::unregister(&others);
    world::wait_for_tasks();
    assert!(text::pages() > pages);
    events::history();
    client::unregister(&clients);
    // A CPU that goes offline may do this, and the holder of the CPU lock waits for that CPU.
    let history = events::history();
    assert!(history.contains(&Event::Locked(Lock::Registry)));
    assert!(!history.contains(&Event::Locked(Lock::Cpus)));
    assert_eq!(text::pages(), pages);
}

#[test]
fn kprobe_get_kallsym_takes_no_lock() {
    let mut world = World::new();
    if cfg!(miri) {
        events::at_every_moment(|| ());
    }
    let _clients = client::registered(world.clients(&MOVE, 65));
    events::history();
    let page = |number| {
        let (mut at, mut kind, mut name) = (0, 0, [0; 512]);
        // SAFETY: There is room for all of it.
        let status =
            unsafe { c::kprobe_get_kallsym(number, &mut at, &mut kind, name.as_mut_ptr()) };
        (status == 0).then(|| {
            assert_eq!(kind, b't');
            assert!(name.starts_with(b"kprobe_insn_page\0"));
            at as u64
        })
    };
    let pages: Vec<_> = (0..).map_while(page).collect();
    // The caller may be a debugger that has stopped CPUs which hold any lock.
    assert_eq!(events::history(), []);
    assert_eq!(pages.len(), 2);
    assert!(pages[0] != pages[1] && pages.iter().all(|&page| text::is_copy(page)));
}

#[test]
fn perf_gets_old_and_new_bytes_of_each_write() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    perf::records();
    let clients = client::registered([Client::at(place)]);
    let (first, breakpoint) = (MOVE[0], 0xcc);
    let told = |at, old: &[u8], new: &[u8]| Record {
        at,
        old: old.to_vec(),
        new: new.to_vec(),
    };
    // The copies that come back, and that go on: each is there before the breakpoint.
    let [back, on, broken] = perf::records().try_into().expect("three records");
    for copy in [&back, &on] {
        let mut code = vec![0; copy.new.len()];
        text::look(copy.at, &mut code, false);
        assert_eq!(*copy, told(copy.at, &[], &code));
        assert!(text::is_copy(copy.at) && code.starts_with(&MOVE) && code.len() > MOVE.len());
    }
    assert_eq!(broken, told(place, &[first], &[breakpoint]));
    client::unregister(&clients);
    let mended = told(place, &[breakpoint], &[first]);
    let [back, on] = [back, on].map(|copy| told(copy.at, &copy.new, &[]));
    assert_eq!(perf::records(), [mended, back, on]);
}

#[test]
fn place_stays_while_other_probes_use_it() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let first = client::registered([Client::at(place)]);
    world.story();
    let second = client::registered([Client::around(place)]);
    world.has_told("lock unlock");
    client::unregister(&first);
    world.has_told("lock unlock wait");
    if !cfg!(miri) {
        let (before, after) = second[0].calls();
        assert!(before > 0 && before == after);
    }
    client::unregister(&second);
    world.has_told("lock [ mend-a sync ] unlock wait free tasks");
}

#[test]
fn place_is_disarmed_with_its_last_enabled_probe() {
    let mut world = World::new();
    let (place, other) = (world.place(&MOVE), world.place(&JUMP));
    let clients = client::registered([place, place, other].map(Client::at));
    world.story();
    assert_eq!(clients[0].disable(), 0);
    world.has_told("lock unlock");
    assert_eq!(clients[1].disable(), 0);
    world.has_told("lock [ mend-a sync ] unlock");
    assert_eq!(clients[0].enable(), 0);
    world.has_told("lock [ break-a sync ] unlock");
    assert_eq!(clients[1].enable(), 0);
    world.has_told("lock unlock");
}

#[test]
fn the_switch_takes_one_round_for_all() {
    let mut world = World::new();
    let places = [MOVE.as_slice(), &JUMP, &JUMP].map(|insn| world.place(insn));
    let _clients = client::registered(places.map(Client::at));
    world.story();
    assert_eq!(c::rust_kprobes_enable_all(false), 0);
    let story = world.story();
    assert!(story.starts_with("lock [ mend-") && story.ends_with(" sync ] unlock"));
    assert_eq!(story.matches("mend-").count(), 3);
    assert_eq!(story.matches("sync").count(), 1);
    // What is registered meanwhile is armed with the others.
    let _late = client::registered([Client::at(world.place(&JUMP))]);
    world.has_told("lock unlock");
    assert_eq!(c::rust_kprobes_enable_all(true), 0);
    let story = world.story();
    assert_eq!(story.matches("break-").count(), 4);
    assert_eq!(story.matches("sync").count(), 1);
}

#[test]
fn boosted_copy_is_reused_only_after_tasks_rcu() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let clients = [Client::at(place)];
    let written = || {
        client::register(&clients);
        let at = events::history().into_iter().find_map(|event| match event {
            Event::Copied(at, _) => Some(at),
            _ => None,
        });
        client::unregister(&clients);
        events::history();
        at.expect("a copy was written")
    };
    let first = written();
    // A task may still be in it.
    assert_ne!(written(), first);
    world::wait_for_tasks();
    assert_eq!(written(), first);
    assert!(text::is_copy(first));
}

/// How many pages of copies may wait for tasks.
const MAX_PAGES: usize = 256;

#[test]
#[cfg(not(miri))]
fn copies_that_wait_for_tasks_are_bounded() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    // Nobody comes meanwhile, as that takes too long.
    events::at_every_moment(|| ());
    let clients = [Client::at(place)];
    // How many pages there are then, and whether the copy goes on by itself.
    let comes_and_goes = || {
        assert_eq!(client::register(&clients), 0);
        client::unregister(&clients);
        let goes_on = events::history().contains(&Event::TasksAsked);
        (text::pages() as usize, goes_on)
    };
    // Each page asks once, and then again when that is over.
    let asked = (0..64 * MAX_PAGES).filter(|_| comes_and_goes().1).count();
    assert_eq!((asked, rcu_tasks::waiting()), (MAX_PAGES, MAX_PAGES));
    // Now its copy comes back, and its slot at once.
    for _ in 0..1000 {
        assert_eq!(comes_and_goes(), (MAX_PAGES, false));
    }
    assert_eq!(client::register(&clients), 0);
    events::at_every_moment(cpu::come_to_all);
    cpu::come_to(place);
    assert_eq!(clients[0].missed(), 0);
    client::unregister(&clients);
    world::wait_for_tasks();
    // The next one goes on by itself again, and leaves a page for itself and the others.
    let (left, goes_on) = comes_and_goes();
    assert!(left <= 2 && goes_on);
}
