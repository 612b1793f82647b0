// SPDX-License-Identifier: GPL-2.0

//! Faults that are not in the copy of an instruction, at an address that no slot is at: 0, where a
//! handler ends up that calls a function by a NULL pointer.
//!
//! A place that is emulated or called from by ftrace has no slot, whose address is not 0 for that:
//! such a fault is the handler's own, and the hit goes on.

use crate::prelude::*;

const TRAP: c_int = 14;
const BACK: usize = 4711;

/// How often a fault handler was asked about what it must be asked about.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// How often all was as it must be after a fault in a handler.
static SURVIVED: AtomicUsize = AtomicUsize::new(0);

/// A fault at address 0, which somebody has dealt with or not.
fn fault_at_zero() -> (bool, pt_regs) {
    let mut registers = cpu::registers(0);
    // SAFETY: Registers of our own, on a CPU that handles a hit, and nothing else runs there.
    let handled = unsafe {
        // As for a fault that the exception table is searched for, first.
        c::kprobe_leave_copy(&mut registers, 14, false);
        c::kprobe_leave_copy(&mut registers, 14, true);
        c::kprobe_fault_handler(&mut registers, TRAP)
    };
    (handled != 0, registers)
}

fn call_nothing(probe: *mut kprobe) {
    let asked = ASKED.load(Relaxed);
    let (handled, registers) = fault_at_zero();
    let as_it_was = cpu::running() == probe && registers.flags == cpu::FLAGS;
    if handled && ASKED.load(Relaxed) == asked + 1 && registers.ip == BACK && as_it_was {
        SURVIVED.fetch_add(1, Relaxed);
    }
}

unsafe extern "C" fn before(probe: *mut kprobe, _registers: *mut pt_regs) -> c_int {
    call_nothing(probe);
    0
}

unsafe extern "C" fn after(probe: *mut kprobe, _registers: *mut pt_regs, _flags: c_ulong) {
    call_nothing(probe);
}

/// Asked about a fault at address 0, it sends the handler on.
unsafe extern "C" fn go_back(_probe: *mut kprobe, registers: *mut pt_regs, trap: c_int) -> c_int {
    // SAFETY: The registers of a fault, which are the handler's.
    let registers = unsafe { &mut *registers };
    if trap == TRAP && registers.ip == 0 {
        ASKED.fetch_add(1, Relaxed);
        registers.ip = BACK;
    }
    1
}

/// Has a client call nothing in its handlers, in two hits that must end as any other.
fn survives(client: Client, hit: impl Fn(u64) -> Result<(), Lost>) {
    let handlers = 1 + usize::from(client.wants_after());
    client.set(|probe| probe.pre_handler = Some(before));
    if client.wants_after() {
        client.set(|probe| probe.post_handler = Some(after));
    }
    client.set(|probe| probe.fault_handler = Some(go_back));
    let clients = client::registered([client]);
    ASKED.store(0, Relaxed);
    SURVIVED.store(0, Relaxed);
    for hits in 1..3 {
        assert_eq!(hit(clients[0].place()), Ok(()));
        assert!(cpu::is_idle());
        assert_eq!(ASKED.load(Relaxed), hits * handlers);
        assert_eq!(SURVIVED.load(Relaxed), hits * handlers);
    }
}

#[test]
fn null_call_in_a_handler_is_its_own_fault() {
    let mut world = World::new();
    for insn in [&MOVE[..], &STEPPED[..], &JUMP[..]] {
        survives(Client::at(world.place(insn)), cpu::come);
        survives(Client::around(world.place(insn)), cpu::come);
    }
    for client in [Client::at(world.traced()), Client::around(world.traced())] {
        let user = client.wants_after();
        survives(client, |at| cpu::call_from(at, user));
    }
}

#[test]
fn dead_task_leaves_no_hit_in_a_step() {
    let mut world = World::new();
    let clients = client::registered([Client::around(world.place(&MOVE))]);
    let mut registers = cpu::registers(clients[0].place() + 1);
    assert_eq!(cpu::trap(&mut registers, Lost::Breakpoint), Ok(()));
    assert!(!cpu::is_idle());
    c::kprobe_abort_hit();
    assert!(cpu::is_idle());
}

/// A client that is asked about faults.
fn asked_at(place: u64) -> Client {
    let client = Client::at(place);
    client.set(|probe| probe.fault_handler = Some(go_back));
    client
}

/// A task takes a jump where an interrupt was that hit another probe.
#[test]
fn null_call_in_a_handler_is_its_own_fault_under_a_jump() {
    let mut world = optimize::world();
    let place = world.place(&[MOVE, MOVE].concat());
    let clients = [place, world.traced()].map(asked_at);
    clients[0].set(|probe| probe.pre_handler = Some(before));
    let clients = client::registered(clients);
    optimize::work();
    assert_eq!(text::jumps().collect::<Vec<_>>(), [place]);
    let traced = clients[1].place();
    context::interrupt(|| cpu::call_from(traced, false)).unwrap();
    SURVIVED.store(0, Relaxed);
    cpu::come_by_jump(place);
    assert_eq!(SURVIVED.load(Relaxed), 1);
}

