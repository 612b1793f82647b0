// SPDX-License-Identifier: GPL-2.0

//! Detours at work: functions of `detour_test.S` run bare, then with a jump in them.
//!
//! A jump is put in and taken out by what the back end provides, under the text lock; nothing is
//! registered. So all of the registers and flags can be compared, and what handlers see.

use super::{
    super::{
        detour::covers,
        isa::layout, //
    },
    *, //
};
use crate::{
    contract::Machine,
    model::{
        not_optimized::Owner,
        plan::Pages,
        refusal::Refusal,
        surroundings::Alone,
        symbol, //
    },
    sys::{
        preempt::Pinned,
        probe::Probe, //
    }, //
};
use core::sync::atomic::{
    AtomicPtr,
    AtomicUsize,
    Ordering, //
};
use kernel::page::PAGE_SIZE;

/// The registers that a function runs with, and those that it leaves. The stack pointer is only
/// left; the other two are the words that the function's return address is followed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct State {
    ax: u64,
    cx: u64,
    dx: u64,
    bx: u64,
    sp: u64,
    bp: u64,
    si: u64,
    di: u64,
    r: [u64; 8],
    flags: u64,
    top: u64,
    next: u64,
}

/// Flags: always set, interrupts on, carry, overflow, direction, alignment checks.
const ALWAYS: u64 = 1 << 1;
const IF: u64 = 1 << 9;
const CARRY: u64 = 1;
const OVERFLOW: u64 = 1 << 11;
const DIRECTION: u64 = 1 << 10;
const ALIGNMENT: u64 = 1 << 18;

/// Flags that a function may have when it is called from here.
const FLAGS: [u64; 4] = [0, CARRY, OVERFLOW | DIRECTION, ALIGNMENT | CARRY];

impl State {
    /// One of the patterns.
    fn pattern(flags: u64) -> Self {
        let word = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ flags;
        Self {
            ax: word(1),
            cx: word(2),
            dx: word(3),
            bx: word(4),
            sp: 0,
            bp: word(5),
            si: word(6),
            di: word(7),
            r: core::array::from_fn(|number| word(8 + number as u64)),
            flags: flags | ALWAYS | IF,
            top: word(16),
            next: word(17),
        }
    }

    /// Runs a function with these.
    fn run(mut self, function: TextAddr) -> Self {
        let function = core::ptr::with_exposed_provenance(function.get() as usize);
        // SAFETY: One of the functions of this test, which change registers only, and the two
        // words.
        unsafe { bindings::rust_kprobes_test_run((&raw mut self).cast(), function) };
        self
    }

    /// Are these the registers that a handler is shown at the entry of a function, which left
    /// `end`?
    fn is_shown(&self, shown: &bindings::pt_regs, at: TextAddr, end: &Self) -> bool {
        let r = [
            shown.r8, shown.r9, shown.r10, shown.r11, shown.r12, shown.r13, shown.r14, shown.r15,
        ];
        let seen = Self {
            ax: shown.ax as u64,
            cx: shown.cx as u64,
            dx: shown.dx as u64,
            bx: shown.bx as u64,
            sp: 0,
            bp: shown.bp as u64,
            si: shown.si as u64,
            di: shown.di as u64,
            r: r.map(|one| one as u64),
            flags: shown.flags as u64,
            ..*self
        };
        // SAFETY: All of what is in these unions are numbers.
        let (cs, ss) = unsafe { (shown.__bindgen_anon_1.cs, shown.__bindgen_anon_2.ss) };
        let rest = [shown.sp as u64, shown.ip as u64, shown.orig_ax as u64];
        // What the function was called with: the return address, and the two words.
        seen == *self && rest == [end.sp - 8, at.get() + 1, u64::MAX] && (cs, ss) == (0x10, 0x18)
    }
}

