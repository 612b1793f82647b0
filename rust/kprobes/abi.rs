// SPDX-License-Identifier: GPL-2.0

//! The C interface, [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h).
//!
//! Checks the pointers that C passes, calls [`lifecycle`](crate::lifecycle), and returns an errno.
//! `abi.c` has the part in C: exports, initcalls, and what needs C's macros and inline functions.
//!
//! Hits enter in the back end's `entry.rs` (breakpoints), and here in `jump.rs` and `ftrace.rs`;
//! hooked returns enter in `returns/abi.rs`. `copies.rs` has the entries for faults and unwinders.

mod copies;
mod errno;
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
mod ftrace;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
mod jump;

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::optimize::worker;
#[cfg(CONFIG_MODULES)]
use crate::sys::modules::{
    FreedMemory,
    Module, //
};
#[cfg(CONFIG_DEBUG_FS)]
use crate::{
    debugfs,
    sys::seq::Seq, //
};
use crate::{
    hit::{
        breakpoint,
        handlers, //
    },
    lifecycle::{
        check,
        enable,
        modules,
        register,
        unregister, //
    },
    model::target::Target,
    registry::prelude::*,
    slots,
    sys::{
        preempt,
        prelude::*,
        probe,
        symbols, //
    }, //
};
#[cfg(CONFIG_MODULES)]
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

/// Returns the status that C functions return: 0 or a negative errno.
pub(crate) fn status(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(refusal) => Error::from(refusal).to_errno(),
    }
}

/// Defines a C function that registers, unregisters, enables or disables one probe of a client, or
/// an array of probes.
macro_rules! client_call {
    ($name:ident(*mut $of:ty) -> c_int = $call:expr) => {
        /// # Safety
        ///
        /// As for [`from_c`](crate::sys::probe::from_c), with one pointer.
        #[export]
        unsafe extern "C" fn $name(probe: *mut $of) -> c_int {
            // SAFETY: By the precondition, the pointer meets `from_c`'s precondition for one probe.
            status(unsafe { $crate::sys::probe::from_c(&probe, 1) }.and_then($call))
        }
    };
    ($name:ident(*mut *mut $of:ty, c_int) -> c_int = $call:expr) => {
        /// # Safety
        ///
        /// As for [`from_c`](crate::sys::probe::from_c).
        #[export]
        unsafe extern "C" fn $name(all: *mut *mut $of, count: c_int) -> c_int {
            // SAFETY: By the precondition, the array meets `from_c`'s precondition.
            status(unsafe { $crate::sys::probe::from_c(all, count) }.and_then($call))
        }
    };
    ($name:ident(*mut $of:ty) = $call:expr) => {
        /// # Safety
        ///
        /// As for [`from_c`](crate::sys::probe::from_c), with one pointer.
        #[export]
        unsafe extern "C" fn $name(probe: *mut $of) {
            // SAFETY: By the precondition, the pointer meets `from_c`'s precondition for one probe.
            let _ = unsafe { $crate::sys::probe::from_c(&probe, 1) }.map($call);
        }
    };
    ($name:ident(*mut *mut $of:ty, c_int) = $call:expr) => {
        /// # Safety
        ///
        /// As for [`from_c`](crate::sys::probe::from_c).
        #[export]
        unsafe extern "C" fn $name(all: *mut *mut $of, count: c_int) {
            // As in C, an empty batch is no error.
            // SAFETY: By the precondition, the array meets `from_c`'s precondition.
            let _ = unsafe { $crate::sys::probe::from_c(all, count) }.map($call);
        }
    };
}
#[cfg(any(CONFIG_KRETPROBES, CONFIG_RUST_KPROBES_JPROBES))]
pub(crate) use client_call;

client_call!(register_kprobe(*mut bindings::kprobe) -> c_int = register::all);
client_call!(register_kprobes(*mut *mut bindings::kprobe, c_int) -> c_int = register::all);
client_call!(unregister_kprobe(*mut bindings::kprobe) = unregister::all);
client_call!(unregister_kprobes(*mut *mut bindings::kprobe, c_int) = unregister::all);
client_call!(disable_kprobe(*mut bindings::kprobe) -> c_int = enable::disable);
client_call!(enable_kprobe(*mut bindings::kprobe) -> c_int = enable::enable);

/// # Safety
///
/// Preemption is off. The returned probe is not freed while preemption stays off.
#[export]
unsafe extern "C" fn get_kprobe(addr: *mut c_void) -> *mut bindings::kprobe {
    let at = TextAddr::new(addr.addr() as u64);
    let newest = |point: &Point| point.probes.iter().next().map(Probe::as_c);
    // SAFETY: Preemption is off, by the precondition.
    let found =
        unsafe { preempt::already_off(|no_preempt| points::find(at, no_preempt).and_then(newest)) };
    found.unwrap_or(core::ptr::null_mut())
}

