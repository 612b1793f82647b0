// SPDX-License-Identifier: GPL-2.0

//! The C interface of the Rust kprobes, as C calls it.

use crate::prelude::*;

unsafe extern "C" {
    pub static mut rust_kprobes_hit: [usize; 8];
    pub static rust_kprobes_jprobe_state: [usize; 3];
    pub fn register_kprobes(probes: *mut *mut kprobe, count: c_int) -> c_int;
    pub fn unregister_kprobes(probes: *mut *mut kprobe, count: c_int);
    pub fn enable_kprobe(probe: *mut kprobe) -> c_int;
    pub fn disable_kprobe(probe: *mut kprobe) -> c_int;
    pub fn kprobe_why_no_jump(probe: *mut kprobe, why: *mut kprobe_no_jump) -> c_int;
    pub safe fn get_kprobe(addr: *mut c_void) -> *mut kprobe;
    pub fn kprobe_int3_handler(registers: *mut pt_regs) -> c_int;
    pub fn kprobe_leave_copy(registers: *mut pt_regs, trap: c_int, fixup: bool);
    pub safe fn kprobe_abort_hit();
    pub fn kprobe_original_code(code: *mut u8, ip: c_ulong, len: usize);
    pub fn kprobe_fault_handler(registers: *mut pt_regs, trap: c_int) -> c_int;
    pub fn rust_kprobes_ftrace_hit(ip: c_ulong, registers: *mut pt_regs);
    pub fn rust_kprobes_ftrace_ipmodify_hit(ip: c_ulong, registers: *mut pt_regs);
    pub safe fn kprobe_busy_begin();
    pub safe fn kprobe_busy_end();
    pub fn kprobe_get_kallsym(
        number: core::ffi::c_uint,
        value: *mut usize,
        kind: *mut c_char,
        name: *mut c_char,
    ) -> c_int;
    pub safe fn rust_kprobes_enable_all(on: bool) -> c_int;
    pub fn rust_kprobes_show(file: *mut seq_file, which: core::ffi::c_uint) -> c_int;
    pub fn rust_kprobes_worker_pass();
    pub safe fn rust_kprobes_allow_jumps(on: bool);
    pub safe fn rust_kprobes_jumps_allowed() -> bool;
    pub fn wait_for_kprobe_optimizer();
    pub fn rust_kprobes_jumped(page: usize, registers: *mut pt_regs);
    pub fn rust_kprobes_module_event(module: *mut module, state: c_ulong, last: bool);
    pub fn register_kretprobes(probes: *mut *mut kretprobe, count: c_int) -> c_int;
    pub fn unregister_kretprobes(probes: *mut *mut kretprobe, count: c_int);
    pub fn kretprobe_reserve(probe: *mut kretprobe, calls: c_uint) -> c_int;
    pub fn rust_kprobes_returned(registers: *mut pt_regs);
    pub fn rust_kprobes_service_pools();
    pub fn rust_kprobes_return_counts(counts: *mut [usize; 2]);
    pub fn rethook_find_ret_addr(
        task: *mut task_struct,
        frame: usize,
        last: *mut *mut llist_node,
    ) -> usize;
    pub fn register_jprobes(probes: *mut *mut jprobe, count: c_int) -> c_int;
    pub fn unregister_jprobes(probes: *mut *mut jprobe, count: c_int);
    pub fn rethook_flush_task(task: *mut task_struct);
}

/// How many instances all pools have.
pub fn return_calls() -> usize {
    let mut counts = [0; 2];
    // SAFETY: There is room for two numbers.
    unsafe { rust_kprobes_return_counts(&raw mut counts) };
    counts[1]
}

/// Sets how large a pool becomes by itself.
pub fn limit_growth(limit: c_int) {
    // SAFETY: Nothing else runs now.
    unsafe { (&raw mut kernel::bindings::rust_kprobes_growth_limit).write(limit) };
}