/// What the handlers have seen last, how often they were called, and what flags they ran with.
static SHOWN: AtomicPtr<bindings::pt_regs> = AtomicPtr::new(core::ptr::null_mut());
static CALLS: AtomicUsize = AtomicUsize::new(0);
static RAN_WITH: AtomicUsize = AtomicUsize::new(0);

/// # Safety
///
/// To be called by a hit.
unsafe extern "C" fn look(_probe: *mut bindings::kprobe, regs: *mut bindings::pt_regs) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let flags: usize;
    // SAFETY: The stack is as before.
    unsafe { core::arch::asm!("pushfq; popq {}", out(reg) flags, options(att_syntax)) };
    RAN_WITH.store(flags, Ordering::Relaxed);
    let shown = SHOWN.load(Ordering::Relaxed);
    if !shown.is_null() {
        // SAFETY: Room that a test has given, and the registers of the hit.
        unsafe { shown.copy_from_nonoverlapping(regs, 1) };
    }
    0
}

/// Changes a register, where to go on, and says so.
///
/// # Safety
///
/// To be called by a hit.
unsafe extern "C" fn change(_probe: *mut bindings::kprobe, regs: *mut bindings::pt_regs) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: The registers of the hit, which are ours to change.
    let regs = unsafe { &mut *regs };
    regs.ax = 0x77;
    regs.flags ^= CARRY as usize;
    regs.ip = 16;
    1
}

type Handler = unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int;

/// A probe of a client's, which stays.
fn probe(handler: Handler) -> Result<&'static Probe, Refusal> {
    let probe = bindings::kprobe {
        pre_handler: Some(handler),
        ..Default::default()
    };
    let probe = KBox::new(probe, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
    let probe = KBox::into_raw(probe);
    // SAFETY: Nobody frees it.
    let probes = unsafe { Probe::from_c(&raw const probe, 1) };
    probes.first().copied().flatten().ok_or(Refusal::NoProbe)
}

/// Frees it after all.
fn free(probe: &'static Probe) {
    // SAFETY: It came from a box, and no detour leads to it any more.
    drop(unsafe { KBox::from_raw(probe.as_c()) });
}

/// The first byte of one of the functions.
macro_rules! function {
    ($name:ident) => {
        TextAddr::new((&raw const bindings::$name).addr() as u64)
    };
}

/// The first instruction of a function that is not for indirect branches only.
fn place(function: TextAddr) -> Result<TextAddr, Refusal> {
    let site = X86::site(function, 0).ok_or(Refusal::NotABoundary)?;
    Ok(site.at)
}

/// A function with a jump in it, which is there as long as this.
struct Jump {
    at: TextAddr,
    prepared: Prepared,
    detour: Made,
}

/// Why there is none.
#[derive(Debug)]
#[expect(dead_code, reason = "what is in there is shown")]
enum Failed {
    Refused(Refusal),
    NotOptimized(NotOptimized),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<NotOptimized> for Failed {
    fn from(reason: NotOptimized) -> Self {
        Self::NotOptimized(reason)
    }
}

impl Jump {
    /// Makes it, and puts it in. `function` is the function that `at` is in, as far as it matters.
    fn at(at: TextAddr, function: TextRange, chain: &Chain) -> Result<Self, Failed> {
        let mut text = text::Lock::new();
        let prepared = X86::prepare(at, false, &mut text::read, &mut text)?;
        let read = &mut text::read;
        let ways = X86::ways(function, symbol::family(c""), &Alone, read)?;
        let detour = X86::detour(at, function, &ways, &prepared, &Alone, read, &mut text)?;
        X86::direct(&detour, Some(chain));
        let jump = Self {
            at,
            prepared,
            detour,
        };
        X86::arm(&mut core::iter::once((at, &jump.prepared)), &mut text);
        X86::optimize(&|each| each(at, &jump.prepared, &jump.detour), &mut text);
        Ok(jump)
    }

