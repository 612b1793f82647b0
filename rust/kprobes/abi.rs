// SPDX-License-Identifier: GPL-2.0

//! The C interface, [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h).
//!
//! Pointers come in, errno goes out; what is done stands in [`life`](crate::life). A client's
//! fields are read and written here only. What only C can say (exports, initcalls, per-CPU data)
//! is in `abi.c`; the entries from traps are the back end's (`entry.rs`).
//!
//! No probe can be armed yet, and what follows from it is written out: no address has a probe, no
//! probe is registered, no slot is in use, nothing waits for the optimizer.

use crate::{
    life::{
        busy,
        check,
        register,
        resolve, //
    },
    model::{
        addr::TextAddr,
        refusal::Refusal,
        target::{
            Site,
            Target, //
        },
    },
};
use kernel::{
    bindings,
    prelude::*, //
};

/// C's value for each reason to say no.
impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoProbe
            | Refusal::EmptyBatch
            | Refusal::NoTarget
            | Refusal::TwoTargets
            | Refusal::NotOnEntry
            | Refusal::Blacklisted
            | Refusal::NotRegistered
            | Refusal::TooFar
            | Refusal::CodeTooLong
            | Refusal::ForcedEmulation
            | Refusal::HoldsTrapsBack => EINVAL,
            Refusal::UnknownSymbol | Refusal::OutOfText => ENOENT,
            Refusal::TruncatedInsn
            | Refusal::InvalidInsn
            | Refusal::UnreadableText
            | Refusal::NotABoundary
            | Refusal::AlwaysTraps => EILSEQ,
            Refusal::DataTooLarge => E2BIG,
            Refusal::CannotArm
            | Refusal::FarBranch
            | Refusal::InterruptReturn
            | Refusal::SystemCall
            | Refusal::WorldSwitch
            | Refusal::Transaction
            | Refusal::Waits
            | Refusal::LetsNextWait
            | Refusal::MovesCpuData
            | Refusal::MovesTraps
            | Refusal::OperandSize
            | Refusal::UnsavedRegister
            | Refusal::BoundToPlace => EOPNOTSUPP,
            Refusal::NoMemory => ENOMEM,
            Refusal::AddressTaken => EEXIST,
        }
    }
}

/// What C returns: zero, or an errno below it.
fn status(result: Result<(), Refusal>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(refusal) => Error::from(refusal).to_errno(),
    }
}

/// Where a client asks to probe.
///
/// # Safety
///
/// `symbol` is NULL or a string that ends with NUL, which stays as it is for `'a`.
unsafe fn target<'a>(
    addr: *mut bindings::kprobe_opcode_t,
    symbol: *const c_char,
    offset: usize,
) -> Result<Target<'a>, Refusal> {
    // SAFETY: Not NULL where it is used, and a string by the precondition.
    let symbol = (!symbol.is_null()).then(|| unsafe { CStr::from_char_ptr(symbol) });
    let addr = (!addr.is_null()).then(|| TextAddr::new(addr.addr() as u64));
    Target::new(symbol, addr, offset as u64)
}

/// What a client registers, during the call: a probe, or a return probe around one.
///
/// # Invariants
///
/// The probe's `symbol_name` is NULL or a string that ends with NUL.
struct Client<'a, T>(&'a mut T);

impl Client<'_, bindings::kprobe> {
    fn register(mut self) -> Result<(), Refusal> {
        let site = self.resolve()?;
        register::probe(site)
    }

    /// What unregistering does to a probe that is not registered: clients look at `addr`.
    fn forget(self) -> Result<(), Refusal> {
        self.0.addr = core::ptr::null_mut();
        Ok(())
    }

    /// Notes in the probe where it is, as clients expect also where a later stage refuses it.
    fn resolve(&mut self) -> Result<Site, Refusal> {
        let site = resolve::site(self.target()?)?;
        let at = usize::try_from(site.at.get()).map_err(|_| Refusal::OutOfText)?;
        self.0.addr = core::ptr::with_exposed_provenance_mut(at);
        self.0.flags &= bindings::KPROBE_FLAG_DISABLED;
        if site.on_entry {
            self.0.flags |= bindings::KPROBE_FLAG_ON_FUNC_ENTRY;
        }
        self.0.nmissed = 0;
        Ok(site)
    }

    fn target(&self) -> Result<Target<'_>, Refusal> {
        // SAFETY: By the invariant, for as long as `self` is borrowed.
        unsafe { target(self.0.addr, self.0.symbol_name, self.0.offset as usize) }
    }
}

impl Client<'_, bindings::kretprobe> {
    fn register(mut self) -> Result<(), Refusal> {
        resolve::entry(self.probe().target()?)?;
        let site = self.probe().resolve()?;
        register::return_probe(site, self.0.data_size)
    }

    fn forget(mut self) -> Result<(), Refusal> {
        self.probe().forget()
    }

    fn probe(&mut self) -> Client<'_, bindings::kprobe> {
        // INVARIANT: It is the same probe.
        Client(&mut self.0.kp)
    }
}

