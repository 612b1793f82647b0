// SPDX-License-Identifier: GPL-2.0

//! A client's probe: C's `struct kprobe`, with a Rust type for each field.
//!
//! The memory is the client's. From registration until unregistration has returned it is shared:
//! handlers run from it on any CPU, the client may read it at any time. So every field that changes
//! meanwhile is an atomic, and nothing here takes `&mut`. The atomics are `core`'s and not the
//! `kernel` crate's: those are calls into C that a probe could be on.
//!
//! Probes at one address are a [`Chain`], newest first.

mod chain;

pub(crate) use self::chain::{
    Brief,
    Chain,
    List,
    NOBODY, //
};

use super::{
    flags::Flags,
    preempt::Pinned, //
};
use crate::{
    model::target::Target,
    prelude::*, //
};
use core::{
    cell::Cell,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicPtr,
        AtomicUsize,
        Ordering, //
    }, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// What a hit calls before the instruction.
pub(crate) type Hit = unsafe extern "C" fn(*mut bindings::kprobe, *mut bindings::pt_regs) -> c_int;

/// What C's flag words say about a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Flag {
    /// The text that it was on is no more.
    Gone = bindings::KPROBE_FLAG_GONE,
    /// Its handlers are not to be called.
    Disabled = bindings::KPROBE_FLAG_DISABLED,
    /// It is hit through ftrace.
    Ftrace = bindings::KPROBE_FLAG_FTRACE,
    /// It is on the entry of a function.
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