    /// At the entry of a function of the tests.
    fn on(function: TextAddr, chain: &Chain) -> Result<Self, Failed> {
        let len = crate::sys::symbols::len(function).ok_or(Refusal::UnknownSymbol)?;
        Self::at(place(function)?, TextRange::with_len(function, len)?, chain)
    }
}

impl Drop for Jump {
    fn drop(&mut self) {
        let (at, text) = (self.at, &mut text::Lock::new());
        X86::unoptimize(&|each| each(at, &self.prepared, &self.detour), text);
        X86::disarm(&mut core::iter::once((at, &self.prepared)), text);
        X86::direct(&self.detour, None);
    }
}

/// What is at an address now.
fn now(at: TextAddr) -> [u8; 8] {
    let mut bytes = [0; 8];
    let _ = text::read(at, &mut bytes);
    bytes
}

/// Does a function leave with a jump in it what it leaves without, and are handlers shown the
/// registers that it was called with?
fn runs_the_same(function: TextAddr) -> Result<bool, Failed> {
    let at = place(function)?;
    let before = now(at);
    let bare = FLAGS.map(|flags| State::pattern(flags).run(function));
    let probe = probe(look)?;
    let chain = Chain::of(probe);
    // SAFETY: Numbers.
    let mut shown: bindings::pt_regs = unsafe { core::mem::zeroed() };
    let mut same = true;
    let jump = Jump::on(function, &chain)?;
    same &= now(at)[0] == 0xe9;
    CALLS.store(0, Ordering::Relaxed);
    SHOWN.store(&raw mut shown, Ordering::Relaxed);
    for (count, (flags, bare)) in FLAGS.into_iter().zip(bare).enumerate() {
        let state = State::pattern(flags);
        let end = state.run(function);
        same &= end == State { sp: end.sp, ..bare };
        same &= state.is_shown(&shown, at, &end);
        same &= CALLS.load(Ordering::Relaxed) == count + 1;
        let ran_with = RAN_WITH.load(Ordering::Relaxed) as u64;
        same &= ran_with & (DIRECTION | ALIGNMENT) == 0;
        same &= end.sp != 0;
    }
    SHOWN.store(core::ptr::null_mut(), Ordering::Relaxed);
    drop(jump);
    same &= now(at) == before;
    let after = State::pattern(0).run(function);
    same &= after
        == State {
            sp: after.sp,
            ..bare[0]
        };
    same &= CALLS.load(Ordering::Relaxed) == FLAGS.len();
    free(probe);
    Ok(same)
}

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
    fn jumps_lead_where_they_led() {
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
    fn what_changes_the_cpu_runs_the_same() {
        assert!(same(function!(rust_kprobes_test_gs)));
        assert!(same(function!(rust_kprobes_test_cr3)));
    }

    #[test]
    fn returns_from_interrupts_return() -> Result<(), Failed> {
        let function = function!(rust_kprobes_test_iret);
        let at = function!(rust_kprobes_test_iret_last);
        let len = crate::sys::symbols::len(at).ok_or(Refusal::UnknownSymbol)?;
        let bare = State::pattern(CARRY).run(function);
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::at(at, TextRange::with_len(at, len)?, &chain)?;
        let is_there = now(at)[0] == 0xe9;
        CALLS.store(0, Ordering::Relaxed);
        let end = State::pattern(CARRY).run(function);
        let calls = CALLS.load(Ordering::Relaxed);
        drop(jump);
        free(probe);
        assert!(is_there && calls == 1);
        assert_eq!(end, State { sp: end.sp, ..bare });
        Ok(())
    }

    #[test]
    fn what_handlers_change_is_changed_but_for_where_to_go_on() -> Result<(), Refusal> {
        let function = function!(rust_kprobes_test_stack);
        let bare = State::pattern(CARRY);
        let probe = probe(change)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function, &chain);
        let end = State::pattern(CARRY).run(function);
        let is_there = jump.is_ok();
        drop(jump);
        free(probe);
        assert!(is_there);
        assert_eq!(end.ax, 0x77);
        assert_eq!((end.cx, end.bp, end.r), (bare.cx, bare.bp, bare.r));
        assert_eq!(end.top, bare.top.wrapping_add(1));
        Ok(())
    }