/// Does `one` to each of an array's clients, up to the first refusal.
///
/// # Safety
///
/// `array` is NULL or has `count` pointers, each of which is NULL or leads to what nobody else uses
/// for `'a`, with a `symbol_name` that is NULL or a string that ends with NUL.
unsafe fn each<'a, T>(
    array: *const *mut T,
    count: c_int,
    one: fn(Client<'a, T>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let count = usize::try_from(count).map_err(|_| Refusal::EmptyBatch)?;
    if count == 0 {
        return Err(Refusal::EmptyBatch);
    }
    if array.is_null() {
        return Err(Refusal::NoProbe);
    }
    // SAFETY: Not NULL, so it has `count` pointers, by the precondition.
    let pointers = unsafe { core::slice::from_raw_parts(array, count) };
    for &pointer in pointers {
        // SAFETY: NULL, or for us alone for `'a`, by the precondition.
        let client = unsafe { pointer.as_mut() }.ok_or(Refusal::NoProbe)?;
        // INVARIANT: By the precondition.
        one(Client(client))?;
    }
    Ok(())
}

/// # Safety
///
/// As for [`each`], with one pointer.
#[export]
unsafe extern "C" fn register_kprobe(p: *mut bindings::kprobe) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { each(&p, 1, Client::<bindings::kprobe>::register) })
}

/// # Safety
///
/// As for [`each`].
#[export]
unsafe extern "C" fn register_kprobes(kps: *mut *mut bindings::kprobe, num: c_int) -> c_int {
    // The first probe is refused, so none has to be taken back.
    // SAFETY: By the precondition.
    status(unsafe { each(kps, num, Client::<bindings::kprobe>::register) })
}

/// # Safety
///
/// As for [`each`], with one pointer.
#[export]
unsafe extern "C" fn unregister_kprobe(p: *mut bindings::kprobe) {
    // C has no way to tell the result.
    // SAFETY: By the precondition.
    let _ = unsafe { each(&p, 1, Client::<bindings::kprobe>::forget) };
}

/// # Safety
///
/// As for [`each`].
#[export]
unsafe extern "C" fn unregister_kprobes(kps: *mut *mut bindings::kprobe, num: c_int) {
    // C has no way to tell the result.
    // SAFETY: By the precondition.
    let _ = unsafe { each(kps, num, Client::<bindings::kprobe>::forget) };
}

/// # Safety
///
/// As for [`each`], with one pointer.
#[export]
unsafe extern "C" fn register_kretprobe(rp: *mut bindings::kretprobe) -> c_int {
    // SAFETY: By the precondition.
    status(unsafe { each(&rp, 1, Client::<bindings::kretprobe>::register) })
}

/// # Safety
///
/// As for [`each`].
#[export]
unsafe extern "C" fn register_kretprobes(rps: *mut *mut bindings::kretprobe, num: c_int) -> c_int {
    // The first probe is refused, so none has to be taken back.
    // SAFETY: By the precondition.
    status(unsafe { each(rps, num, Client::<bindings::kretprobe>::register) })
}

/// # Safety
///
/// As for [`each`], with one pointer.
#[export]
unsafe extern "C" fn unregister_kretprobe(rp: *mut bindings::kretprobe) {
    // C has no way to tell the result.
    // SAFETY: By the precondition.
    let _ = unsafe { each(&rp, 1, Client::<bindings::kretprobe>::forget) };
}

/// # Safety
///
/// As for [`each`].
#[export]
unsafe extern "C" fn unregister_kretprobes(rps: *mut *mut bindings::kretprobe, num: c_int) {
    // C has no way to tell the result.
    // SAFETY: By the precondition.
    let _ = unsafe { each(rps, num, Client::<bindings::kretprobe>::forget) };
}

/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn disable_kprobe(_kp: *mut bindings::kprobe) -> c_int {
    status(Err(Refusal::NotRegistered))
}

/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn enable_kprobe(_kp: *mut bindings::kprobe) -> c_int {
    status(Err(Refusal::NotRegistered))
}

/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn get_kprobe(_addr: *mut c_void) -> *mut bindings::kprobe {
    core::ptr::null_mut()
}

/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn kprobe_busy_begin() {
    busy::begin();
}

/// # Safety
///
/// Each call follows one of [`kprobe_busy_begin`] in the same context.
#[export]
unsafe extern "C" fn kprobe_busy_end() {
    // SAFETY: By the precondition: it left its `Pinned` for this call.
    busy::end(unsafe { busy::Pinned::resume() });
}

