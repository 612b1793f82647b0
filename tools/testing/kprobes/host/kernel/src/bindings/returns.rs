// SPDX-License-Identifier: GPL-2.0

//! Return probes, tasks, and what C does for the two.

use super::*;

pub const RUST_KPROBES_MAX_CALLS: c_uint = 1 << 24;

pub type kretprobe_handler_t =
    Option<unsafe extern "C" fn(ri: *mut kretprobe_instance, regs: *mut pt_regs) -> c_int>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kretprobe {
    pub kp: kprobe,
    pub handler: kretprobe_handler_t,
    pub entry_handler: kretprobe_handler_t,
    pub maxactive: c_int,
    pub nmissed: c_int,
    pub data_size: usize,
    pub rh: *mut rethook,
}

#[repr(C)]
pub struct rethook {
    pub data: *mut c_void,
}

#[repr(C)]
pub struct kretprobe_instance {
    pub node: rethook_node,
    pub data: [c_char; 0],
}

#[repr(C)]
pub struct rethook_node {
    pub rcu: callback_head,
    pub llist: llist_node,
    pub rethook: *mut rethook,
    pub ret_addr: c_ulong,
    pub frame: c_ulong,
}

#[repr(C)]
pub struct llist_node {
    pub next: *mut llist_node,
}

#[repr(C)]
pub struct llist_head {
    pub first: *mut llist_node,
}

/// A task, which has calls and nothing else.
#[repr(C)]
pub struct task_struct {
    pub rethooks: llist_head,
}

/// How large a pool becomes by itself.
pub static mut rust_kprobes_growth_limit: c_int = 4096;

/// Which CPU the one CPU is now, and in which task.
pub static mut cpu_number: c_int = 0;
pub static mut current_task: *mut task_struct = null_mut();

extern "C" {
    pub fn rust_kprobes_function_entered(p: *mut kprobe, regs: *mut pt_regs) -> c_int;
}

pub unsafe extern "C" fn arch_rethook_trampoline() {}

pub unsafe fn rust_kprobes_no_return_address() {
    crate::events::wrong("a call that nobody knows has returned".into());
}

pub unsafe fn rust_kprobes_frame_mismatch() {
    crate::events::wrong("a call is over before one that it has made".into());
}

pub unsafe fn rust_kprobes_runs_elsewhere(_task: *const task_struct) -> bool {
    false
}

pub unsafe fn rust_kprobes_this_cpu() -> c_int {
    // SAFETY: The tests run on one thread.
    unsafe { cpu_number }
}

pub unsafe fn rust_kprobes_rethooks() -> *const llist_head {
    // SAFETY: The tests run on one thread, and set the task first.
    unsafe { &raw const (*current_task).rethooks }
}

pub unsafe fn rust_kprobes_cpus(counts: *mut usize) {
    // SAFETY: By the precondition, there is room for three.
    unsafe { counts.cast::<[usize; 3]>().write(tasks::cpus()) };
}

pub unsafe fn rust_kprobes_queue_service() {
    tasks::ask();
}