/// Returns whether `probe` is registered at `at`. Nothing is read from `probe`.
///
/// # Safety
///
/// Preemption is off.
#[cfg(CONFIG_RUST_KPROBES_CHECK_HANDLERS)]
#[export]
unsafe extern "C" fn rust_kprobes_is_registered(at: usize, probe: *mut bindings::kprobe) -> bool {
    let at = TextAddr::new(at as u64);
    let has_probe = |point: &Point| point.probes.iter().any(|one| one.as_c() == probe);
    // SAFETY: Preemption is off, by the precondition.
    unsafe {
        preempt::already_off(|no_preempt| points::find(at, no_preempt).is_some_and(has_probe))
    }
}

/// Makes hits on this CPU count as missed until `kprobe_busy_end()`.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_busy_begin() {
    handlers::busy_begin();
}

/// # Safety
///
/// Each call follows a call of [`kprobe_busy_begin`] in the same context.
#[export]
unsafe extern "C" fn kprobe_busy_end() {
    // SAFETY: By the precondition, `busy_begin` has left a `PreemptOff` in this context.
    handlers::busy_end(unsafe { preempt::PreemptOff::resume() });
}

/// # Safety
///
/// `name` is a string that ends with NUL.
#[export]
unsafe extern "C" fn kprobe_lookup_name(
    name: *const c_char,
    _offset: c_uint,
) -> *mut bindings::kprobe_opcode_t {
    // SAFETY: `name` is a string, by the precondition.
    let found = symbols::lookup(unsafe { CStr::from_char_ptr(name) });
    let addr = found.and_then(|at| usize::try_from(at.get()).ok());
    core::ptr::with_exposed_provenance_mut(addr.unwrap_or_default())
}

/// # Safety
///
/// `sym` is NULL or a string that ends with NUL.
#[export]
unsafe extern "C" fn kprobe_on_func_entry(
    addr: *mut bindings::kprobe_opcode_t,
    sym: *const c_char,
    offset: usize,
) -> c_int {
    // SAFETY: `sym` is NULL or a string, by the precondition. This function does not keep it.
    let symbol = unsafe { probe::symbol(sym) };
    let addr = (!addr.is_null()).then(|| TextAddr::new(addr.addr() as u64));
    let target = Target::new(symbol, addr, offset as u64);
    status(target.and_then(check::resolve_entry).map(drop))
}

/// Returns whether an address must not be probed.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn within_kprobe_blacklist(addr: usize) -> bool {
    check::blacklisted(TextAddr::new(addr as u64))
}

/// # Safety
///
/// `value` and `type` may be written to; `sym` has room for a symbol's name.
#[export]
unsafe extern "C" fn kprobe_get_kallsym(
    symnum: c_uint,
    value: *mut usize,
    r#type: *mut c_char,
    sym: *mut c_char,
) -> c_int {
    let Some((page, name)) = slots::nth_page(symnum as usize, &preempt::PreemptOff::new()) else {
        // ERANGE tells kallsyms that there are no more symbols.
        return ERANGE.to_errno();
    };
    // SAFETY: The pointers may be written to, by the precondition. `sym` has room for the name.
    unsafe {
        value.write(page.get() as usize);
        r#type.write(b't');
        sym.copy_from_nonoverlapping(name.as_ptr(), name.len());
    }
    0
}

/// Is called before init text is freed.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_free_init_mem() {
    modules::kill_init_text();
}

/// The hooks of return probes into the end of a module.
#[cfg(CONFIG_MODULES)]
const RETURN_PROBE_HOOKS: &modules::ReturnProbeHooks = &modules::ReturnProbeHooks {
    #[cfg(CONFIG_KRETPROBES)]
    uses_freed: |probe, freed| crate::returns::uses_freed(probe, |at| freed.has(at)),
    #[cfg(CONFIG_KRETPROBES)]
    on_unregister: crate::returns::leave_pool,
    #[cfg(not(CONFIG_KRETPROBES))]
    uses_freed: |_, _| false,
    #[cfg(not(CONFIG_KRETPROBES))]
    on_unregister: |_| (),
};