static INNER: AtomicU64 = AtomicU64::new(0);

fn interrupt() {
    context::interrupt(|| cpu::come(INNER.load(Relaxed))).unwrap();
}

/// A fault of a handler goes to its own probe, whatever interrupted the handler before, also a hit
/// of another probe with a fault handler.
#[test]
fn handler_keeps_its_fault_after_a_hit_in_an_interrupt() {
    let mut world = World::new();
    let inner = asked_at(world.place(&MOVE));
    let outer = [world.traced(), world.place(&MOVE)].map(asked_at);
    for client in &outer {
        client.set(|probe| probe.pre_handler = Some(before));
    }
    let outer = client::registered(outer);
    let inner = client::registered([inner]);
    INNER.store(inner[0].place(), Relaxed);
    let [traced, moved] = outer.each_ref().map(Client::place);
    let hits: [&dyn Fn() -> Result<(), Lost>; 2] =
        [&|| cpu::call_from(traced, false), &|| cpu::come(moved)];
    for hit in hits {
        for after in 0.. {
            SURVIVED.store(0, Relaxed);
            let came = stepping::once(|| hit().unwrap(), interrupt, after);
            assert_eq!(SURVIVED.load(Relaxed), 1, "after {after} instructions");
            assert!(cpu::is_idle(), "after {after} instructions");
            if !came {
                break;
            }
        }
    }
}

/// A fault in an interrupt that comes during a handler goes to no probe.
#[test]
fn fault_in_an_interrupt_asks_no_fault_handler() {
    unsafe extern "C" fn before(_probe: *mut kprobe, _registers: *mut pt_regs) -> c_int {
        let (handled, _) = context::interrupt(fault_at_zero);
        SURVIVED.store(usize::from(!handled), Relaxed);
        0
    }
    let mut world = World::new();
    let clients = [world.traced(), world.place(&MOVE)].map(asked_at);
    for client in &clients {
        client.set(|probe| probe.pre_handler = Some(before));
    }
    let clients = client::registered(clients);
    let [traced, moved] = clients.each_ref().map(Client::place);
    ASKED.store(0, Relaxed);
    assert_eq!(cpu::call_from(traced, false), Ok(()));
    assert_eq!(SURVIVED.swap(0, Relaxed), 1);
    assert_eq!(cpu::come(moved), Ok(()));
    assert_eq!(SURVIVED.swap(0, Relaxed), 1);
    assert_eq!(ASKED.load(Relaxed), 0);
}

/// Also after the module was unloaded, when another instruction is at the same address.
#[test]
fn kprobe_original_code_shows_no_breakpoint() {
    let mut world = World::new();
    let place = world.place(&MOVE);
    let read = || {
        let mut code = [0; 4];
        // SAFETY: There is text at the place, and room for it.
        unsafe { c::kprobe_original_code(code.as_mut_ptr(), place as c_ulong, 4) };
        code
    };
    world::module_at(place);
    let bare = read();
    let _clients = client::registered([Client::at(place)]);
    assert_eq!(text::breakpoints().collect::<Vec<_>>(), [place]);
    assert_eq!(read(), bare);
    world::go(false);
    modules::unload();
    text::come_again_as(place, 0x90);
    assert_eq!(read(), [0x90, bare[1], bare[2], bare[3]]);
    text::come_again(place);
}

/// An NMI's handler calls NULL while a copy is run: no fault handler is called, and the step ends
/// as any other.
#[test]
fn null_call_in_a_step_asks_no_fault_handler() {
    let mut world = World::new();
    let client = Client::around(world.place(&MOVE));
    client.set(|probe| probe.fault_handler = Some(go_back));
    let clients = client::registered([client]);
    let (at, before) = (clients[0].place(), clients[0].calls());
    let mut registers = cpu::registers(at + 1);
    assert_eq!(cpu::trap(&mut registers, Lost::Breakpoint), Ok(()));
    assert!(text::is_copy(registers.ip as u64));
    let running = cpu::running();
    ASKED.store(0, Relaxed);
    let (handled, faulted) = fault_at_zero();
    assert!(!handled);
    assert_eq!((faulted.ip, faulted.flags), (0, cpu::FLAGS));
    assert_eq!((cpu::running(), ASKED.load(Relaxed)), (running, 0));
    assert_eq!(cpu::finish(at, &mut registers), Ok(()));
    assert!(cpu::is_idle());
    assert_eq!(clients[0].calls(), (before.0 + 1, before.1 + 1));
}
