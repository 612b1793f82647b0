// SPDX-License-Identifier: GPL-2.0

//! A client's probe: C's `struct kprobe`, with a Rust type for each field.
//!
//! The memory is the client's. From registration until unregistration has returned it is shared:
//! hits use it on any CPU, and the client may read it at any time. So every field that changes
//! meanwhile is an atomic, and no function here takes `&mut`. The atomics come from `core`, because
//! the atomics of the `kernel` crate call C functions, which may be probed.
//!
//! Probes at one address are a [`Chain`], newest first.

pub(crate) mod chain;

pub(crate) use self::chain::{
    Chain,
    EMPTY_CHAIN, //
};

use super::flags::Flags;
use crate::{
    model::target::Target,
    sys::prelude::*, //
};
use core::{
    cell::Cell,
    ptr::NonNull,
    sync::atomic::{
        AtomicPtr,
        AtomicUsize,
        Ordering, //
    }, //
};

/// A handler that a hit calls before the instruction is executed.
pub(crate) type PreHandlerFn =
    unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int;

/// A bit of C's flag word of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Flag {
    /// The text that the probe was on was freed.
    Gone = bindings::KPROBE_FLAG_GONE,
    /// The probe's handlers are not called.
    Disabled = bindings::KPROBE_FLAG_DISABLED,
    /// ftrace hits the probe.
    Ftrace = bindings::KPROBE_FLAG_FTRACE,
    /// The probe is on the entry of a function.
    OnEntry = bindings::KPROBE_FLAG_ON_FUNC_ENTRY,
}

/// `struct kprobe`.
#[repr(C)]
pub(crate) struct Probe {
    _hlist: [usize; 2],
    older: chain::Link,
    prev: AtomicPtr<Probe>,
    missed: AtomicUsize,
    addr: AtomicUsize,
    symbol_name: Cell<*const c_char>,
    offset: Cell<c_uint>,
    pre_handler: Cell<bindings::kprobe_pre_handler_t>,
    post_handler: Cell<bindings::kprobe_post_handler_t>,
    opcode: Cell<bindings::kprobe_opcode_t>,
    _ainsn: bindings::arch_specific_insn,
    flags: Flags,
    fault_handler: Cell<bindings::kprobe_fault_handler_t>,
}

/// Asserts that our fields have the offsets of C's fields, and that both structures are as long.
macro_rules! assert_same_layout {
    ($ours:ty, $theirs:ty: $($field:ident = $of_c:ident),*) => {
        $(const _: () = assert!(
            core::mem::offset_of!($ours, $field) == core::mem::offset_of!($theirs, $of_c)
        );)*
        const _: () = assert!(size_of::<$ours>() == size_of::<$theirs>());
    };
}
#[cfg(any(CONFIG_KRETPROBES, CONFIG_RUST_KPROBES_JPROBES))]
pub(crate) use assert_same_layout;

assert_same_layout!(
    Probe, bindings::kprobe:
    older = list,
    missed = nmissed,
    addr = addr,
    symbol_name = symbol_name,
    offset = offset,
    pre_handler = pre_handler,
    post_handler = post_handler,
    opcode = opcode,
    flags = flags,
    fault_handler = fault_handler
);

/// A client's structure with a Rust type for each field, which is or begins with a probe.
///
/// # Safety
///
/// The structure has the layout of `C`, and begins with a [`Probe`]. Fields that hits change are
/// atomics; others are cells that only the client and registration change.
pub(crate) unsafe trait ClientStruct: Sized + 'static {
    /// C's type.
    type C;

    /// Returns the probes that the structures begin with.
    fn probes<'a>(all: &'a [Option<&'static Self>]) -> &'a [Option<&'static Probe>] {
        // SAFETY: Each structure begins with a probe, so both have the same address. NULL is `None`
        // for both.
        unsafe { core::slice::from_raw_parts(all.as_ptr().cast(), all.len()) }
    }
}

// SAFETY: The layout is asserted above. The client changes no cell while the probe is registered.
unsafe impl ClientStruct for Probe {
    type C = bindings::kprobe;
}

/// Returns the structures that a client passes.
///
/// # Safety
///
/// `array` is NULL or has `count` pointers. Each is NULL or leads to a structure that the client
/// does not change or free during the call, nor, once it is registered, until its unregistration
/// has returned. `'static` stands for that: only registered structures are kept beyond the call.
pub(crate) unsafe fn from_c<'a, T: ClientStruct>(
    array: *const *mut T::C,
    count: c_int,
) -> Result<&'a [Option<&'static T>], Refusal> {
    match usize::try_from(count) {
        Err(_) | Ok(0) => Err(Refusal::EmptyBatch),
        Ok(_) if array.is_null() => Err(Refusal::NoProbe),
        // SAFETY: The layouts are the same by the contract of the trait, and NULL is `None`. By the
        // precondition the array has `count` pointers, and the structures are not freed.
        Ok(count) => Ok(unsafe { core::slice::from_raw_parts(array.cast(), count) }),
    }
}

