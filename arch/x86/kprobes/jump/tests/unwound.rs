// SPDX-License-Identifier: GPL-2.0

//! What an unwinder finds, asked after each instruction by the CPU's single steps.

use super::{
    registers::{
        look,
        State, //
    },
    *, //
};
use crate::{
    slots::DETOURS,
    sys::preempt::PreemptOff, //
};
use core::{
    ops::Range,
    sync::atomic::{
        AtomicUsize,
        Ordering, //
    }, //
};

/// The flag by which the CPU traps after each instruction.
const TRAP: u64 = 1 << 8;

/// The function that is looked at, and how many instructions there were: in it, in the detour,
/// in what all have in common, in what that calls. Then those of which the stack was wrong.
static FUNCTION: AtomicUsize = AtomicUsize::new(0);
static COUNTS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
static WRONG: AtomicUsize = AtomicUsize::new(0);
/// How many instructions there were at all.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// What is said of an event: nothing, and that it is dealt with.
const DONE: c_int = 0;
const STOP: c_int = 0x8001;

/// Longer than all functions here.
const LONGEST: usize = 64;

fn address(symbol: *const c_char) -> usize {
    symbol.addr()
}

/// Where what all have in common is.
fn common() -> Range<usize> {
    address((&raw const bindings::rust_kprobes_detour).cast())
        ..address((&raw const bindings::rust_kprobes_detour_end).cast())
}

/// Is the stack of these registers that of the test?
fn judge(regs: *mut bindings::pt_regs) {
    // SAFETY: Those of a trap.
    let ip = unsafe { (*regs).ip };
    let mut trace = [0; 24];
    // SAFETY: There is room for so many.
    let len =
        unsafe { bindings::stack_trace_save_regs(regs, trace.as_mut_ptr(), trace.len() as u32, 0) };
    let trace = trace.get(..len as usize).unwrap_or_default();
    let caller = address((&raw const bindings::rust_kprobes_test_ran).cast());
    let function = FUNCTION.load(Ordering::Relaxed);
    let function = function..function.wrapping_add(LONGEST);
    let is_detour = DETOURS.covers(TextAddr::new(ip as u64));
    let after = |number: usize| trace.get(number).copied().unwrap_or_default();
    // What is called by the function is near it, and returns to it.
    let called = function.contains(&after(1)) && after(2) == caller;
    let (kind, right) = if function.contains(&ip) {
        (0, after(1) == caller || called)
    } else if is_detour {
        (1, after(1) == caller || called)
    } else if common().contains(&ip) {
        (2, called)
    } else if trace.iter().any(|at| common().contains(at)) {
        let at = trace.iter().position(|&at| at == caller);
        let place = at.and_then(|at| at.checked_sub(1));
        (
            3,
            place.is_some_and(|place| function.contains(&after(place))),
        )
    } else {
        return;
    };
    if let Some(count) = COUNTS.get(kind) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    if !right {
        WRONG.fetch_add(1, Ordering::Relaxed);
        pr_warn!("at {:x}: {:x?}\n", ip, trace);
    }
}

/// # Safety
///
/// To be called by the kernel's traps.
unsafe extern "C" fn stepped(
    _block: *mut bindings::notifier_block,
    event: usize,
    data: *mut c_void,
) -> c_int {
    if event != bindings::die_val_DIE_DEBUG as usize {
        return DONE;
    }
    ALL.fetch_add(1, Ordering::Relaxed);
    // SAFETY: What this event comes with.
    judge(unsafe { (*data.cast::<bindings::die_args>()).regs });
    STOP
}

/// Runs a function step by step.
fn step(function: TextAddr) -> State {
    let mut block = bindings::notifier_block {
        notifier_call: Some(stepped),
        priority: c_int::MAX,
        ..Default::default()
    };
    ALL.store(0, Ordering::Relaxed);
    // SAFETY: It is taken out again below.
    unsafe { bindings::register_die_notifier(&mut block) };
    // Another task would be stepped as well.
    let no_preempt = PreemptOff::new();
    let end = State::pattern(TRAP).run(function);
    drop(no_preempt);
    // SAFETY: The block was registered above.
    unsafe { bindings::unregister_die_notifier(&mut block) };
    end
}