/// Handles a new state of a module. The first and the last notifier of `abi.c` call this; `last`
/// says which one does.
///
/// # Safety
///
/// `module` stays until each notifier that was called for its start was called for its end.
#[cfg(CONFIG_MODULES)]
#[export]
unsafe extern "C" fn rust_kprobes_module_event(
    module: *mut bindings::module,
    state: usize,
    last: bool,
) {
    let Some(module) = NonNull::new(module) else {
        return;
    };
    // SAFETY: By the precondition. `modules::kill_module` forgets the module when it is unloaded.
    let module = unsafe { Module::from_c(module) };
    let freed = |init_only| FreedMemory { module, init_only };
    match (state as c_uint, last) {
        (bindings::module_state_MODULE_STATE_COMING, false) => {
            if modules::coming(module).is_err() {
                pr_err!("out of memory: a module cannot be probed before it is live\n");
            }
        }
        (bindings::module_state_MODULE_STATE_COMING, true) => modules::sorted(module),
        (bindings::module_state_MODULE_STATE_LIVE, true) => {
            modules::kill_module(freed(true), RETURN_PROBE_HOOKS)
        }
        (bindings::module_state_MODULE_STATE_GOING, true) => {
            modules::kill_module(freed(false), RETURN_PROBE_HOOKS)
        }
        (bindings::module_state_MODULE_STATE_GOING, false) => {
            modules::load_failed(freed(false), RETURN_PROBE_HOOKS)
        }
        _ => (),
    }
}

/// # Safety
///
/// The caller holds no lock that registering takes.
#[cfg(CONFIG_OPTPROBES)]
#[export]
unsafe extern "C" fn wait_for_kprobe_optimizer() {
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    worker::flush();
}

/// # Safety
///
/// Only the worker calls this.
#[export]
unsafe extern "C" fn rust_kprobes_worker_pass() {
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    worker::pass();
    slots::free_unused_pages();
}

/// # Safety
///
/// The worker can run. The caller holds no lock that registering takes.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
#[export]
unsafe extern "C" fn rust_kprobes_allow_jumps(on: bool) {
    worker::allow(on);
}

/// Returns the value of `debug.kprobes-optimization`.
///
/// # Safety
///
/// None is needed.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
#[export]
unsafe extern "C" fn rust_kprobes_jumps_allowed() -> bool {
    Registry::lock().optimizer.allowed
}

/// # Safety
///
/// `p` is as for [`probe::from_c`], with one pointer, and `why` may be written to.
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
#[export]
unsafe extern "C" fn kprobe_why_no_jump(
    p: *mut bindings::kprobe,
    why: *mut bindings::kprobe_no_jump,
) -> c_int {
    // SAFETY: By the precondition, `p` meets `from_c`'s precondition for one probe.
    let found = unsafe { probe::from_c(&p, 1) }.and_then(|one| match one {
        [Some(probe)] => {
            let registry = &mut *Registry::lock();
            let point = registry.points.of(probe)?;
            Ok(registry.why_no_jump(point))
        }
        _ => Err(Refusal::NotRegistered),
    });
    let Ok(Some(found)) = found else {
        return status(found.map(drop));
    };
    let no_jump = bindings::kprobe_no_jump {
        reason: found.reason.code(),
        at: found.at.map_or(0, |at| at.get() as c_ulong),
        text: found.reason.text().as_char_ptr(),
    };
    // SAFETY: `why` may be written to, by the precondition.
    unsafe { why.write(no_jump) };
    1
}

/// Shows a file in debugfs.
///
/// # Safety
///
/// `file` is a file of debugfs that is being shown.
#[cfg(CONFIG_DEBUG_FS)]
#[export]
unsafe extern "C" fn rust_kprobes_show(file: *mut bindings::seq_file, which: c_uint) -> c_int {
    // SAFETY: `file` is being shown, by the precondition.
    let to = &unsafe { Seq::from_c(file) };
    let registry = &mut *Registry::lock();
    match which {
        bindings::RUST_KPROBES_LIST => return status(debugfs::list(to, registry)),
        #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
        bindings::RUST_KPROBES_UNOPTIMIZED => return status(debugfs::unoptimized(to, registry)),
        bindings::RUST_KPROBES_ENABLED => debugfs::enabled(to, registry),
        bindings::RUST_KPROBES_BLACKLIST => debugfs::blacklist(to, registry),
        bindings::RUST_KPROBES_REFUSED => debugfs::refused(to, registry),
        _ => debugfs::counters(to),
    }
    0
}

/// Arms all enabled probes, or disarms all probes.
///
/// # Safety
///
/// None is needed.
#[cfg(CONFIG_DEBUG_FS)]
#[export]
unsafe extern "C" fn rust_kprobes_enable_all(on: bool) -> c_int {
    status(enable::arm_or_disarm_all(on))
}

/// Returns the number of step faults, for tests.
///
/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn rust_kprobes_step_faults() -> usize {
    breakpoint::STEP_FAULTS.load(Ordering::Relaxed)
}

/// # Safety
///
/// Only an early initcall calls this, once.
#[export]
unsafe extern "C" fn rust_kprobes_init() -> c_int {
    let loaded = check::load();
    if loaded.is_err() {
        pr_err!("out of memory: functions of the blacklist can be probed\n");
    }
    status(loaded)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_abi)]