    #[test]
    fn all_probes_of_a_place_are_called_until_the_detour_calls_nobody() -> Result<(), Refusal> {
        let function = function!(rust_kprobes_test_plain);
        let (first, second) = (probe(look)?, probe(change)?);
        let chain = Chain::of(first);
        chain.push(second);
        let jump = Jump::on(function, &chain);
        CALLS.store(0, Ordering::Relaxed);
        State::pattern(0).run(function);
        let both = CALLS.swap(0, Ordering::Relaxed);
        if let Ok(jump) = &jump {
            X86::direct(&jump.detour, None);
        }
        let bare = State::pattern(0).run(function);
        let none = CALLS.swap(0, Ordering::Relaxed);
        let is_there = jump.is_ok();
        drop(jump);
        free(first);
        free(second);
        assert!(is_there);
        assert_eq!((both, none), (2, 0));
        assert!(bare.ax != 0x77);
        Ok(())
    }

    #[test]
    fn pages_of_detours_are_text_with_a_name_of_their_own() -> Result<(), Failed> {
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function!(rust_kprobes_test_plain), &chain)?;
        let at = jump.detour.at().get();
        // SAFETY: Only looks the address up.
        let is_text = unsafe { bindings::kernel_text_address(at as usize) } != 0;
        let page = TextAddr::new(at & !(PAGE_SIZE as u64 - 1));
        let pinned = Pinned::new();
        let mut pages = (0..).map_while(|number| X86::copies(number, &pinned));
        let of = pages.find_map(|(one, of)| (one == page).then_some(of));
        drop(pinned);
        drop(jump);
        free(probe);
        assert!(is_text);
        assert_eq!(of, Some(Pages::Detours));
        Ok(())
    }

    #[test]
    fn breakpoints_lead_to_the_copy_while_they_are_diverted() -> Result<(), Failed> {
        let function = function!(rust_kprobes_test_plain);
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function, &chain)?;
        let goes_to = || {
            // SAFETY: Numbers.
            let mut registers: bindings::pt_regs = unsafe { core::mem::zeroed() };
            X86::run(&jump.prepared, &mut registers, false);
            registers.ip as u64
        };
        let before = goes_to();
        X86::divert(&jump.prepared, Some(&jump.detour));
        let during = goes_to();
        X86::divert(&jump.prepared, None);
        let after = goes_to();
        let copied = jump.detour.at().get().wrapping_add(layout::COPIED);
        drop(jump);
        free(probe);
        assert_eq!((during, after), (copied, before));
        assert!(before != copied);
        Ok(())
    }

    #[test]
    fn what_a_jump_is_over_can_be_read() -> Result<(), Failed> {
        let function = function!(rust_kprobes_test_plain);
        let at = place(function)?;
        let original = now(at);
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function, &chain)?;
        let mut from_the_start = now(at);
        let is_changed = from_the_start != original;
        X86::uncover(at, &jump.detour, at, &mut from_the_start);
        let behind = at.after(2)?;
        let mut from_inside = now(behind);
        X86::uncover(at, &jump.detour, behind, &mut from_inside);
        drop(jump);
        free(probe);
        assert!(is_changed);
        assert_eq!(from_the_start, original);
        assert_eq!(from_inside, now(behind));
        Ok(())
    }

    #[test]
    fn hits_while_a_probe_is_handled_are_missed() -> Result<(), Refusal> {
        let function = function!(rust_kprobes_test_plain);
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function, &chain);
        CALLS.store(0, Ordering::Relaxed);
        let missed = || {
            // SAFETY: It is there.
            unsafe { (*probe.as_c()).nmissed }
        };
        let before = missed();
        let pinned = Pinned::new();
        X86::set_running(crate::sys::this_cpu::nobody(), &pinned);
        State::pattern(0).run(function);
        X86::set_running(None, &pinned);
        drop(pinned);
        let after = missed();
        let is_there = jump.is_ok();
        drop(jump);
        free(probe);
        assert!(is_there);
        assert_eq!((before, after), (0, 1));
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        Ok(())
    }
}

