// SPDX-License-Identifier: GPL-2.0

//! What CPUs fight for: the locked instructions of a hit, and of the end of a call. And how many
//! instructions a hit takes where all is in use.
//!
//! The crate is run one instruction of the machine at a time. Before each, it is looked whether it
//! locks memory, and where. CPUs that have a block each must not lock the same memory.

use super::*;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeSet;

/// Bytes that CPUs hand on together.
const LINE: usize = 64;

/// The longest instruction.
const LONGEST: usize = 15;

const CPUS: usize = 4;

/// The bytes of data that a client's return probe keeps for each call.
const WORD: usize = size_of::<usize>();

/// Where what was locked since this was last asked was, and how much of it there was.
static LOCKED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What the CPU has in a register.
fn value(register: Register) -> Option<u64> {
    use libc::*;
    if register.is_segment_register() {
        return Some(0);
    }
    // By the machine's numbers.
    let numbers = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9,
        REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    let whole = register.full_register();
    let number = whole.is_gpr64().then(|| numbers.get(whole.number()))??;
    Some(stepping::register(*number))
}

fn locks(next: &Instruction) -> bool {
    let memory = (0..next.op_count()).any(|operand| next.op_kind(operand) == OpKind::Memory);
    next.has_lock_prefix() || (next.mnemonic() == Mnemonic::Xchg && memory)
}

/// Looks at the instruction that is next.
fn look() {
    let at = stepping::register(libc::REG_RIP);
    let place = core::ptr::with_exposed_provenance::<u8>(at as usize);
    // SAFETY: Code that is run, which does not end there.
    let code = unsafe { core::slice::from_raw_parts(place, LONGEST) };
    let next = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
    // A full barrier locks the stack, which no other CPU uses.
    if locks(&next) && next.memory_base() != Register::RSP {
        let address = next.virtual_address(0, 0, |register, _, _| value(register));
        let number = COUNT.fetch_add(1, Relaxed);
        LOCKED[number].store(address.expect("an address") as usize, Relaxed);
    }
}

/// The lines that `work` locks, each as often as it does.
fn locked(work: impl FnOnce()) -> Vec<usize> {
    COUNT.store(0, Relaxed);
    assert!(stepping::each(work, look) > 10);
    let all = LOCKED[..COUNT.load(Relaxed)].iter();
    all.map(|address| address.load(Relaxed) / LINE).collect()
}

unsafe extern "C" fn nothing(_: *mut kretprobe_instance, _: *mut pt_regs) -> c_int {
    0
}

/// The lines that a hit, and the end of its call, lock on a CPU.
fn of_a_call(cpu: i32, function: u64, client: &Client) -> [Vec<usize>; 2] {
    let (mut task, entry) = (Caller::new(), client.as_c().cast());
    let mut registers = task.call(cpu, function);
    let registers = &mut registers;
    // SAFETY: A probe that is hit, and registers of our own.
    let hit = || _ = unsafe { bindings::rust_kprobes_function_entered(entry, registers) };
    let hit = locked(hit);
    let (frame, to) = task.stack[0];
    let place = frame.as_ptr();
    // SAFETY: Ours, until the function has returned.
    unsafe { (*place).registers = cpu::registers(0) };
    // SAFETY: As before.
    let end = locked(|| unsafe { c::rust_kprobes_returned(place.cast()) });
    // SAFETY: As before.
    assert_eq!(unsafe { (*place).to }, to);
    task.leave(cpu);
    [hit, end]
}

#[test]
fn no_two_cpus_lock_the_same_line() {
    let mut world = quiet();
    tasks::set_cpus([CPUS; 3]);
    let function = world.place(&cpu::MOVE);
    for handler in [None, Some(nothing as _)] {
        let client = Client::of(function, 2 * CPUS as c_int);
        client.set(|probe| (probe.handler, probe.entry_handler) = (handler, handler));
        assert_eq!(client.register(), 0);
        let mut all = BTreeSet::new();
        for cpu in 0..CPUS as i32 {
            let [hit, end] = of_a_call(cpu, function, &client);
            // One instruction each, in the CPU's own block.
            assert_eq!((hit.len(), end.len()), (1, 1));
            assert_eq!(hit, end);
            assert!(all.insert(hit[0]), "two CPUs lock the same line");
        }
        assert_eq!(client.missed(), 0);
        client.ends();
    }
}

/// How many lines the CPUs lock together, with a call each. Tells also how often one locks in all.
fn lines_of(cpus: impl Iterator<Item = usize>, function: u64, client: &Client) -> (usize, usize) {
    let calls = cpus.flat_map(|cpu| of_a_call(cpu as i32, function, client));
    let all: Vec<_> = calls.flatten().collect();
    let count = all.len();
    (all.into_iter().collect::<BTreeSet<_>>().len(), count)
}

/// Many calls at once, which begin on each CPU in turn, and end where they began or anywhere else;
/// how many lines the CPUs lock in between, and then.
fn crowd(cpus: usize, function: u64, client: &Client, deep: usize, moves: bool) -> [usize; 2] {
    let mut tasks: Vec<_> = (0..cpus * deep).map(|_| Caller::new()).collect();
    for (number, task) in tasks.iter_mut().enumerate() {
        task.come((number % cpus) as i32, function, &[client]);
    }
    while tend() {}
    let during = lines_of(0..cpus, function, client).0;
    let mut order: Vec<_> = (0..tasks.len()).collect();
    if moves {
        order.sort_by_key(|number| number.wrapping_mul(0x9e37_79b9) % 1009);
    }
    for (place, number) in order.into_iter().enumerate() {
        let cpu = if moves { place } else { number };
        tasks[number].leave_all((cpu % cpus) as i32);
    }
    while tend() {}
    let (lines, count) = lines_of(0..cpus, function, client);
    // Still one instruction to take, and one to give back.
    assert_eq!(count, 2 * cpus);
    [during, lines]
}

