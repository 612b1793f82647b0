// SPDX-License-Identifier: GPL-2.0

//! Are the registers and flags the same with a jump as without, and those that handlers are shown?

use super::*;
use core::sync::atomic::{
    AtomicPtr,
    AtomicUsize,
    Ordering, //
};

/// The registers that a function runs with, and those that it leaves. The stack pointer is only
/// left; the other two are the words that the function's return address is followed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct State {
    pub(super) ax: u64,
    pub(super) cx: u64,
    pub(super) dx: u64,
    pub(super) bx: u64,
    pub(super) sp: u64,
    pub(super) bp: u64,
    pub(super) si: u64,
    pub(super) di: u64,
    pub(super) r: [u64; 8],
    pub(super) flags: u64,
    pub(super) top: u64,
    pub(super) next: u64,
}

/// Does the kernel track the depth of calls? Then calls and returns run instructions of its own,
/// which leave flags that depend on the depth.
pub(super) fn tracks_calls() -> bool {
    let (word, bit) = (
        bindings::X86_FEATURE_CALL_DEPTH / 32,
        bindings::X86_FEATURE_CALL_DEPTH % 32,
    );
    // SAFETY: A word that does not change after boot.
    let word = unsafe { bindings::boot_cpu_data.__bindgen_anon_3.x86_capability[word as usize] };
    word & 1 << bit != 0
}

/// Flags: always set, interrupts on, carry, overflow, direction, alignment checks.
const ALWAYS: u64 = 1 << 1;
const IF: u64 = 1 << 9;
pub(super) const CARRY: u64 = 1;
const OVERFLOW: u64 = 1 << 11;
const DIRECTION: u64 = 1 << 10;
const ALIGNMENT: u64 = 1 << 18;

/// Flags that a function may have when it is called from here.
const FLAGS: [u64; 4] = [0, CARRY, OVERFLOW | DIRECTION, ALIGNMENT | CARRY];

impl State {
    /// One of the patterns.
    pub(super) fn pattern(flags: u64) -> Self {
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
    pub(super) fn run(mut self, function: TextAddr) -> Self {
        let function = core::ptr::with_exposed_provenance(function.get() as usize);
        // SAFETY: One of the functions of this test, which change registers only, and the two
        // words.
        unsafe { bindings::rust_kprobes_test_run((&raw mut self).cast(), function) };
        if tracks_calls() {
            self.flags = 0;
        }
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
pub(super) static CALLS: AtomicUsize = AtomicUsize::new(0);
static RAN_WITH: AtomicUsize = AtomicUsize::new(0);

/// # Safety
///
/// To be called by a hit.
pub(super) unsafe extern "C" fn look(
    _probe: *mut bindings::kprobe,
    regs: *mut bindings::pt_regs,
) -> c_int {
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
pub(super) unsafe extern "C" fn change(
    _probe: *mut bindings::kprobe,
    regs: *mut bindings::pt_regs,
) -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: The registers of the hit, which are ours to change.
    let regs = unsafe { &mut *regs };
    regs.ax = 0x77;
    regs.flags ^= CARRY as usize;
    regs.ip = 16;
    1
}

/// Returns whether the function leaves the same registers with a jump in it as without, and the
/// handlers get the registers that it was called with.
pub(super) fn runs_the_same(function: TextAddr) -> Result<bool, NoJump> {
    let at = Jump::place(function)?;
    let before = now(at);
    let bare = FLAGS.map(|flags| State::pattern(flags).run(function));
    // SAFETY: Numbers.
    let mut shown: bindings::pt_regs = unsafe { core::mem::zeroed() };
    let mut same = true;
    let jump = Jump::on(function, look)?;
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
    Ok(same)
}
