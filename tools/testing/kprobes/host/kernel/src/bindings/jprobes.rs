// SPDX-License-Identifier: GPL-2.0

//! Jprobes, and what C does for them.

use super::*;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct jprobe {
    pub kp: kprobe,
    pub entry: *mut c_void,
}

extern "C" {
    pub fn rust_kprobes_jprobe_hit(p: *mut kprobe, regs: *mut pt_regs) -> c_int;
}

// What is assembly in the kernel: only their addresses are used, which must differ.

pub unsafe extern "C" fn rust_kprobes_jprobe_enter() {
    black_box(1);
}

pub unsafe extern "C" fn rust_kprobes_jprobe_handler_returned() {
    black_box(2);
}

pub unsafe extern "C" fn rust_kprobes_jprobe_return_trap() {
    black_box(3);
}

/// How many bytes there are above any stack pointer.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

pub fn set_stack_left(left: usize) {
    LEFT.store(left, Relaxed);
}

pub unsafe fn rust_kprobes_stack_left(_sp: c_ulong) -> usize {
    LEFT.load(Relaxed)
}

/// How often the function graph tracer is held off.
pub static mut graph_pause: c_int = 0;

pub unsafe fn rust_kprobes_graph_pause_counter() -> *mut c_int {
    &raw mut graph_pause
}

pub unsafe fn rust_kprobes_graph_unpause() {
    // SAFETY: Nothing else runs.
    unsafe { graph_pause -= 1 };
}

/// Has every function somebody else's trampoline?
pub static TRAMPOLINES: AtomicBool = AtomicBool::new(false);

pub unsafe fn rust_kprobes_has_trampoline(_ip: c_ulong) -> bool {
    TRAMPOLINES.load(Relaxed)
}

/// How often others were let have the CPU, if they wanted it, though preemption was still off.
pub static WAYS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

pub unsafe fn rust_kprobes_resched_soon() {
    WAYS[usize::from(context::stays() != 0)].fetch_add(1, Relaxed);
}

pub unsafe fn rust_kprobes_interrupted_context() -> c_uint {
    context::depth()
}
