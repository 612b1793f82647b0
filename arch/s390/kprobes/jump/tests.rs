// SPDX-License-Identifier: GPL-2.0

//! Detours at work: functions of `detour_test.S` run bare, then with a [`Jump`] in them.
//!
//! All registers and the condition code are compared, and what handlers see.

use super::{
    super::saved_regs::SavedRegs,
    *, //
};
use crate::contract::tests::now;
use core::sync::atomic::{
    AtomicPtr,
    AtomicUsize,
    Ordering, //
};

type Jump = crate::contract::tests::Jump<S390>;

/// The address of one of the functions.
macro_rules! function {
    ($name:ident) => {
        TextAddr::new((&raw const bindings::$name).addr() as u64)
    };
}

/// The registers that a function runs with, and those that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct State {
    gprs: [u64; 14],
    cc: u64,
    memory: u64,
}

impl State {
    /// One of the patterns.
    fn pattern(cc: u64) -> Self {
        let word = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ cc;
        Self {
            gprs: core::array::from_fn(|number| word(number as u64)),
            cc,
            memory: word(14),
        }
    }

    /// Runs a function with these.
    fn run(mut self, function: TextAddr) -> Self {
        let function = core::ptr::with_exposed_provenance(function.get() as usize);
        // SAFETY: One of the functions of this test, which change registers and the memory.
        unsafe { bindings::rust_kprobes_test_run((&raw mut self).cast(), function) };
        self
    }

    /// Are these the registers that a handler is shown at `at`, as far as the function has not
    /// changed them?
    fn is_shown(&self, shown: &bindings::pt_regs, at: TextAddr) -> bool {
        let shown = SavedRegs::of(shown);
        let mut gprs = shown.gprs.iter().zip(&self.gprs);
        let same = gprs.all(|(&shown, &is)| shown as u64 == is);
        let ip = shown.ip as u64 == at.get() + S390::TRAP_IP_OFFSET;
        same && ip && shown.mask as u64 >> 44 & 3 == self.cc
    }
}

/// What the handlers have seen last, and how often they were called.
static SHOWN: AtomicPtr<bindings::pt_regs> = AtomicPtr::new(core::ptr::null_mut());
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Whether the stack led from the handler to the probed instruction and to what runs the functions.
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// # Safety
///
/// To be called by a hit.
unsafe extern "C" fn look(_: *mut bindings::kprobe, regs: *mut bindings::pt_regs) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let shown = SHOWN.load(Ordering::Relaxed);
    if !shown.is_null() {
        // SAFETY: Room that a test has given, and the registers of the hit.
        unsafe { shown.copy_from_nonoverlapping(regs, 1) };
    }
    let mut trace = [0; 24];
    // SAFETY: There is room for so many.
    let len = unsafe { bindings::stack_trace_save(trace.as_mut_ptr(), trace.len() as u32, 0) };
    let trace = trace.get(..len as usize).unwrap_or_default();
    // SAFETY: The registers of the hit.
    let at = SavedRegs::of(unsafe { &*regs }).ip;
    let caller = function!(rust_kprobes_test_ran).get() as usize;
    let mut behind = trace.iter().skip_while(|&&entry| entry != at);
    if behind.any(|&entry| entry == caller) {
        TRACED.fetch_add(1, Ordering::Relaxed);
    }
    0
}

/// Changes a register, the condition code, and where to go on.
///
/// # Safety
///
/// To be called by a hit.
unsafe extern "C" fn change(_: *mut bindings::kprobe, regs: *mut bindings::pt_regs) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: The registers of the hit, which are ours to change.
    let regs = SavedRegs::of_mut(unsafe { &mut *regs });
    (regs.gprs[5], regs.ip) = (0x77, 16);
    regs.mask ^= 3 << 44;
    1
}

/// Puts a jump in the place of one of the functions' instructions.
fn jump_at(
    at: TextAddr,
    handler: unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int,
) -> Result<Jump, NoJump> {
    Jump::at(at, TextRange::with_len(at, 16)?, handler)
}

/// Returns whether the function leaves the same registers with a jump at `at` as without, and calls
/// the handler once, with the registers of the function's entry.
fn runs_the_same(function: TextAddr, at: TextAddr) -> bool {
    let before = now(at);
    let bare = [0, 1, 2, 3].map(|cc| State::pattern(cc).run(function));
    // SAFETY: Numbers.
    let mut shown: bindings::pt_regs = unsafe { core::mem::zeroed() };
    let Ok(jump) = jump_at(at, look) else {
        return false;
    };
    let mut same = S390::is_jump(&now(at));
    CALLS.store(0, Ordering::Relaxed);
    TRACED.store(0, Ordering::Relaxed);
    SHOWN.store(&raw mut shown, Ordering::Relaxed);
    for (cc, bare) in (0..).zip(bare) {
        let state = State::pattern(cc);
        same &= state.run(function) == bare;
        same &= state.is_shown(&shown, at);
    }
    SHOWN.store(core::ptr::null_mut(), Ordering::Relaxed);
    drop(jump);
    same &= now(at) == before;
    same &= State::pattern(0).run(function) == bare[0];
    same &= CALLS.load(Ordering::Relaxed) == bare.len();
    same &= TRACED.load(Ordering::Relaxed) == bare.len();
    same
}