/// # Safety
///
/// `name` is a string that ends with NUL.
#[export]
unsafe extern "C" fn kprobe_lookup_name(
    name: *const c_char,
    _offset: c_uint,
) -> *mut bindings::kprobe_opcode_t {
    // SAFETY: A string, by the precondition.
    let found = resolve::symbol(unsafe { CStr::from_char_ptr(name) });
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
    // SAFETY: By the precondition; the target does not outlive this function.
    let target = unsafe { target(addr, sym, offset) };
    status(target.and_then(resolve::entry).map(|_site| ()))
}

/// # Safety
///
/// None is needed.
#[export]
unsafe extern "C" fn within_kprobe_blacklist(addr: usize) -> bool {
    check::blacklisted(TextAddr::new(addr as u64))
}

/// # Safety
///
/// None is needed: the pointer is not followed.
#[export]
unsafe extern "C" fn __is_insn_slot_addr(
    _cache: *mut bindings::kprobe_insn_cache,
    _addr: usize,
) -> bool {
    false
}

/// # Safety
///
/// None is needed: the pointers are not followed.
#[export]
unsafe extern "C" fn kprobe_get_kallsym(
    _symnum: c_uint,
    _value: *mut usize,
    _type: *mut c_char,
    _sym: *mut c_char,
) -> c_int {
    // Kallsyms' way to say that there are no more symbols.
    ERANGE.to_errno()
}

/// # Safety
///
/// None is needed. There is no probe in init text that would have to go with it.
#[export]
unsafe extern "C" fn kprobe_free_init_mem() {}

/// # Safety
///
/// None is needed. There is nothing to wait for.
#[cfg(CONFIG_OPTPROBES)]
#[export]
unsafe extern "C" fn wait_for_kprobe_optimizer() {}

/// # Safety
///
/// None is needed.
#[cfg(CONFIG_KPROBES_ON_FTRACE)]
#[export]
unsafe extern "C" fn kprobe_ftrace_kill() {
    // SAFETY: A variable of `abi.c` that is only ever set, to this value, and that readers may see
    // late.
    unsafe { (&raw mut bindings::kprobe_ftrace_disabled).write_volatile(true) };
}

/// # Safety
///
/// To be called once, as an early initcall.
#[export]
unsafe extern "C" fn rust_kprobes_init() -> c_int {
    let loaded = check::load_blacklist();
    if loaded.is_err() {
        pr_err!("no memory for the list of functions not to probe, some can be probed\n");
    }
    status(loaded)
}

#[cfg(CONFIG_RUST_KPROBES_KUNIT_TEST)]
#[kernel::macros::kunit_tests(rust_kprobes_abi)]
mod tests {
    use super::*;

    const EINVAL: c_int = -22;
    const ENOENT: c_int = -2;
    const E2BIG: c_int = -7;
    const EOPNOTSUPP: c_int = -95;

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

    fn register_return(symbol: &CStr, offset: u32, data_size: usize) -> c_int {
        let mut probe = bindings::kretprobe {
            kp: probe(symbol, offset),
            data_size,
            ..pin_init::zeroed()
        };
        // SAFETY: A probe for us alone, its symbol is a string.
        unsafe { register_kretprobe(&mut probe) }
    }

    fn on_entry(symbol: &CStr, offset: usize) -> c_int {
        // SAFETY: The symbol is a string.
        unsafe { kprobe_on_func_entry(core::ptr::null_mut(), symbol.as_char_ptr(), offset) }
    }

    #[test]
    fn a_good_probe_is_not_supported_and_keeps_its_address() {
        let mut good = probe(c"kernel_clone", 0);
        assert_eq!(register(&mut good), EOPNOTSUPP);
        assert!(!good.addr.is_null());
        assert_eq!(good.flags, bindings::KPROBE_FLAG_ON_FUNC_ENTRY);
        assert_eq!(register(&mut good), EINVAL);
        // SAFETY: A probe for us alone.
        unsafe { unregister_kprobe(&mut good) };
        assert!(good.addr.is_null());
    }

    #[test]
    fn what_is_wrong_with_a_probe_is_told_first() {
        assert_eq!(register(&mut pin_init::zeroed()), EINVAL);
        assert_eq!(register(&mut probe(c"no_such_function", 0)), ENOENT);
        assert_eq!(register(&mut probe(c"register_kprobe", 0)), EINVAL);
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { register_kprobe(core::ptr::null_mut()) }, EINVAL);
    }

    #[test]
    fn a_return_probe_is_on_an_entry_and_small() {
        assert_eq!(register_return(c"kernel_clone", 0, 4096), EOPNOTSUPP);
        assert_eq!(register_return(c"kernel_clone", 0, 4097), E2BIG);
        assert_eq!(register_return(c"kernel_clone", 9, 0), EINVAL);
        assert_eq!(register_return(c"no_such_function", 0, 0), ENOENT);
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
    fn function_entries_are_told() {
        assert_eq!(on_entry(c"kernel_clone", 0), 0);
        assert_eq!(on_entry(c"kernel_clone", 9), EINVAL);
        assert_eq!(on_entry(c"no_such_function", 0), ENOENT);
    }
}
