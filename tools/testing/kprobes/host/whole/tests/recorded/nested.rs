// SPDX-License-Identifier: GPL-2.0

//! Hits that come while a hit is handled, after each of its instructions.
//!
//! The CPU must know afterwards what it knew before, and both hits must end as they should: their
//! instructions carried out, the handlers of the first called once, the second one handled if the
//! CPU was free and missed if it was not.

use crate::prelude::*;

static INNER: AtomicU64 = AtomicU64::new(0);
static MIDDLE: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicBool = AtomicBool::new(false);

/// The inner hit comes, and all that follows.
fn inner_hit() {
    if cpu::come(INNER.load(Relaxed)).is_err() {
        WRONG.store(true, Relaxed);
    }
}

/// Ftrace calls, as the plain user.
fn inner_call() {
    if cpu::call_from(INNER.load(Relaxed), false).is_err() {
        WRONG.store(true, Relaxed);
    }
}

/// Clients on places, by how the instruction there is carried out.
fn all_kinds(world: &mut World) -> Vec<Client> {
    vec![
        // Emulated.
        Client::at(world.place(&JUMP)),
        // By a copy that goes on by itself.
        Client::at(world.place(&MOVE)),
        // By a copy that comes back for its client.
        Client::around(world.place(&MOVE)),
        // By one that always does.
        Client::at(world.place(&STEPPED)),
    ]
}

/// How often a client was called before, after, and not at all.
fn counts(client: &Client) -> [usize; 3] {
    let (before, after) = client.calls();
    [before, after, client.missed()]
}

/// Between each two instructions of what `outer` does, `comes` comes; what became of the client of
/// the one must be `expected`. The other one's is called or missed.
fn nest(
    outer: impl Fn() -> Result<(), Lost>,
    (client, expected): (&Client, [usize; 3]),
    (inner_client, comes): (&Client, fn()),
) {
    let hopeless = bindings::hopeless_hits();
    let same = core::ptr::eq(client, inner_client);
    for after in 0.. {
        let (mut ended, before) = (Err(Lost::Breakpoint), counts(client));
        let before_inner: usize = counts(inner_client)[0] + counts(inner_client)[2];
        WRONG.store(false, Relaxed);
        let came = stepping::once(|| ended = outer(), comes, after);
        assert_eq!(ended, Ok(()), "after {after} instructions");
        assert!(!WRONG.load(Relaxed), "after {after} instructions");
        assert!(cpu::is_idle(), "after {after} instructions");
        // There is room for one more.
        assert_eq!(bindings::hopeless_hits(), hopeless);
        let now = counts(inner_client);
        let met = now[0] + now[2] - before_inner;
        assert_eq!(met, usize::from(same) + usize::from(came));
        if !same {
            let now = counts(client);
            let change: [usize; 3] = core::array::from_fn(|kind| now[kind] - before[kind]);
            assert_eq!(change, expected, "after {after} instructions");
        }
        if !came {
            // So few would mean that nothing was run.
            assert!(after > 20);
            return;
        }
    }
}

/// What a hit of such a client calls.
fn expected(client: &Client) -> [usize; 3] {
    [1, client.wants_after().into(), 0]
}

/// A hit of each of the outer clients, with one of each of the inner ones in between. `by_ftrace`:
/// ftrace calls from the place of the outer, and of the inner one.
fn nest_all(outer: &[Client], inner: &[Client], by_ftrace: [bool; 2]) {
    let comes = if by_ftrace[1] { inner_call } else { inner_hit };
    for client in outer {
        let (at, user) = (client.place(), client.wants_after());
        let hit = || match by_ftrace[0] {
            true => cpu::call_from(at, user),
            false => cpu::come(at),
        };
        // It may come upon itself.
        let same = (!by_ftrace.contains(&true)).then_some(client);
        for other in inner.iter().chain(same) {
            INNER.store(other.place(), Relaxed);
            nest(hit, (client, expected(client)), (other, comes));
        }
    }
}

