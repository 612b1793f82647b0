// SPDX-License-Identifier: GPL-2.0

//! What a CPU does that comes to a breakpoint.

use crate::prelude::*;
use crate::stepping::window;

/// An instruction that a copy does as well: `mov %rax, %rbx`.
pub const MOVE: [u8; 3] = [0x48, 0x89, 0xc3];
/// One that no task may be preempted behind, so a copy of it always comes back: `mov %rax, %cr3`.
pub const STEPPED: [u8; 3] = [0x0f, 0x22, 0xd8];
/// One that is emulated: `jmp .+16`.
pub const JUMP: [u8; 2] = [0xeb, 0x0e];
const RETURN: u8 = 0xc3;
pub const JUMP_LEN: u64 = 5;
const BREAKPOINT: u8 = 0xcc;
const CALL_LEN: u64 = 5;
const KERNEL_CS: u16 = 0x10;
/// The flags of a CPU that comes somewhere.
pub const FLAGS: usize = 0x246;

pub fn function(insn: &[u8]) -> u64 {
    text::function(&[insn, &[RETURN]].concat(), false)
}

/// The same, with room for a call of ftrace's at its entry.
pub fn traced() -> u64 {
    text::function(&[0x0f, 0x1f, 0x44, 0x00, 0x00, RETURN], true)
}

pub fn registers(ip: u64) -> pt_regs {
    // SAFETY: All of them are numbers.
    let zero: pt_regs = unsafe { core::mem::zeroed() };
    pt_regs {
        ip: ip as usize,
        __bindgen_anon_1: pt_regs__bindgen_ty_1 { cs: KERNEL_CS },
        flags: FLAGS,
        ..zero
    }
}

/// A CPU comes to each breakpoint that it may find: there must be somebody who knows it, and its
/// instruction must be carried out.
pub fn come_to_all() {
    for at in text::breakpoints() {
        come_to(at);
    }
    for at in text::jumps() {
        come_by_jump(at);
    }
}

/// The same, and besides a task is put aside wherever that may lead.
pub fn be_put_aside_everywhere() {
    for at in text::breakpoints() {
        let mut registers = registers(at + 1);
        let came = trap(&mut registers, Lost::Breakpoint);
        let there = registers.ip as u64;
        let stays = text::is_copy(there) && !steps(there);
        let came = came.and_then(|()| finish(at, &mut registers));
        if let Err(lost) = came {
            events::wrong(format!("{lost:?}: a CPU came to the breakpoint at {at:#x}"));
        }
        let then = registers.ip as u64;
        rcu_tasks::put_aside(if stays { there } else { then }, then);
    }
    for at in text::jumps() {
        rcu_tasks::put_aside(come_by_jump(at), at + JUMP_LEN);
    }
}

/// Is the copy at an address one of an instruction that comes back?
fn steps(at: u64) -> bool {
    let mut code = [0; MOVE.len() + 1];
    text::look(at, &mut code, false);
    text::detoured(at).is_none() && code[MOVE.len()] == BREAKPOINT
}

/// A CPU comes to the jump at an address; tells where it leads.
pub fn come_by_jump(at: u64) -> u64 {
    let before = running();
    let mut code = [0; JUMP_LEN as usize];
    text::look(at, &mut code, false);
    let distance = i32::from_le_bytes([code[1], code[2], code[3], code[4]]);
    let to = (at + JUMP_LEN).wrapping_add_signed(distance.into());
    come_late(at, to);
    if running() != before || text::detoured(to) != Some(at) {
        events::wrong(format!("a CPU came to {to:#x} by the jump at {at:#x}"));
    }
    to
}

/// A CPU that has taken the jump at an address earlier comes to the detour now.
pub fn come_late(at: u64, detour: u64) {
    let mut registers = registers(at + 1);
    // SAFETY: Registers of our own, and nothing else runs on this CPU.
    window(|| unsafe { c::rust_kprobes_jumped(detour as usize, &mut registers) });
}

pub fn come_to(at: u64) {
    // Miri has no per-CPU data.
    let came = if !cfg!(miri) {
        come(at)
    } else {
        is_known(at).then_some(()).ok_or(Lost::Breakpoint)
    };
    if let Err(lost) = came {
        events::wrong(format!("{lost:?}: a CPU came to the breakpoint at {at:#x}"));
    }
}

pub fn is_known(at: u64) -> bool {
    !c::get_kprobe(core::ptr::with_exposed_provenance_mut(at as usize)).is_null()
}

#[derive(Debug, PartialEq, Eq)]
pub enum Lost {
    Breakpoint,
    Copy,
    Step,
    GoesOnAt(u64),
    Running,
    Flags,
    Tail,
}

/// The same, up to where the CPU goes on, when it knows what it knew before. Takes no lock and no
/// memory.
pub fn come(at: u64) -> Result<(), Lost> {
    let before = running();
    let mut registers = registers(at + 1);
    trap(&mut registers, Lost::Breakpoint)?;
    if is_led_away(&registers) {
        stand_in(&mut registers, false)?;
    }
    finish(at, &mut registers)?;
    if running() != before {
        return Err(Lost::Running);
    }
    Ok(())
}