/// # Safety
///
/// To be called by a hit.
unsafe extern "C" fn nothing(
    _probe: *mut bindings::kprobe,
    _regs: *mut bindings::pt_regs,
) -> c_int {
    0
}

/// How many instructions more it takes to run a function with a jump in it, with a handler that
/// does nothing.
fn more(function: TextAddr) -> Result<usize, NoJump> {
    step(function);
    let bare = ALL.load(Ordering::Relaxed);
    let jump = Jump::on(function, nothing)?;
    step(function);
    let probed = ALL.load(Ordering::Relaxed);
    drop(jump);
    Ok(probed - bare)
}

/// Runs a function step by step, with a jump in it; how many instructions of each kind there
/// were, and how many were wrong.
fn steps(function: TextAddr) -> Result<([usize; 4], usize), NoJump> {
    let jump = Jump::on(function, look)?;
    FUNCTION.store(function.get() as usize, Ordering::Relaxed);
    for count in Iterator::chain(COUNTS.iter(), [&WRONG]) {
        count.store(0, Ordering::Relaxed);
    }
    let end = step(function);
    drop(jump);
    let bare = State::pattern(0).run(function);
    let same = end.flags & !TRAP == bare.flags && end.sp != 0;
    let wrong = WRONG.load(Ordering::Relaxed) + usize::from(!same);
    let mut counts = [0; 4];
    for (to, count) in counts.iter_mut().zip(&COUNTS) {
        *to = count.load(Ordering::Relaxed);
    }
    Ok((counts, wrong))
}

/// Are all stacks right, and were there as many instructions?
fn right(function: TextAddr, in_function: usize, in_detour: usize) -> bool {
    let found = steps(function);
    let found = found.inspect_err(|failed| pr_warn!("no jump: {:?}\n", failed));
    let Ok((counts, wrong)) = found else {
        return false;
    };
    pr_info!("instructions stepped: {:?}, wrong: {}\n", counts, wrong);
    // What is pushed and popped, and called between.
    let common = counts[2] > 40 && counts[3] > 10;
    let marked = usize::from(Jump::place(function) != Ok(function));
    let right = counts[0] == in_function + marked && counts[1] == in_detour;
    wrong == 0 && common && right
}

#[kernel::macros::kunit_tests(rust_kprobes_x86_detours_unwound)]
mod cases {
    use super::*;

    #[test]
    fn the_caller_is_found_at_each_instruction() {
        // The jump and what follows; the pushes and the call, the copy and the jump back.
        assert!(right(function!(rust_kprobes_test_push), 4, 6 + 3));
    }

    #[test]
    fn the_caller_is_found_where_the_stack_is_changed() {
        assert!(right(function!(rust_kprobes_test_stack), 3, 6 + 2));
    }

    #[test]
    fn a_hit_takes_few_instructions() -> Result<(), NoJump> {
        let more = more(function!(rust_kprobes_test_plain))?;
        pr_info!("a hit through a jump takes {} instructions\n", more);
        // C's takes 94, in a kernel without these. Ours takes up to 80 there.
        let longer = cfg!(any(
            CONFIG_KASAN,
            CONFIG_CFI,
            CONFIG_MITIGATION_RETPOLINE,
            CONFIG_MITIGATION_RETHUNK
        ));
        let most = if cfg!(CONFIG_RUST_KPROBES_CHECK_HANDLERS) {
            110
        } else {
            81
        };
        assert!(more > 40 && (more < most || longer));
        Ok(())
    }

    #[test]
    fn the_caller_is_found_where_a_call_was_moved() {
        // An instruction before the callee counts the call. No table tells of the stack there.
        if registers::tracks_calls() {
            return;
        }
        assert!(right(function!(rust_kprobes_test_call), 5, 6 + 3));
    }
}
