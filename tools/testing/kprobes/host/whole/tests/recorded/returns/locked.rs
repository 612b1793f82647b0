// SPDX-License-Identifier: GPL-2.0

//! What CPUs fight for: the locked instructions of a hit, and of the end of a call.
//!
//! The crate is run one instruction of the machine at a time. Before each, it is looked whether it
//! locks memory, and where. CPUs that have a block each must not lock the same memory.

use super::*;
use crate::stepping;
use iced_x86::{
    Decoder,
    DecoderOptions,
    Instruction,
    Mnemonic,
    OpKind,
    Register, //
};
use kernel::bindings;
use std::collections::BTreeSet;

/// Bytes that CPUs hand on together.
const LINE: usize = 64;

/// The longest instruction.
const LONGEST: usize = 15;

const CPUS: usize = 4;

/// Where what was locked since this was last asked was, and how much of it there was.
static LOCKED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What the CPU has in a register.
fn value(register: Register) -> Option<u64> {
    use libc::*;
    let number = match register.full_register() {
        Register::RAX => REG_RAX,
        Register::RCX => REG_RCX,
        Register::RDX => REG_RDX,
        Register::RBX => REG_RBX,
        Register::RSP => REG_RSP,
        Register::RBP => REG_RBP,
        Register::RSI => REG_RSI,
        Register::RDI => REG_RDI,
        Register::R8 => REG_R8,
        Register::R9 => REG_R9,
        Register::R10 => REG_R10,
        Register::R11 => REG_R11,
        Register::R12 => REG_R12,
        Register::R13 => REG_R13,
        Register::R14 => REG_R14,
        Register::R15 => REG_R15,
        _ if register.is_segment_register() => return Some(0),
        _ => return None,
    };
    Some(stepping::register(number))
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
    if locks(&next) {
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
    let usual = tasks::cpus();
    tasks::set_cpus([CPUS; 3]);
    let function = world.place(&cpu::MOVE);
    for handler in [None, Some(nothing as _)] {
        let client = Client::of(function, 2 * CPUS as c_int);
        // SAFETY: It is not registered.
        let probe = unsafe { &mut *client.as_c() };
        (probe.handler, probe.entry_handler) = (handler, handler);
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
        client.unregister();
        nothing_is_left();
    }
    tasks::set_cpus(usual);
}
