// SPDX-License-Identifier: GPL-2.0

//! Entries from C: return probes, and the functions of [`include/linux/rethook.h`](
//! srctree/include/linux/rethook.h) that other code calls. Unwinders ask for the return address of
//! a function, and the kernel reports that a task is dead.

use super::*;
use crate::{
    abi::{
        client_call,
        status, //
    },
    sys::probe::from_c, //
};

client_call!(register_kretprobe(*mut bindings::kretprobe) -> c_int = register::all);
client_call!(register_kretprobes(*mut *mut bindings::kretprobe, c_int) -> c_int = register::all);
client_call!(unregister_kretprobe(*mut bindings::kretprobe) = register::unregister);
client_call!(unregister_kretprobes(*mut *mut bindings::kretprobe, c_int) = register::unregister);

/// # Safety
///
/// As for [`from_c`], with one pointer.
#[export]
unsafe extern "C" fn kretprobe_reserve(rp: *mut bindings::kretprobe, calls: c_uint) -> c_int {
    // SAFETY: By the precondition, `rp` meets `from_c`'s precondition for one probe.
    let clients = unsafe { from_c::<ReturnProbe>(&rp, 1) };
    let probe = clients.and_then(|clients| clients.iter().flatten().next().ok_or(Refusal::NoProbe));
    status(probe.and_then(|probe| probe.reserve(calls as usize)))
}

/// Handles hits of the probes on the entries of functions, as their pre handler.
///
/// # Safety
///
/// `p` is the entry of a return probe, which was hit, and `regs` are the registers of the hit.
/// Preemption is off.
#[export]
unsafe extern "C" fn rust_kprobes_function_entered(
    p: *mut bindings::kprobe,
    regs: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: By the precondition a return probe begins with `p`, and only the hit uses `regs`.
    let (probe, registers) = unsafe { (ReturnProbe::of_entry(p), &mut *regs) };
    // SAFETY: By the precondition preemption is off, and a function's entry was hit.
    unsafe { preempt::already_off(|no_preempt| hit::entered(probe, registers, no_preempt)) };
    0
}

/// Handles the return of a hooked function to the trampoline.
///
/// # Safety
///
/// `regs` are the registers that the trampoline has saved. Preemption is off until this returns.
#[export]
unsafe extern "C" fn rust_kprobes_returned(regs: *mut bindings::pt_regs) {
    // SAFETY: By the precondition, the trampoline has saved them on the stack, where only this uses
    // them.
    let registers = unsafe { &mut *regs };
    // SAFETY: By the precondition, preemption is off, and the trampoline has saved the registers.
    unsafe { preempt::already_off(|no_preempt| hit::returned(registers, no_preempt)) }
}

/// # Safety
///
/// `tsk` is this task, or a task that is not freed and does not run, though it may begin to run.
/// `cur` is NULL, or points to NULL or to the value that an earlier call has stored there.
#[export]
unsafe extern "C" fn rethook_find_ret_addr(
    tsk: *mut bindings::task_struct,
    frame: usize,
    cur: *mut *mut bindings::llist_node,
) -> usize {
    let no_preempt = PreemptOff::new();
    // SAFETY: The task is not freed, by the precondition.
    if cur.is_null() || unsafe { bindings::rust_kprobes_runs_elsewhere(tsk) } {
        return 0;
    }
    // SAFETY: By the precondition, and preemption is off since before the check.
    let list = unsafe { TaskInstances::of(tsk) };
    // SAFETY: `cur` is not NULL, so by the precondition it points to a pointer.
    let last = unsafe { *cur };
    let Some((instance, to)) = hit::find(list, last, frame, &no_preempt) else {
        return 0;
    };
    // SAFETY: `cur` is not NULL, so by the precondition it points to a pointer.
    unsafe { cur.write(instance.link()) };
    to
}

