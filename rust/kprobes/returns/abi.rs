// SPDX-License-Identifier: GPL-2.0

//! EDGE: return probes, and what others ask of [`include/linux/rethook.h`](
//! srctree/include/linux/rethook.h): unwinders where a function returns to, and the kernel that a
//! dead task's calls be forgotten.

use super::{
    call::Calls,
    hit,
    probe::ReturnProbe,
    register,
    store,
    stores, //
};
use crate::{
    abi::{
        number,
        status, //
    },
    prelude::*,
    sys::preempt::{
        self,
        Pinned, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// The return probes that a client passes.
///
/// # Safety
///
/// `array` is NULL or has `count` pointers, each NULL or as [`ReturnProbe::from_c`] wants it.
unsafe fn clients<'a>(
    array: *const *mut bindings::kretprobe,
    count: c_int,
) -> Result<&'a [Option<&'static ReturnProbe>], Refusal> {
    let count = number(array, count)?;
    // SAFETY: Not NULL, and the rest by the precondition.
    Ok(unsafe { ReturnProbe::from_c(array, count) })
}

/// # Safety
///
/// As for [`clients`], with one pointer.
#[export]
unsafe extern "C" fn register_kretprobe(rp: *mut bindings::kretprobe) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { clients(&rp, 1) }.and_then(register::batch))
}

/// # Safety
///
/// As for [`clients`].
#[export]
unsafe extern "C" fn register_kretprobes(rps: *mut *mut bindings::kretprobe, num: c_int) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { clients(rps, num) }.and_then(register::batch))
}

/// # Safety
///
/// As for [`clients`], with one pointer.
#[export]
unsafe extern "C" fn unregister_kretprobe(rp: *mut bindings::kretprobe) {
    // SAFETY: By the precondition.
    let _ = unsafe { clients(&rp, 1) }.map(register::unregister);
}

/// # Safety
///
/// As for [`clients`].
#[export]
unsafe extern "C" fn unregister_kretprobes(rps: *mut *mut bindings::kretprobe, num: c_int) {
    // Nothing to unregister is no mistake that C tells.
    // SAFETY: By the precondition.
    let _ = unsafe { clients(rps, num) }.map(register::unregister);
}

/// # Safety
///
/// `rp` is NULL or as [`ReturnProbe::from_c`] wants it.
#[export]
unsafe extern "C" fn kretprobe_reserve(rp: *mut bindings::kretprobe, calls: c_uint) -> c_int {
    // SAFETY: By the precondition.
    let clients = unsafe { clients(&rp, 1) };
    status(clients.and_then(|clients| {
        let probe = clients.first().copied().flatten();
        probe.ok_or(Refusal::NoProbe)?.reserve(calls as usize)
    }))
}

/// The handler of the probes on the entries of functions whose return is to be hooked.
///
/// # Safety
///
/// `p` is such a probe, which was hit, and `regs` what the hit has saved; preemption is off.
#[export]
unsafe extern "C" fn rust_kprobes_function_entered(
    p: *mut bindings::kprobe,
    regs: *mut bindings::pt_regs,
) -> c_int {
    // SAFETY: By the precondition.
    let (probe, registers) = unsafe { (ReturnProbe::of_entry(p), &mut *regs) };
    // SAFETY: By the precondition.
    unsafe { preempt::in_trap(|pinned| hit::entered(probe, registers, pinned)) };
    0
}

/// # Safety
///
/// `tsk` is this task, or one that does not run and stays. It may begin to run. `cur` is NULL, or
/// leads to NULL, or to what an earlier call has left there.
#[export]
unsafe extern "C" fn rethook_find_ret_addr(
    tsk: *mut bindings::task_struct,
    frame: usize,
    cur: *mut *mut bindings::llist_node,
) -> usize {
    let pinned = Pinned::new();
    // SAFETY: The task is there, by the precondition.
    if cur.is_null() || unsafe { bindings::rust_kprobes_runs_elsewhere(tsk) } {
        return 0;
    }
    // SAFETY: By the precondition.
    let calls = unsafe { Calls::of(tsk) };
    // SAFETY: By the precondition.
    let last = unsafe { *cur }.cast();
    let Some((call, to)) = hit::find(calls, last, frame, &pinned) else {
        return 0;
    };
    // SAFETY: By the precondition.
    unsafe { cur.write(call.link().cast()) };
    to
}

/// # Safety
///
/// `tk` is a task that never runs again.
#[export]
unsafe extern "C" fn rethook_flush_task(tk: *mut bindings::task_struct) {
    // SAFETY: By the precondition.
    hit::forget(unsafe { Calls::of(tk) }, &Pinned::new());
}

/// # Safety
///
/// To be called by the worker alone.
#[export]
unsafe extern "C" fn rust_kprobes_tend() {
    stores::tend();
}

/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_growth_limit() -> c_int {
    c_int::try_from(store::growth_limit()).unwrap_or(c_int::MAX)
}

/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_limit_growth(limit: c_int) {
    store::limit_growth(usize::try_from(limit).unwrap_or_default());
}

/// For how many return probes there is anything in store, as the file says it; for tests.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_return_pools() -> usize {
    stores::counts().0
}

/// For how many calls all of them have room, as the file says it; for tests.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_return_calls() -> usize {
    stores::counts().1
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
        assert_eq!(register(&mut probe(c"__switch_to", 0, 0)), EINVAL);
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { register_kretprobe(core::ptr::null_mut()) }, EINVAL);
    }

    #[test]
    fn what_is_refused_leaves_nothing() {
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