/// What an unwinder finds, asked after each instruction by the CPU's single steps.
#[cfg(all(CONFIG_UNWINDER_ORC, CONFIG_STACKTRACE))]
mod unwound {
    use super::*;
    use core::ops::Range;

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
        let len = unsafe {
            bindings::stack_trace_save_regs(regs, trace.as_mut_ptr(), trace.len() as u32, 0)
        };
        let trace = trace.get(..len as usize).unwrap_or_default();
        let caller = address((&raw const bindings::rust_kprobes_test_ran).cast());
        let function = FUNCTION.load(Ordering::Relaxed);
        let function = function..function.wrapping_add(LONGEST);
        let is_detour = covers(TextAddr::new(ip as u64), &Pinned::new());
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
        let pinned = Pinned::new();
        let end = State::pattern(TRAP).run(function);
        drop(pinned);
        // SAFETY: It is there.
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
    fn more(function: TextAddr) -> Result<usize, Failed> {
        let probe = probe(nothing)?;
        let chain = Chain::of(probe);
        step(function);
        let bare = ALL.load(Ordering::Relaxed);
        let jump = Jump::on(function, &chain)?;
        step(function);
        let probed = ALL.load(Ordering::Relaxed);
        drop(jump);
        free(probe);
        Ok(probed - bare)
    }

    /// Runs a function step by step, with a jump in it; how many instructions of each kind there
    /// were, and how many were wrong.
    fn steps(function: TextAddr) -> Result<([usize; 4], usize), Failed> {
        let probe = probe(look)?;
        let chain = Chain::of(probe);
        let jump = Jump::on(function, &chain)?;
        FUNCTION.store(function.get() as usize, Ordering::Relaxed);
        for count in Iterator::chain(COUNTS.iter(), [&WRONG]) {
            count.store(0, Ordering::Relaxed);
        }
        let end = step(function);
        drop(jump);
        free(probe);
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
        let marked = usize::from(place(function) != Ok(function));
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
        fn a_hit_takes_few_instructions() -> Result<(), Failed> {
            let more = more(function!(rust_kprobes_test_plain))?;
            pr_info!("a hit through a jump takes {} instructions\n", more);
            // C's takes 94, in a kernel without these.
            let longer = cfg!(any(
                CONFIG_KASAN,
                CONFIG_CFI,
                CONFIG_MITIGATION_RETPOLINE,
                CONFIG_MITIGATION_RETHUNK
            ));
            assert!(more > 40 && (more < 80 || longer));
            Ok(())
        }

        #[test]
        fn the_caller_is_found_where_a_call_was_moved() {
            assert!(right(function!(rust_kprobes_test_call), 5, 6 + 3));
        }
    }
}

/// What the kernel's own tables say.
mod around {
    use super::*;
    use crate::{
        model::landing::Kind,
        sys::{
            modules,
            surroundings::{
                self,
                Found,
                Tables, //
            },
            symbols, //
        }, //
    };

