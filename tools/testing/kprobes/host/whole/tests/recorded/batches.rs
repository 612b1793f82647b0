// SPDX-License-Identifier: GPL-2.0

//! Many probes at once: others get their turn after every 1,024 of them.

use crate::prelude::*;

const CHUNK: usize = 1024;

/// Is that what has happened since, with how often each word comes, instead of the word with its
/// place over and over?
#[track_caller]
fn has_told(world: &World, story: &str) {
    let mut parts: Vec<(String, usize)> = Vec::new();
    for word in world.story().split(' ') {
        let word = word.split('-').next().unwrap_or(word);
        match parts.last_mut() {
            Some((last, count)) if last == word => *count += 1,
            _ => parts.push((word.into(), 1)),
        }
    }
    let parts = parts.iter().map(|(word, count)| match count {
        1 => word.clone(),
        _ => format!("{count}*{word}"),
    });
    assert_eq!(parts.collect::<Vec<_>>().join(" "), story);
}

#[test]
fn every_chunk_has_one_round_and_all_have_one_grace_period() {
    let mut world = World::new();
    let clients = client::registered(world.clients(&JUMP, 2 * CHUNK + 88));
    has_told(
        &world,
        "lock [ 1024*break sync ] unlock lock [ 1024*break sync ] unlock lock [ 88*break sync ] unlock",
    );
    client::unregister(&clients);
    has_told(
        &world,
        "lock [ 1024*mend sync ] unlock lock [ 1024*mend sync ] unlock lock [ 88*mend sync ] unlock \
         wait 2136*free",
    );
}

#[test]
fn a_chunk_is_full_at_its_limit() {
    let mut world = World::new();
    let clients = client::registered(world.clients(&JUMP, CHUNK));
    has_told(&world, "lock [ 1024*break sync ] unlock");
    client::unregister(&clients);
    has_told(&world, "lock [ 1024*mend sync ] unlock wait 1024*free");
}

#[test]
fn the_switch_writes_a_chunk_at_a_time() {
    let mut world = World::new();
    let clients = client::registered(world.clients(&JUMP, 2 * CHUNK));
    world.story();
    for (on, word) in [(false, "mend"), (true, "break")] {
        assert_eq!(c::rust_kprobes_enable_all(on), 0);
        let story = format!("lock [ 1024*{word} sync 1024*{word} sync ] unlock");
        has_told(&world, &story);
    }
    client::unregister(&clients);
}

#[test]
fn refusal_undoes_earlier_probes_in_order() {
    let mut world = World::new();
    let mut clients = world.clients(&JUMP, 3);
    // Nobody may probe there: it is no text.
    clients.push(Client::at(16));
    clients.extend(world.clients(&JUMP, 1));
    assert_eq!(client::register(&clients), ENOENT.to_errno());
    // Nothing was armed yet: the refusal comes first.
    has_told(&world, "lock unlock lock unlock wait 3*free");
}

#[test]
fn chunks_that_were_armed_are_disarmed_when_a_later_one_is_refused() {
    let mut world = World::new();
    let mut clients = world.clients(&JUMP, CHUNK + 2);
    clients.push(Client::at(16));
    assert_eq!(client::register(&clients), ENOENT.to_errno());
    has_told(
        &world,
        "lock [ 1024*break sync ] unlock lock unlock \
         lock [ 1024*mend sync ] unlock lock unlock wait 1026*free",
    );
}

#[test]
fn duplicate_probe_refuses_the_whole_batch() {
    let mut world = World::new();
    let clients = client::registered(world.clients(&JUMP, 2));
    let place = clients[0].place();
    world.story();
    let again = [Client::at(place), Client::at(place)];
    let twice = again[0].as_c();
    let status = client::register_all(&again, &mut [twice, twice]);
    assert_eq!(status, EINVAL.to_errno());
    has_told(&world, "lock unlock lock unlock wait");
}