impl Probe {
    /// Returns the value of `current_kprobe` while a CPU handles a hit of this probe.
    pub(crate) fn as_current(&self) -> CurrentProbe {
        CurrentProbe(NonNull::from(self))
    }

    /// Returns the pointer to C's `struct kprobe`.
    pub(crate) fn as_c(&self) -> *mut bindings::kprobe {
        core::ptr::from_ref(self)
            .cast::<bindings::kprobe>()
            .cast_mut()
    }

    /// Returns the address of the probe, or zero.
    pub(crate) fn at(&self) -> TextAddr {
        TextAddr::new(self.addr.load(Ordering::Relaxed) as u64)
    }

    /// Sets the address of the probe.
    pub(crate) fn set_addr(&self, addr: usize) {
        self.addr.store(addr, Ordering::Relaxed);
    }

    /// Returns the target that the client asks to probe. Called during registration only.
    pub(crate) fn target(&self) -> Result<Target<'_>, Refusal> {
        // SAFETY: The client sets NULL or a string, which is not freed during the call.
        let name = unsafe { symbol(self.symbol_name.get()) };
        let addr = Some(self.at()).filter(|at| at.get() != 0);
        Target::new(name, addr, u64::from(self.offset.get()))
    }

    /// Returns whether this flag is set.
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.flags.any(flag as u32)
    }

    /// Sets or clears a flag. The caller holds the lock of the registry.
    pub(crate) fn set(&self, flag: Flag, on: bool) {
        self.flags.set(flag as u32, on);
    }

    /// Returns whether the probe's handlers may be called.
    pub(crate) fn is_enabled(&self) -> bool {
        !self.flags.any(Flag::Disabled as u32 | Flag::Gone as u32)
    }

    /// Begins a registration. Of the flags that the client has set, only `Disabled` stays set.
    pub(crate) fn begin_registration(&self, at: TextAddr, on_entry: bool) {
        let entry = if on_entry { Flag::OnEntry as u32 } else { 0 };
        self.set_addr(at.get() as usize);
        self.flags.reset(Flag::Disabled as u32, entry);
        self.missed.store(0, Ordering::Relaxed);
        self.reset_list();
    }

    /// Makes the list head of the probe an empty list, as in C, so that a client sees that the
    /// probe is not registered. The caller has removed the probe from its chain, and no hit uses
    /// the probe.
    pub(crate) fn reset_list(&self) {
        let itself = core::ptr::from_ref(&self.older).cast_mut().cast();
        self.older.0.store(itself, Ordering::Relaxed);
        self.prev.store(itself, Ordering::Relaxed);
    }

    /// Stores the code that the breakpoint replaces. Called during registration only.
    pub(crate) fn set_opcode(&self, opcode: bindings::kprobe_opcode_t) {
        self.opcode.set(opcode);
    }

    /// Counts a hit whose handlers were not called (`nmissed`).
    pub(crate) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes hits call this function, and none of the client's handlers.
    pub(crate) fn replace_handlers(&self, handler: PreHandlerFn) {
        self.pre_handler.set(Some(handler));
        self.post_handler.set(None);
    }

    /// Returns whether hits call this function.
    pub(crate) fn pre_handler_is(&self, handler: PreHandlerFn) -> bool {
        let called = self.pre_handler.get();
        called.is_some_and(|called| called as usize == handler as usize)
    }

    /// Makes this the probe of a jprobe.
    pub(crate) fn mark_as_jprobe(&self) {
        self.pre_handler
            .set(Some(bindings::rust_kprobes_jprobe_hit));
    }

    /// Returns whether this is the probe of a jprobe.
    pub(crate) fn is_jprobe(&self) -> bool {
        cfg!(CONFIG_RUST_KPROBES_JPROBES) && self.pre_handler_is(bindings::rust_kprobes_jprobe_hit)
    }

    /// Returns whether the probe has a post handler.
    pub(crate) fn has_post_handler(&self) -> bool {
        self.post_handler.get().is_some()
    }

    /// Returns whether the probe has a handler that a jump cannot call: a post handler, or a
    /// jprobe's handler, which the CPU enters before the function. If its text is gone, no handler
    /// is called.
    pub(crate) fn has_post_or_jprobe(&self) -> bool {
        (self.has_post_handler() || self.is_jprobe()) && !self.is(Flag::Gone)
    }

    /// Returns whether `is_freed` holds for the memory of the probe, or for the code of a handler.
    pub(crate) fn uses_freed(&self, is_freed: impl Fn(TextAddr) -> bool) -> bool {
        let handlers = [
            self.pre_handler.get().map(|handler| handler as usize),
            self.post_handler.get().map(|handler| handler as usize),
            self.fault_handler.get().map(|handler| handler as usize),
        ];
        let this = core::ptr::from_ref(self).addr();
        let mut all = Iterator::chain(handlers.into_iter().flatten(), [this]);
        all.any(|addr| is_freed(TextAddr::new(addr as u64)))
    }

    /// Returns whether the probe has a pre handler.
    pub(crate) fn has_pre_handler(&self) -> bool {
        self.pre_handler.get().is_some()
    }

    /// Calls the pre handler, if any. Returns whether it has changed where the CPU continues.
    #[inline(always)]
    pub(crate) fn call_pre_handler(&self, registers: &mut bindings::pt_regs) -> bool {
        let handler = self.pre_handler.get();
        handler.is_some_and(|handler| {
            // SAFETY: The client guarantees that its handler may be called while the probe is
            // registered, with the probe and the registers of the trap.
            let call = || unsafe { handler(self.as_c(), registers) != 0 };
            self.checked(handler as usize, call)
        })
    }

    /// Returns whether the probe has a fault handler.
    pub(crate) fn has_fault_handler(&self) -> bool {
        self.fault_handler.get().is_some()
    }

    /// Calls the fault handler, if any. Returns whether the handler has resolved the fault.
    #[inline(always)]
    pub(crate) fn call_fault_handler(
        &self,
        registers: &mut bindings::pt_regs,
        trap: c_int,
    ) -> bool {
        let handler = self.fault_handler.get();
        handler.is_some_and(|handler| {
            // SAFETY: As for `call_pre_handler`.
            let call = || unsafe { handler(self.as_c(), registers, trap) != 0 };
            self.checked(handler as usize, call)
        })
    }

    /// Calls the post handler, if any.
    #[inline(always)]
    pub(crate) fn call_post_handler(&self, registers: &mut bindings::pt_regs) {
        if let Some(handler) = self.post_handler.get() {
            // SAFETY: As for `call_pre_handler`. The flags are zero, as in C.
            let call = || unsafe { handler(self.as_c(), registers, 0) };
            self.checked(handler as usize, call);
        }
    }

    /// Calls a handler. In kernels that check preemption or locking, reports a handler that has
    /// slept. The probe may have been freed then, so nothing is read from it after the call.
    #[inline(always)]
    pub(crate) fn checked<T>(&self, handler: usize, call: impl FnOnce() -> T) -> T {
        #[cfg(CONFIG_RUST_KPROBES_CHECK_HANDLERS)]
        {
            let (at, probe) = (self.at().get() as usize, self.as_c());
            // SAFETY: The function reads two numbers of this CPU; preemption is off in a hit.
            let before = unsafe { bindings::rust_kprobes_before_handler() };
            let result = call();
            // SAFETY: `before` is from this call. The probe's address is compared, not used.
            unsafe { bindings::rust_kprobes_after_handler(before, handler, at, probe) };
            result
        }
        #[cfg(not(CONFIG_RUST_KPROBES_CHECK_HANDLERS))]
        {
            let _ = handler;
            call()
        }
    }
}