/// # Safety
///
/// `tk` is a task that never runs again.
#[export]
unsafe extern "C" fn rethook_flush_task(tk: *mut bindings::task_struct) {
    // SAFETY: By the precondition no other code uses the list of the task.
    hit::give_back(unsafe { TaskInstances::of(tk) }, None, &PreemptOff::new());
}

/// # Safety
///
/// Only the worker may call this.
#[export]
unsafe extern "C" fn rust_kprobes_service_pools() {
    pools::service();
}

/// Stores the number of pools and the number of their instances, for tests.
///
/// # Safety
///
/// `counts` has room for two numbers.
#[export]
unsafe extern "C" fn rust_kprobes_return_counts(counts: *mut usize) {
    // SAFETY: `counts` has room for two numbers, by the precondition.
    unsafe { counts.cast::<[usize; 2]>().write(pools::counts()) };
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_returns_abi)]
mod tests {
    use super::*;

    const EINVAL: c_int = -22;
    const ENOENT: c_int = -2;
    const E2BIG: c_int = -7;
    const ENOMEM: c_int = -12;

    fn probe(symbol: &CStr, offset: u32, data_size: usize) -> bindings::kretprobe {
        bindings::kretprobe {
            kp: bindings::kprobe {
                symbol_name: symbol.as_char_ptr(),
                offset,
                ..pin_init::zeroed()
            },
            data_size,
            ..pin_init::zeroed()
        }
    }

    fn register(probe: &mut bindings::kretprobe) -> c_int {
        // SAFETY: A probe for us alone, its symbol is a string.
        unsafe { register_kretprobe(probe) }
    }

    fn unregister(probe: &mut bindings::kretprobe) {
        // SAFETY: A probe for us alone.
        unsafe { unregister_kretprobe(probe) };
    }

    #[test]
    fn a_return_probe_is_on_an_entry_and_small() {
        let mut good = probe(c"kernel_clone", 0, 4096);
        assert_eq!(register(&mut good), 0);
        assert!(good.maxactive >= 10 && !good.rh.is_null());
        // The symbol and the address are both there now.
        assert_eq!(register(&mut good), EINVAL);
        assert!(!good.rh.is_null());
        unregister(&mut good);
        assert!(good.rh.is_null() && !good.kp.addr.is_null());
        unregister(&mut good);
        assert!(good.kp.addr.is_null());
        assert_eq!(register(&mut probe(c"kernel_clone", 0, 4097)), E2BIG);
        assert_eq!(register(&mut probe(c"kernel_clone", 9, 0)), EINVAL);
        assert_eq!(register(&mut probe(c"no_such_function", 0, 0)), ENOENT);
        for never in Arch::KRETPROBE_BLACKLIST {
            assert_eq!(register(&mut probe(never, 0, 0)), EINVAL);
        }
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { register_kretprobe(core::ptr::null_mut()) }, EINVAL);
    }

    #[test]
    fn refused_return_probe_has_no_pool() {
        let mut large = probe(c"kernel_clone", 0, 4096);
        large.maxactive = (1 << 24) + 1;
        assert_eq!(register(&mut large), ENOMEM);
        assert!(large.rh.is_null());
        // SAFETY: A probe for us alone.
        assert_eq!(unsafe { kretprobe_reserve(&mut large, 1) }, EINVAL);
    }

    #[test]
    fn room_can_be_reserved() {
        let mut good = probe(c"kernel_clone", 0, 8);
        good.maxactive = 1;
        assert_eq!(register(&mut good), 0);
        // SAFETY: A probe for us alone, which is registered.
        assert_eq!(unsafe { kretprobe_reserve(&mut good, 1000) }, 0);
        // SAFETY: As before.
        let too_many = unsafe { kretprobe_reserve(&mut good, (1 << 24) + 1) };
        assert_eq!(too_many, ENOMEM);
        assert_eq!(good.maxactive, 1);
        unregister(&mut good);
    }
}
