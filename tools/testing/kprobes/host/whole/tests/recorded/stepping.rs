// SPDX-License-Identifier: GPL-2.0

//! Running code one instruction of the machine at a time, so that something else can come between
//! any two of them, as an NMI can.
//!
//! The trap flag makes the CPU trap after each instruction, and the host makes a signal of that.
//! Its handler is what comes in between; in it, the flag is off.

use crate::prelude::*;
use core::arch::asm;
use core::mem::MaybeUninit;

const TF: i64 = 0x100;

static RUN: AtomicUsize = AtomicUsize::new(0);
/// After which of them something comes; [`EACH`] for all of them.
static WANTED: AtomicUsize = AtomicUsize::new(0);
static COMES: AtomicUsize = AtomicUsize::new(0);
/// What the CPU has in its registers, while it comes.
static REGISTERS: AtomicPtr<[i64; 23]> = AtomicPtr::new(core::ptr::null_mut());
static COUNTED: AtomicBool = AtomicBool::new(false);
/// Do those of a [`window`] count that begins now?
static WAITS: AtomicBool = AtomicBool::new(false);

const EACH: usize = usize::MAX;

/// Runs `work`, and `between` after each of its instructions; tells how many there were.
pub fn each(work: impl FnOnce(), between: fn()) -> usize {
    run(EACH, between, || counted(work));
    RUN.load(Relaxed)
}

/// A register of the CPU between two instructions, by its number in the host's list.
pub fn register(number: c_int) -> u64 {
    let registers = REGISTERS.load(Relaxed);
    // SAFETY: NULL, or what the host has saved, which stays while something comes.
    let registers = unsafe { registers.as_ref() }.expect("to be between two instructions");
    registers[number as usize] as u64
}

/// Runs `work`, and `between` once, after so many instructions of what is in a [`window`]; tells
/// whether there were so many.
pub fn once(work: impl FnOnce(), between: fn(), after: usize) -> bool {
    run(after, between, || {
        WAITS.store(true, Relaxed);
        work();
        WAITS.store(false, Relaxed);
    });
    RUN.load(Relaxed) > after
}

/// What the instructions count of, if anybody wants to come between them.
pub fn window<T>(work: impl FnOnce() -> T) -> T {
    if WAITS.load(Relaxed) && !COUNTED.load(Relaxed) {
        counted(work)
    } else {
        work()
    }
}

fn counted<T>(work: impl FnOnce() -> T) -> T {
    COUNTED.store(true, Relaxed);
    // SAFETY: Changes the trap flag only, which `run` has set up a handler for.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = work();
    // SAFETY: As above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    COUNTED.store(false, Relaxed);
    result
}

fn run(wanted: usize, between: fn(), work: impl FnOnce()) {
    /// The handler belongs to the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    RUN.store(0, Relaxed);
    WANTED.store(wanted, Relaxed);
    COMES.store(between as usize, Relaxed);
    let before = handle(on_trap as *const () as usize);
    work();
    handle(before);
}

/// Makes `handler` what the host calls for a trap; gives what it called before.
fn handle(handler: usize) -> usize {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: Zeroes are an action without a handler.
    let new = unsafe { action.assume_init_mut() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_SIGINFO;
    // SAFETY: An action, and room for one; the handler is one for three arguments.
    let status = unsafe { libc::sigaction(libc::SIGTRAP, new, before.as_mut_ptr()) };
    assert_eq!(status, 0);
    // SAFETY: Written just now.
    unsafe { before.assume_init() }.sa_sigaction
}

extern "C" fn on_trap(_signal: c_int, _info: *const libc::siginfo_t, context: *mut c_void) {
    let (number, wanted) = (RUN.fetch_add(1, Relaxed), WANTED.load(Relaxed));
    if wanted != EACH && number != wanted {
        return;
    }
    // It has come, or is to come to nothing of what it does itself.
    WAITS.store(false, Relaxed);
    let comes = core::ptr::with_exposed_provenance::<()>(COMES.load(Relaxed));
    // SAFETY: It was made of such a function.
    let comes: fn() = unsafe { core::mem::transmute(comes) };
    // SAFETY: What the host has saved.
    let saved = unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    REGISTERS.store(saved, Relaxed);
    comes();
    REGISTERS.store(core::ptr::null_mut(), Relaxed);
    if wanted != EACH {
        // SAFETY: What the host has saved, which is restored from there. The rest runs as usual.
        let saved = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
        saved.gregs[libc::REG_EFL as usize] &= !TF;
    }
}