#[test]
fn hit_or_ftrace_call_between_any_two_insns_is_handled() {
    let mut world = World::new();
    let mut outer = all_kinds(&mut world);
    outer.push(Client::around(world.place(&JUMP)));
    let inner = all_kinds(&mut world);
    let traced = [Client::at(world.traced()), Client::around(world.traced())];
    for clients in [&outer, &inner, &traced[..]] {
        assert_eq!(client::register(clients), 0);
    }
    nest_all(&outer, &inner, [false, false]);
    nest_all(&traced, &inner, [true, false]);
    nest_all(&outer, &traced[..1], [false, true]);
}

/// The copy of the instruction at an address faults, for which there is a fixup.
fn fault(at: u64) -> Result<(), Lost> {
    let mut registers = cpu::registers(at + 1);
    cpu::trap(&mut registers, Lost::Breakpoint)?;
    if !text::is_copy(registers.ip as u64) {
        return Err(Lost::Copy);
    }
    // SAFETY: Registers of our own, and nothing else runs on this CPU.
    stepping::window(|| unsafe { c::kprobe_leave_copy(&mut registers, 13, true) });
    if registers.ip as u64 != at {
        return Err(Lost::GoesOnAt(registers.ip as u64));
    }
    if registers.flags != cpu::FLAGS {
        return Err(Lost::Flags);
    }
    Ok(())
}

#[test]
fn hit_between_any_two_insns_of_a_faulted_step_is_handled() {
    let mut world = World::new();
    let outer = client::registered([Client::around(world.place(&MOVE))]);
    let inner = client::registered(all_kinds(&mut world));
    let at = outer[0].place();
    for other in &inner {
        INNER.store(other.place(), Relaxed);
        nest(|| fault(at), (&outer[0], [1, 0, 0]), (other, inner_hit));
    }
}

/// After how many instructions of the second hit the third one comes; whether there were so many.
static AFTER: AtomicUsize = AtomicUsize::new(0);
static CAME: AtomicBool = AtomicBool::new(false);

/// A handler runs onto another probe, in whose hit a third one comes.
unsafe extern "C" fn run_onto(_probe: *mut kprobe, _registers: *mut pt_regs) -> c_int {
    let mut ended = Err(Lost::Breakpoint);
    let middle = || ended = cpu::come(MIDDLE.load(Relaxed));
    let came = stepping::once(middle, inner_hit, AFTER.load(Relaxed));
    CAME.store(came, Relaxed);
    if ended.is_err() {
        WRONG.store(true, Relaxed);
    }
    0
}

/// There is room for one hit to be put aside: a third one that needs a step is hopeless if the
/// second one is in its step, and else ends like any other.
#[test]
fn a_third_hit_is_hopeless_only_in_the_step_of_the_second() {
    let mut world = World::new();
    let clients = [0; 3].map(|_| Client::around(world.place(&STEPPED)));
    clients[0].set(|probe| probe.pre_handler = Some(run_onto));
    assert_eq!(client::register(&clients), 0);
    let [outer, middle, third] = [0, 1, 2].map(|number: usize| clients[number].place());
    MIDDLE.store(middle, Relaxed);
    INNER.store(third, Relaxed);
    let mut hopeless = Vec::new();
    for after in 0.. {
        AFTER.store(after, Relaxed);
        WRONG.store(false, Relaxed);
        let before = bindings::hopeless_hits();
        let ended = cpu::come(outer);
        if bindings::hopeless_hits() != before {
            // The kernel would be dead.
            cpu::reset();
            hopeless.push(after);
            continue;
        }
        assert_eq!(ended, Ok(()), "after {after} instructions");
        assert!(!WRONG.load(Relaxed), "after {after} instructions");
        assert!(cpu::is_idle());
        if !CAME.load(Relaxed) {
            // It came to the end, and the step was not all there was.
            assert!(after > hopeless.len() + 20);
            break;
        }
    }
    // One stretch.
    let (first, last) = (hopeless.first().copied(), hopeless.last().copied());
    let (Some(first), Some(last)) = (first, last) else {
        panic!("there is no room for two");
    };
    assert_eq!(last - first + 1, hopeless.len());
}