#[kernel::macros::kunit_tests(rust_kprobes_s390_detours)]
mod cases {
    use super::*;

    fn same(function: TextAddr) -> bool {
        runs_the_same(function, function)
    }

    #[test]
    fn condition_code_is_that_of_the_probed_code() {
        assert!(same(function!(rust_kprobes_test_carry)));
    }

    #[test]
    fn stack_and_link_register_are_those_of_the_probed_code() {
        assert!(same(function!(rust_kprobes_test_store)));
        let leaf = function!(rust_kprobes_test_leaf);
        assert!(runs_the_same(
            leaf,
            function!(rust_kprobes_test_leaf_probed)
        ));
    }

    #[test]
    fn relative_operands_are_the_same() {
        assert!(same(function!(rust_kprobes_test_relative)));
        assert!(same(function!(rust_kprobes_test_executed)));
    }

    #[test]
    fn handler_changes_take_effect_except_to_the_address() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_relative);
        let jump = jump_at(function, change)?;
        let (bare, end) = (State::pattern(1), State::pattern(1).run(function));
        drop(jump);
        assert_eq!((end.gprs[5], end.cc), (0x77, 2));
        assert_eq!((end.gprs[2], end.gprs[3]), (function.get(), bare.gprs[3]));
        Ok(())
    }

    #[test]
    fn hits_while_a_probe_is_handled_are_missed() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_carry);
        let jump = jump_at(function, look)?;
        CALLS.store(0, Ordering::Relaxed);
        let missed = jump.missed_in_a_hit(|| _ = State::pattern(0).run(function));
        drop(jump);
        assert_eq!((missed, CALLS.load(Ordering::Relaxed)), (1, 0));
        Ok(())
    }

    #[test]
    fn detours_call_no_handler_without_an_owner() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_carry);
        let jump = jump_at(function, look)?;
        CALLS.store(0, Ordering::Relaxed);
        S390::set_chain(&jump.detour, None);
        State::pattern(0).run(function);
        drop(jump);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        Ok(())
    }

    #[test]
    fn other_instructions_have_no_jump() {
        let why = |at| jump_at(at, look).err().map(|why| why.reason);
        let short = why(function!(rust_kprobes_test_short));
        let branch = why(function!(rust_kprobes_test_branch));
        assert_eq!(short, Some(NoJumpReason::ShortInsn));
        assert_eq!(branch, Some(NoJumpReason::Emulated));
    }

    #[test]
    fn addresses_in_a_detour_are_those_of_the_original() -> Result<(), NoJump> {
        let at = function!(rust_kprobes_test_carry);
        let jump = jump_at(at, look)?;
        let slot = jump.detour.slot.at().get();
        let frame = FRAME as u64;
        let unwound = |ip: u64, link: u64| {
            let (mut ip, mut sp) = (ip as usize, 0x1000);
            // SAFETY: Numbers.
            let mut registers: bindings::pt_regs = unsafe { core::mem::zeroed() };
            SavedRegs::of_mut(&mut registers).gprs[14] = link as usize;
            // SAFETY: All three are there.
            unsafe { bindings::kprobe_unwind_original(&raw const registers, &mut ip, &mut sp) };
            (ip as u64, sp as u64 - 0x1000)
        };
        let steps = [0, 6, 12, 18, 24, 30].map(|offset| unwound(slot + offset, 0));
        let common = function!(rust_kprobes_detour).get();
        let entered = unwound(common + 6, slot + 18);
        let framed = function!(rust_kprobes_detour_frame).get();
        let later = unwound(framed, slot + 18);
        drop(jump);
        let (here, inside) = ((at.get(), 0), (at.get(), frame));
        let behind = (at.get() + 6, 0);
        assert_eq!(steps, [here, inside, inside, inside, here, behind]);
        assert_eq!((entered, later), (inside, (framed, 0)));
        Ok(())
    }

    #[test]
    fn original_code_under_a_jump_is_recovered() -> Result<(), NoJump> {
        let at = function!(rust_kprobes_test_carry);
        let (original, behind) = (now(at), at.after(2)?);
        let jump = jump_at(at, look)?;
        let is_changed = now(at) != original;
        let (whole, tail) = (jump.recovered(at), jump.recovered(behind));
        drop(jump);
        assert!(is_changed);
        assert_eq!((whole, tail), (original, now(behind)));
        Ok(())
    }
}