/// Ftrace calls from an address, as one of its two users.
pub fn call_of_ftrace(registers: &mut pt_regs, at: u64, user: bool) {
    let call = if user {
        c::rust_kprobes_ftrace_ipmodify_hit
    } else {
        c::rust_kprobes_ftrace_hit
    };
    // SAFETY: Registers of our own, and nothing else runs on this CPU.
    unsafe { call(at as usize, registers) };
}

/// Ftrace calls from an address, as one of its two users: the CPU goes on behind the call, and
/// knows what it knew before.
pub fn call_from(at: u64, user: bool) -> Result<(), Lost> {
    let before = running();
    let mut registers = registers(at + CALL_LEN);
    window(|| call_of_ftrace(&mut registers, at, user));
    if is_led_away(&registers) {
        stand_in(&mut registers, true)?;
    }
    if registers.ip as u64 != at + CALL_LEN {
        return Err(Lost::GoesOnAt(registers.ip as u64));
    }
    if running() != before {
        return Err(Lost::Running);
    }
    Ok(())
}

/// Is the CPU on its way into the handler of a jprobe?
pub fn is_led_away(registers: &pt_regs) -> bool {
    registers.ip == bindings::rust_kprobes_jprobe_enter as *const () as usize
}

/// What `jprobe.S` is told: how many words to copy, where the handler is, what to increment.
pub fn way() -> [usize; 3] {
    // SAFETY: One CPU, which is this one.
    unsafe { (&raw const c::rust_kprobes_jprobe_state).read() }
}

/// It goes there, and the handler is over, having left its mark on all that it could; by
/// `jprobe_return()` if `old`.
pub fn stand_in(registers: &mut pt_regs, old: bool) -> Result<(), Lost> {
    let pause = core::ptr::with_exposed_provenance_mut::<i32>(way()[2]);
    // SAFETY: It leads to one, as `jprobe.S` wants it.
    unsafe { *pause += 1 };
    let end = if old {
        bindings::rust_kprobes_jprobe_return_trap as *const () as usize
    } else {
        bindings::rust_kprobes_jprobe_handler_returned as *const () as usize
    };
    *registers = pt_regs {
        ax: !0,
        cx: !0,
        bx: !0,
        di: !0,
        r15: !0,
        flags: FLAGS | 1,
        sp: !0,
        ..self::registers(end as u64 + 1)
    };
    trap(registers, Lost::Breakpoint)
}

/// What a CPU does after the trap at an address, up to where it goes on.
pub fn finish(at: u64, registers: &mut pt_regs) -> Result<(), Lost> {
    let mut original = [0; MOVE.len()];
    text::look(at, &mut original, true);
    let (len, next) = if original == MOVE || original == STEPPED {
        (MOVE.len(), at + MOVE.len() as u64)
    } else {
        (JUMP.len(), at + JUMP.len() as u64 + u64::from(JUMP[1]))
    };
    if let Some(origin) = text::detoured(registers.ip as u64) {
        registers.ip = (origin + JUMP_LEN) as usize;
        return (origin == at).then_some(()).ok_or(Lost::Copy);
    }
    if text::is_copy(registers.ip as u64) {
        run_copy(registers, &original[..len])?;
    }
    if registers.ip as u64 != next {
        return Err(Lost::GoesOnAt(registers.ip as u64));
    }
    if registers.flags != FLAGS {
        return Err(Lost::Flags);
    }
    if text::is_tail(next) {
        return Err(Lost::Tail);
    }
    Ok(())
}

/// Runs the copy of an instruction, and what is behind it.
fn run_copy(registers: &mut pt_regs, original: &[u8]) -> Result<(), Lost> {
    let (at, mut code) = (registers.ip as u64, [0; MOVE.len() + 5]);
    text::look(at, &mut code, false);
    let (copy, behind) = code.split_at(original.len());
    if copy != original {
        return Err(Lost::Copy);
    }
    let end = at + original.len() as u64;
    if behind[0] == BREAKPOINT {
        registers.ip = end as usize + 1;
        return trap(registers, Lost::Step);
    }
    let distance = i32::from_le_bytes([behind[1], behind[2], behind[3], behind[4]]);
    registers.ip = (end + 5).wrapping_add_signed(distance.into()) as usize;
    Ok(())
}

pub fn trap(registers: &mut pt_regs, lost: Lost) -> Result<(), Lost> {
    // SAFETY: Registers of our own, and nothing else runs on this CPU.
    let handled = window(|| unsafe { c::kprobe_int3_handler(registers) });
    if handled == 0 {
        return Err(lost);
    }
    Ok(())
}

pub fn running() -> *mut kprobe {
    // SAFETY: One CPU, which is this one.
    unsafe { (&raw const bindings::current_kprobe).read_volatile() }
}

pub fn is_idle() -> bool {
    // SAFETY: One CPU, which is this one. What it says first is how far it is.
    let words = || unsafe { (&raw const c::rust_kprobes_hit).read_volatile() };
    running().is_null() && (cfg!(miri) || words()[0] == 0)
}

pub fn reset() {
    // SAFETY: One CPU, which is this one.
    unsafe {
        (&raw mut bindings::current_kprobe).write(core::ptr::null_mut());
        if !cfg!(miri) {
            (&raw mut c::rust_kprobes_hit).write([0; 8]);
        }
    }
}