/// Returns a name that C passes; `None` for NULL.
///
/// # Safety
///
/// `name` is NULL or a string that ends with NUL and does not change during `'a`.
pub(crate) unsafe fn symbol<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: The pointer is not NULL here, and leads to a string by the precondition.
    (!name.is_null()).then(|| unsafe { CStr::from_char_ptr(name) })
}

/// A value of `current_kprobe` other than NULL.
///
/// # Invariants
///
/// The pointer leads to a probe that is registered until no CPU handles its hit any more, or to a
/// probe that is never freed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct CurrentProbe(NonNull<Probe>);

impl CurrentProbe {
    /// Returns the value for a pointer; `None` for NULL.
    ///
    /// # Safety
    ///
    /// The pointer is NULL, the value of `current_kprobe`, or leads to a probe that is never freed.
    pub(crate) unsafe fn from_word(word: *mut bindings::kprobe) -> Option<Self> {
        // INVARIANT: By the precondition. C stores NULL, the busy probe, or a value it has read.
        NonNull::new(word.cast()).map(Self)
    }

    /// Returns the probe. The caller stays on the CPU that handles its hit.
    pub(crate) fn probe(self, _no_preempt: &PreemptOff) -> &Probe {
        // SAFETY: By the invariant the probe is not freed while this CPU handles its hit.
        unsafe { self.0.as_ref() }
    }

    /// Returns the pointer that is stored in `current_kprobe`.
    pub(crate) fn to_word(self) -> *mut bindings::kprobe {
        self.0.as_ptr().cast()
    }
}