mod tests {
    use super::*;

    const EINVAL: c_int = -22;
    const ENOENT: c_int = -2;

    fn probe(symbol: &CStr, offset: u32) -> bindings::kprobe {
        bindings::kprobe {
            symbol_name: symbol.as_char_ptr(),
            offset,
            ..pin_init::zeroed()
        }
    }

    fn register(probe: &mut bindings::kprobe) -> c_int {
        // SAFETY: A probe for us alone, its symbol is NULL or a string.
        unsafe { register_kprobe(probe) }
    }

    fn on_entry(symbol: &CStr, offset: usize) -> c_int {
        // SAFETY: The symbol is a string.
        unsafe { kprobe_on_func_entry(core::ptr::null_mut(), symbol.as_char_ptr(), offset) }
    }

    #[test]
    fn a_good_probe_is_registered_once_and_keeps_its_address() {
        let mut good = probe(c"kernel_clone", 0);
        assert_eq!(register(&mut good), 0);
        assert!(!good.addr.is_null());
        assert_eq!(
            good.flags & bindings::KPROBE_FLAG_ON_FUNC_ENTRY,
            bindings::KPROBE_FLAG_ON_FUNC_ENTRY
        );
        // The symbol and the address are both there now.
        assert_eq!(register(&mut good), EINVAL);
        // SAFETY: A probe for us alone, which is registered.
        unsafe { unregister_kprobe(&mut good) };
        assert!(!good.addr.is_null());
        // SAFETY: A probe for us alone.
        unsafe { unregister_kprobe(&mut good) };
        assert!(good.addr.is_null());
    }

    #[test]
    fn bad_probes_are_refused_with_their_errno() {
        assert_eq!(register(&mut pin_init::zeroed()), EINVAL);
        assert_eq!(register(&mut probe(c"no_such_function", 0)), ENOENT);
        assert_eq!(register(&mut probe(c"register_kprobe", 0)), EINVAL);
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { register_kprobe(core::ptr::null_mut()) }, EINVAL);
    }

    #[test]
    fn a_batch_needs_probes_and_stops_at_the_first_refusal() {
        let mut bad = probe(c"no_such_function", 0);
        let mut good = probe(c"kernel_clone", 0);
        let mut both = [&raw mut bad, &raw mut good];
        // SAFETY: NULL is allowed; nothing is read for these counts.
        unsafe {
            assert_eq!(register_kprobes(core::ptr::null_mut(), 1), EINVAL);
            assert_eq!(register_kprobes(both.as_mut_ptr(), 0), EINVAL);
            assert_eq!(register_kprobes(both.as_mut_ptr(), -1), EINVAL);
        }
        // SAFETY: An array of two probes for us alone.
        assert_eq!(unsafe { register_kprobes(both.as_mut_ptr(), 2) }, ENOENT);
        assert!(good.addr.is_null());
        // SAFETY: As above, but nothing is touched for this count.
        unsafe { unregister_kprobes(both.as_mut_ptr(), 0) };
    }

    #[test]
    fn an_unknown_probe_is_neither_enabled_nor_disabled() {
        let mut good = probe(c"kernel_clone", 0);
        // SAFETY: A probe for us alone.
        assert_eq!(unsafe { enable_kprobe(&mut good) }, EINVAL);
        // SAFETY: A probe for us alone.
        assert_eq!(unsafe { disable_kprobe(&mut good) }, EINVAL);
    }

    #[test]
    fn kprobe_get_kallsym_works_in_atomic_context() {
        let mut here = probe(c"kernel_clone", 9);
        // Until there is one on an instruction that is copied.
        while register(&mut here) != 0 && here.offset < 64 {
            here = probe(c"kernel_clone", here.offset + 1);
        }
        let (mut at, mut kind) = (0, 0);
        let mut name = [0; bindings::KSYM_NAME_LEN as usize];
        let no_preempt = preempt::PreemptOff::new();
        // SAFETY: There is room for all of it.
        let status = unsafe { kprobe_get_kallsym(0, &mut at, &mut kind, name.as_mut_ptr()) };
        drop(no_preempt);
        // SAFETY: A probe for us alone.
        unsafe { unregister_kprobe(&mut here) };
        assert_eq!((status, kind), (0, b't'));
        assert!(at != 0 && at % kernel::page::PAGE_SIZE == 0);
    }

    #[test]
    fn kprobe_on_func_entry_accepts_only_entries() {
        assert_eq!(on_entry(c"kernel_clone", 0), 0);
        assert_eq!(on_entry(c"kernel_clone", 9), EINVAL);
        assert_eq!(on_entry(c"no_such_function", 0), ENOENT);
    }
}