    fn tables() -> Result<Tables<'static>, NotOptimized> {
        surroundings::of_the_kernel(&mut |piece, found, text| {
            X86::leaving(piece, &mut text::read, found, text)
        })
    }

    /// The function of that name.
    fn function(name: &CStr) -> Result<TextRange, Refusal> {
        let at = symbols::lookup(name).ok_or(Refusal::UnknownSymbol)?;
        TextRange::with_len(at, symbols::len(at).ok_or(Refusal::UnknownSymbol)?)
    }

    #[kernel::macros::kunit_tests(rust_kprobes_x86_surroundings)]
    mod cases {
        use super::*;

        #[test]
        fn what_leads_into_functions_is_known() -> Result<(), Failed> {
            let tables = tables()?;
            let counts = [Kind::Branch, Kind::Label, Kind::Fixup].map(|kind| tables.count(kind));
            pr_info!("branches, labels, fixups: {:?}\n", counts);
            // Hardly any branch leads into another function, but where what stands before one
            // leads into the mark at its start if the call is wrong, or the compiler splits them.
            assert!(counts[0] < 100 || cfg!(any(CONFIG_FINEIBT, CONFIG_CC_IS_GCC)));
            assert!(counts[1] > 100 && counts[2] > 100);
            Ok(())
        }

        #[test]
        fn branches_of_other_functions_are_found() -> Result<(), Failed> {
            let tables = tables()?;
            if cfg!(CONFIG_DYNAMIC_FTRACE_WITH_REGS) {
                // ftrace_regs_caller_jmp comes back into it.
                let there = function(c"ftrace_regs_caller_end")?;
                assert!(tables.entered(there).is_some());
            }
            let function = function(c"kernel_clone")?;
            let body = TextRange::new(place(function.start())?, function.end());
            assert!(tables.entered(body).is_none());
            Ok(())
        }

        #[test]
        fn where_exceptions_are_fixed_up_is_found() -> Result<(), Failed> {
            let tables = tables()?;
            let there = function(c"copy_from_kernel_nofault")?;
            assert!(tables.fixup(there).is_some());
            assert!(tables.fixup(function(c"kernel_clone")?).is_none());
            Ok(())
        }

        #[test]
        fn text_for_the_beginning_is_not_known() -> Result<(), Failed> {
            let at = symbols::lookup(c"_sinittext").ok_or(Refusal::UnknownSymbol)?;
            // It may have gone.
            if let Ok(owner) = modules::owner(at) {
                let leaving = &mut |_, _: Found<'_>, _: &mut text::Lock| Ok(false);
                let mut known = surroundings::Modules::NONE;
                let said = known.tables(&owner, at, leaving).err();
                assert_eq!(said, Some(NotOptimized::InitText));
            }
            Ok(())
        }

        #[test]
        fn who_changes_text_is_told() -> Result<(), Failed> {
            let tables = tables()?;
            let there = function(c"kernel_clone")?;
            let entry = TextRange::with_len(there.start(), 5)?;
            let expected = cfg!(CONFIG_DYNAMIC_FTRACE).then_some(Owner::Ftrace);
            assert!(tables.owner(entry) == expected);
            Ok(())
        }

        #[test]
        fn detours_of_the_kernels_functions_are_made() -> Result<(), Failed> {
            let tables = tables()?;
            let mut made = [0usize; 2];
            let mut at = symbols::lookup(c"_stext").ok_or(Refusal::UnknownSymbol)?;
            let end = symbols::lookup(c"_etext").ok_or(Refusal::UnknownSymbol)?;
            for number in 0.. {
                let function = TextRange::with_len(at, symbols::len(at).unwrap_or(16))?;
                if function.end() >= end {
                    break;
                }
                // What room for a call to ftrace comes first is not to be probed so.
                let place = at.after(5)?;
                if number % 64 == 0 && function.contains(place) {
                    let mut text = text::Lock::new();
                    let read = &mut text::read;
                    if let Ok(prepared) = X86::prepare(place, false, read, &mut text) {
                        let read = &mut text::read;
                        let family = symbol::family(c"");
                        let ways = X86::ways(function, family, &tables, read);
                        let detour = ways.and_then(|ways| {
                            let text = &mut text;
                            X86::detour(place, function, &ways, &prepared, &tables, read, text)
                        });
                        made[usize::from(detour.is_ok())] += 1;
                    }
                }
                at = function.end();
            }
            pr_info!("detours refused and made: {:?}\n", made);
            assert!(made[1] > made[0]);
            Ok(())
        }
    }
}