macro_rules! same_place {
    ($($ours:ident = $theirs:ident),*) => {
        $(const _: () =
            assert!(offset_of!(Probe, $ours) == offset_of!(bindings::kprobe, $theirs));)*
    };
}
same_place!(
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
const _: () = assert!(size_of::<Probe>() == size_of::<bindings::kprobe>());

impl Probe {
    /// The probe that C passes.
    ///
    /// # Safety
    ///
    /// The probes are NULL or as the interface wants them: each stays as it is during the call,
    /// and, once registered, until its unregistration has returned.
    ///
    /// `'static` stands for that: what is not registered is not kept beyond the call.
    pub(crate) unsafe fn from_c<'a>(
        probes: *const *mut bindings::kprobe,
        count: usize,
    ) -> &'a [Option<&'static Self>] {
        // SAFETY: The layouts are the same, as asserted above, and NULL is `None`; what changes
        // are atomics, and cells that the client does not change meanwhile.
        unsafe { core::slice::from_raw_parts(probes.cast(), count) }
    }

    /// How a CPU is told that it handles this probe's hit.
    pub(crate) fn running(&self) -> Running {
        Running(NonNull::from(self))
    }

    /// What C calls it.
    pub(crate) fn as_c(&self) -> *mut bindings::kprobe {
        core::ptr::from_ref(self)
            .cast::<bindings::kprobe>()
            .cast_mut()
    }

    /// Where it is, or zero.
    pub(crate) fn addr(&self) -> usize {
        self.addr.load(Ordering::Relaxed)
    }

    /// Says where it is; zero: nowhere.
    pub(crate) fn set_addr(&self, addr: usize) {
        self.addr.store(addr, Ordering::Relaxed);
    }

    /// Where the client asks to probe. To be used during registration only.
    pub(crate) fn target(&self) -> Result<Target<'_>, Refusal> {
        // SAFETY: The client gives NULL or a string, which stays during the call.
        let name = unsafe { symbol(self.symbol_name.get()) };
        let addr = (self.addr() != 0).then(|| TextAddr::new(self.addr() as u64));
        Target::new(name, addr, u64::from(self.offset.get()))
    }

    /// Is it said of this probe?
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.flags.any(flag as u32)
    }

    /// Says it, or the opposite, of this probe. Only one may do so at a time.
    pub(crate) fn set(&self, flag: Flag, on: bool) {
        self.flags.set(flag as u32, on);
    }

    /// Are its handlers to be called?
    pub(crate) fn is_enabled(&self) -> bool {
        !self.flags.any(Flag::Disabled as u32 | Flag::Gone as u32)
    }

    /// What a registration starts with: of what the client said, only that it is disabled holds.
    pub(crate) fn begin(&self, at: TextAddr, on_entry: bool) {
        let entry = if on_entry { Flag::OnEntry as u32 } else { 0 };
        self.set_addr(at.get() as usize);
        self.flags.begin(Flag::Disabled as u32, entry);
        self.missed.store(0, Ordering::Relaxed);
        self.unlink();
    }

    /// Makes its link what C calls empty: one to itself, by which a client sees that the probe is
    /// not registered. No chain may lead to it, and nobody may be at it any more.
    pub(crate) fn unlink(&self) {
        self.older.lead_to_itself();
        self.prev.store(self.older.address(), Ordering::Relaxed);
    }

    /// Notes the code that the breakpoint is over, as `original` says it. To be used during
    /// registration only.
    pub(crate) fn set_opcode(&self, original: impl FnOnce(&mut [u8])) {
        let mut code = [0; size_of::<bindings::kprobe_opcode_t>()];
        original(&mut code);
        let opcode = bindings::kprobe_opcode_t::from_ne_bytes(code);
        self.opcode.set(opcode);
    }

    /// Counts a hit that was not handled.
    pub(crate) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Has hits call this function, and none of the client's handlers.
    pub(crate) fn be_hit_by(&self, handler: Hit) {
        self.pre_handler.set(Some(handler));
        self.post_handler.set(None);
    }

    /// Do hits call this function?
    pub(crate) fn is_hit_by(&self, hit: Hit) -> bool {
        let handler = self.pre_handler.get();
        handler.is_some_and(|handler| handler as usize == hit as usize)
    }

    /// Makes it the probe of a jprobe.
    pub(crate) fn be_of_jprobe(&self) {
        self.pre_handler
            .set(Some(bindings::rust_kprobes_jprobe_hit));
    }

    /// Is it a jprobe's?
    pub(crate) fn is_jprobe(&self) -> bool {
        self.is_hit_by(bindings::rust_kprobes_jprobe_hit)
    }

    /// Does the client want to be called after the instruction?
    pub(crate) fn wants_after(&self) -> bool {
        self.post_handler.get().is_some()
    }

    /// Does the client need more of the place than to be called before the instruction: to be
    /// called after it, or to choose another path? Then it cannot be a jump.
    pub(crate) fn has_post_handler(&self) -> bool {
        self.wants_after() || self.is_jprobe()
    }

    /// Does `goes` hold for the memory of the probe, or for the code of a handler of its?
    pub(crate) fn needs(&self, goes: impl Fn(TextAddr) -> bool) -> bool {
        let handlers = [
            self.pre_handler.get().map(|handler| handler as usize),
            self.post_handler.get().map(|handler| handler as usize),
            self.fault_handler.get().map(|handler| handler as usize),
        ];
        let this = core::ptr::from_ref(self).addr();
        let mut all = Iterator::chain(handlers.into_iter().flatten(), [this]);
        all.any(|addr| goes(TextAddr::new(addr as u64)))
    }

    /// Does the client want to be called before the instruction?
    pub(crate) fn wants_before(&self) -> bool {
        self.pre_handler.get().is_some()
    }

    /// Calls the handler from before the instruction; tells whether it chose another path.
    pub(crate) fn before(&self, registers: &mut bindings::pt_regs) -> bool {
        let Some(handler) = self.pre_handler.get() else {
            return false;
        };
        // SAFETY: The client vouches for its handler while the probe is registered, and gets its
        // own probe and the registers of the trap.
        unsafe { handler(self.as_c(), registers) != 0 }
    }

    /// Does the client want to be asked about faults?
    pub(crate) fn handles_faults(&self) -> bool {
        self.fault_handler.get().is_some()
    }

    /// Calls the handler for faults; tells whether it has dealt with this one.
    pub(crate) fn fault(&self, registers: &mut bindings::pt_regs, trap: c_int) -> bool {
        let Some(handler) = self.fault_handler.get() else {
            return false;
        };
        // SAFETY: As for `before`.
        unsafe { handler(self.as_c(), registers, trap) != 0 }
    }

    /// Calls the handler from after the instruction.
    pub(crate) fn after(&self, registers: &mut bindings::pt_regs) {
        let Some(handler) = self.post_handler.get() else {
            return;
        };
        // SAFETY: As for `before`. The flags are zero, as they have always been.
        unsafe { handler(self.as_c(), registers, 0) };
    }
}

/// A name that C gives; NULL is none.
///
/// # Safety
///
/// `name` is NULL or a string that ends with NUL, which stays as it is for `'a`.
pub(crate) unsafe fn symbol<'a>(name: *const c_char) -> Option<&'a CStr> {
    // SAFETY: Not NULL where it is used, and a string by the precondition.
    (!name.is_null()).then(|| unsafe { CStr::from_char_ptr(name) })
}

/// Who handles a hit: a registered probe, or nobody's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Running(NonNull<Probe>);

impl Running {
    /// What was noted earlier, if not NULL.
    pub(crate) fn from_word(word: *mut bindings::kprobe) -> Option<Self> {
        NonNull::new(word.cast()).map(Self)
    }

    /// The probe, while the CPU that handles its hit stays.
    pub(crate) fn probe(self, _pinned: &Pinned) -> &Probe {
        // SAFETY: It is registered until no CPU handles its hit any more, or stays forever.
        unsafe { self.0.as_ref() }
    }

    /// What C finds in `current_kprobe`.
    pub(crate) fn to_word(self) -> *mut bindings::kprobe {
        self.0.as_ptr().cast()
    }
}