#[test]
fn cpus_use_blocks_of_their_own_again_after_many_calls() {
    let mut world = quiet();
    // On so many CPUs so many calls each, and how many were reserved.
    let crowds = [
        (8, 3, 0),
        (8, 3, 64),
        (8, 20, 64),
        (8, 100, 1000),
        (64, 3, 1000),
        (64, 15, 1000),
    ];
    let both = crowds.map(|crowd| [(crowd, false), (crowd, true)]);
    for ((cpus, deep, reserve), moves) in both.concat() {
        tasks::set_cpus([cpus; 3]);
        let function = world.place(&cpu::MOVE);
        let client = Client::silent(function, 2 * cpus, WORD);
        assert_eq!(client.reserve(reserve), 0);
        assert_eq!(lines_of(0..cpus, function, &client).0, cpus);
        let [_, after] = crowd(cpus, function, &client, deep, moves);
        assert_eq!(after, cpus, "{deep} calls on each CPU, {reserve} reserved");
        client.ends();
    }
}

#[test]
fn cpus_share_nothing_while_their_own_blocks_are_in_use() {
    let mut world = quiet();
    tasks::set_cpus([8; 3]);
    let function = world.place(&cpu::MOVE);
    let client = Client::silent(function, 16, WORD);
    assert_eq!(client.reserve(1000), 0);
    // More than there are in two blocks.
    for deep in [31, 40] {
        assert_eq!(crowd(8, function, &client, deep, false), [8, 8]);
    }
    assert_eq!(client.missed(), 0);
    client.unregister();
    // And in what a store has grown by.
    let client = Client::silent(function, 16, WORD);
    for _ in 0..2 {
        crowd(8, function, &client, 20, false);
    }
    assert_eq!(crowd(8, function, &client, 4, false), [8, 8]);
    client.ends();
}

#[test]
fn cpus_have_blocks_of_their_own_with_any_numbers() {
    let mut world = quiet();
    for step in [1, 2] {
        for calls in [4, 8, 16] {
            tasks::set_cpus([9, 8, 4]);
            let function = world.place(&cpu::MOVE);
            let client = Client::silent(function, calls, WORD);
            let online = (0..4).map(|number| number * step);
            assert_eq!(lines_of(online, function, &client).0, 4);
            // The other CPUs come online; there may be too few blocks for them.
            tasks::set_cpus([9, 8, 8]);
            assert_eq!(lines_of(0..8, function, &client).0, calls.min(8));
            client.ends();
        }
    }
}

/// How many instructions a hit takes, and is it watched?
fn of_a_hit(cpu: i32, function: u64, client: &Client) -> (usize, bool) {
    let (mut task, entry) = (Caller::new(), client.as_c().cast());
    let mut registers = task.call(cpu, function);
    let registers = &mut registers;
    // SAFETY: A probe that is hit, and registers of our own.
    let hit = || _ = unsafe { bindings::rust_kprobes_function_entered(entry, registers) };
    let taken = stepping::each(hit, || ());
    let watched = task.task.has_calls();
    task.leave(cpu);
    (taken, watched)
}

#[test]
fn a_hit_is_short_while_thousands_sleep() {
    const SLEEPERS: usize = 5000;
    // A search looks twice at all blocks, and five times if other CPUs are always faster.
    const MOST: usize = 50_000 / 5 * 2;
    let mut world = quiet();
    for (cpus, reserved) in [(2, true), (64, true), (2, false), (8, false)] {
        tasks::set_cpus([cpus; 3]);
        c::limit_growth(SLEEPERS as c_int);
        let function = world.place(&cpu::MOVE);
        let client = Client::silent(function, 10, 4096);
        if reserved {
            assert_eq!(client.reserve(SLEEPERS as c_uint), 0);
        }
        let mut sleepers = Vec::new();
        // Where nothing is reserved the worker comes each time that it is asked.
        while sleepers.len() < SLEEPERS {
            let mut task = Caller::new();
            task.come((sleepers.len() % cpus) as i32, function, &[&client]);
            if task.task.has_calls() {
                sleepers.push(task);
            } else {
                task.leave(0);
            }
            tend();
        }
        // One finds nothing, and one finds the last, which may be anywhere.
        for last in [0, SLEEPERS / 2, SLEEPERS - 1] {
            for cpu in 0..2 {
                let (taken, watched) = of_a_hit(cpu, function, &client);
                assert!(taken < MOST && !watched, "{taken}, {watched}");
            }
            sleepers[last].leave(0);
            for cpu in [0, 1] {
                let (taken, watched) = of_a_hit(cpu, function, &client);
                assert!(taken < MOST && watched, "{taken}, {watched}");
            }
            sleepers[last].come(0, function, &[&client]);
            assert!(sleepers[last].task.has_calls());
        }
        println!(
            "pool: {SLEEPERS} calls of 4,144 bytes on {cpus} CPUs: {} instructions where all is in use",
            of_a_hit(0, function, &client).0
        );
        sleepers.iter_mut().for_each(|task| task.leave_all(0));
        client.ends();
    }
}
