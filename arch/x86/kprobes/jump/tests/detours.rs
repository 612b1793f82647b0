// SPDX-License-Identifier: GPL-2.0

//! What functions do with a jump in them, and what a detour is while it is there.

use super::{
    super::{
        super::isa::layout, //
    },
    registers::{
        change,
        look,
        runs_the_same,
        State,
        CALLS,
        CARRY, //
    },
    *, //
};
use crate::{
    slots,
    sys::preempt::PreemptOff, //
};
use core::sync::atomic::Ordering;
use kernel::page::PAGE_SIZE;

#[kernel::macros::kunit_tests(rust_kprobes_x86_detours)]
mod cases {
    use super::*;

    fn same(function: TextAddr) -> bool {
        runs_the_same(function)
            .inspect_err(|failed| pr_warn!("no jump: {:?}\n", failed))
            .unwrap_or(false)
    }

    #[test]
    fn plain_instructions_run_the_same() {
        assert!(same(function!(rust_kprobes_test_plain)));
    }

    #[test]
    fn pushes_and_the_callers_stack_are_the_same() {
        assert!(same(function!(rust_kprobes_test_push)));
        assert!(same(function!(rust_kprobes_test_stack)));
    }

    #[test]
    fn operands_relative_to_rip_are_the_same() {
        assert!(same(function!(rust_kprobes_test_rip)));
    }

    #[test]
    fn jumps_have_the_same_targets() {
        assert!(same(function!(rust_kprobes_test_jcc)));
        assert!(same(function!(rust_kprobes_test_jmp)));
    }

    #[test]
    fn calls_return_to_the_original() {
        assert!(same(function!(rust_kprobes_test_call)));
    }

    #[test]
    fn flags_are_those_of_the_probed_code() {
        assert!(same(function!(rust_kprobes_test_flags)));
    }

    #[test]
    fn returns_return() {
        assert!(same(function!(rust_kprobes_test_ret)));
    }

    #[test]
    fn instructions_that_change_the_cpu_run_the_same() {
        assert!(same(function!(rust_kprobes_test_gs)));
        assert!(same(function!(rust_kprobes_test_cr3)));
    }

    #[test]
    fn returns_from_interrupts_return() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_iret);
        let at = function!(rust_kprobes_test_iret_last);
        let len = crate::sys::symbols::len(at).ok_or(Refusal::UnknownSymbol)?;
        let bare = State::pattern(CARRY).run(function);
        let jump = Jump::at(at, TextRange::with_len(at, len)?, look)?;
        let is_there = now(at)[0] == 0xe9;
        CALLS.store(0, Ordering::Relaxed);
        let end = State::pattern(CARRY).run(function);
        let calls = CALLS.load(Ordering::Relaxed);
        drop(jump);
        assert!(is_there && calls == 1);
        assert_eq!(end, State { sp: end.sp, ..bare });
        Ok(())
    }

    #[test]
    fn handler_changes_take_effect_except_to_the_address() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_stack);
        let bare = State::pattern(CARRY);
        let jump = Jump::on(function, change)?;
        let end = State::pattern(CARRY).run(function);
        drop(jump);
        assert_eq!(end.ax, 0x77);
        assert_eq!((end.cx, end.bp, end.r), (bare.cx, bare.bp, bare.r));
        assert_eq!(end.top, bare.top.wrapping_add(1));
        Ok(())
    }

    #[test]
    fn detour_calls_all_probes_until_its_chain_is_cleared() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_plain);
        let mut jump = Jump::on(function, look)?;
        jump.also_call(change)?;
        CALLS.store(0, Ordering::Relaxed);
        State::pattern(0).run(function);
        let both = CALLS.swap(0, Ordering::Relaxed);
        X86::set_chain(&jump.detour, None);
        let bare = State::pattern(0).run(function);
        let none = CALLS.swap(0, Ordering::Relaxed);
        drop(jump);
        assert_eq!((both, none), (2, 0));
        assert!(bare.ax != 0x77);
        Ok(())
    }

    #[test]
    fn pages_of_detours_are_text_with_a_name_of_their_own() -> Result<(), NoJump> {
        let jump = Jump::on(function!(rust_kprobes_test_plain), look)?;
        let at = jump.detour.slot.at().get();
        // SAFETY: Only looks the address up.
        let is_text = unsafe { bindings::kernel_text_address(at as usize) } != 0;
        let page = TextAddr::new(at & !(PAGE_SIZE as u64 - 1));
        let no_preempt = PreemptOff::new();
        let mut pages = (0..).map_while(|number| slots::nth_page(number, &no_preempt));
        let of = pages.find_map(|(one, name)| (one == page).then_some(name));
        drop(no_preempt);
        drop(jump);
        assert!(is_text);
        assert_eq!(of, Some(bindings::KPROBE_OPTINSN_PAGE_SYM.as_slice()));
        Ok(())
    }

    #[test]
    fn redirected_breakpoints_lead_to_the_copy_in_the_detour() -> Result<(), NoJump> {
        let jump = Jump::on(function!(rust_kprobes_test_plain), look)?;
        let goes_to = || {
            // SAFETY: Numbers.
            let mut registers: bindings::pt_regs = unsafe { core::mem::zeroed() };
            X86::run(&jump.prepared, &mut registers, false);
            registers.ip as u64
        };
        let before = goes_to();
        X86::redirect(&jump.prepared, Some(&jump.detour));
        let during = goes_to();
        X86::redirect(&jump.prepared, None);
        let after = goes_to();
        let copied = jump.detour.slot.at().get().wrapping_add(layout::COPIED);
        drop(jump);
        assert_eq!((during, after), (copied, before));
        assert!(before != copied);
        Ok(())
    }

    #[test]
    fn original_code_under_a_jump_is_recovered() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_plain);
        let at = Jump::place(function)?;
        let (original, behind) = (now(at), at.after(2)?);
        let jump = Jump::on(function, look)?;
        let is_changed = now(at) != original;
        let (whole, tail) = (jump.recovered(at), jump.recovered(behind));
        drop(jump);
        assert!(is_changed);
        assert_eq!((whole, tail), (original, now(behind)));
        Ok(())
    }

    #[test]
    fn hits_while_a_probe_is_handled_are_missed() -> Result<(), NoJump> {
        let function = function!(rust_kprobes_test_plain);
        let jump = Jump::on(function, look)?;
        CALLS.store(0, Ordering::Relaxed);
        let missed = jump.missed_in_a_hit(|| _ = State::pattern(0).run(function));
        drop(jump);
        assert_eq!((missed, CALLS.load(Ordering::Relaxed)), (1, 0));
        Ok(())
    }
}
