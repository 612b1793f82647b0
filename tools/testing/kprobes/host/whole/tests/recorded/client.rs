// SPDX-License-Identifier: GPL-2.0

//! A client, with a probe whose handlers count.

use crate::c;
use core::sync::atomic::{
    AtomicBool,
    AtomicUsize,
    Ordering::Relaxed, //
};
use kernel::{
    bindings::{
        kprobe,
        pt_regs, //
    },
    events,
    prelude::*, //
};

/// A probe, and what its handlers have seen.
#[repr(C)]
pub struct Client {
    probe: kprobe,
    /// May it be called?
    alive: AtomicBool,
    before: AtomicUsize,
    after: AtomicUsize,
}

/// What C calls before an instruction.
type Handler = unsafe extern "C" fn(*mut kprobe, *mut pt_regs) -> c_int;

/// The client that a handler is called for.
///
/// # Safety
///
/// `probe` is a [`Client`]'s.
unsafe fn client<'a>(probe: *mut kprobe) -> &'a Client {
    // SAFETY: By the precondition; it comes first.
    let client = unsafe { &*probe.cast::<Client>() };
    if !client.alive.load(Relaxed) {
        events::wrong(format!("{probe:p} is called, which is not registered"));
    }
    client
}

unsafe extern "C" fn before(probe: *mut kprobe, _registers: *mut pt_regs) -> c_int {
    // SAFETY: All probes here are clients'.
    unsafe { client(probe) }.before.fetch_add(1, Relaxed);
    0
}

unsafe extern "C" fn after(probe: *mut kprobe, _registers: *mut pt_regs, _flags: c_ulong) {
    // SAFETY: All probes here are clients'.
    unsafe { client(probe) }.after.fetch_add(1, Relaxed);
}

impl Client {
    /// Wants to be called before the instruction at an address.
    pub fn at(addr: u64) -> Box<Self> {
        Box::new(Self {
            probe: kprobe {
                addr: core::ptr::with_exposed_provenance_mut(addr as usize),
                pre_handler: Some(before),
                ..kprobe::ZERO
            },
            alive: AtomicBool::new(false),
            before: AtomicUsize::new(0),
            after: AtomicUsize::new(0),
        })
    }

    /// The same, and after the instruction.
    pub fn around(addr: u64) -> Box<Self> {
        let mut client = Self::at(addr);
        client.probe.post_handler = Some(after);
        client
    }

    /// What C calls its probe.
    pub fn as_c(&mut self) -> *mut kprobe {
        (&raw mut *self).cast()
    }

    /// Where its probe is.
    pub fn place(&self) -> u64 {
        self.probe.addr.addr() as u64
    }

    /// Does it want to be called after the instruction?
    pub fn wants_after(&self) -> bool {
        self.probe.post_handler.is_some()
    }

    /// Another handler for before the instruction.
    pub fn set_before(&mut self, handler: Handler) {
        self.probe.pre_handler = Some(handler);
    }

    /// Registers its probe alone.
    pub fn register(&mut self) -> c_int {
        self.probe.flags = 0;
        self.alive.store(true, Relaxed);
        // SAFETY: A probe that stays until it is unregistered.
        unsafe { c::register_kprobes(&mut self.as_c(), 1) }
    }

    /// Unregisters its probe alone.
    pub fn unregister(&mut self) {
        // SAFETY: A probe that stays.
        unsafe { c::unregister_kprobes(&mut self.as_c(), 1) };
        self.alive.store(false, Relaxed);
    }

    /// How often its two handlers were called.
    pub fn calls(&self) -> (usize, usize) {
        (self.before.load(Relaxed), self.after.load(Relaxed))
    }

    /// How often it was missed.
    pub fn missed(&self) -> usize {
        // SAFETY: Ours; nothing else runs now.
        unsafe { (&raw const self.probe.nmissed).read_volatile() }
    }

    /// Lets it be called again.
    pub fn enable(&mut self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::enable_kprobe(self.as_c()) }
    }

    /// Lets it be called no more.
    pub fn disable(&mut self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::disable_kprobe(self.as_c()) }
    }
}

impl Drop for Client {
    /// A test that failed leaves nothing for the next one to come by.
    fn drop(&mut self) {
        if self.alive.load(Relaxed) {
            // SAFETY: One probe, of ours.
            unsafe { c::unregister_kprobes(&mut self.as_c(), 1) };
        }
    }
}

fn all(clients: &mut [Box<Client>]) -> Vec<*mut kprobe> {
    clients.iter_mut().map(|client| client.as_c()).collect()
}

/// Registers the probes of all of them.
pub fn register(clients: &mut [Box<Client>]) -> c_int {
    let mut probes = all(clients);
    register_all(clients, &mut probes)
}

/// Registers these probes, which are of some of the clients.
pub fn register_all(clients: &mut [Box<Client>], probes: &mut [*mut kprobe]) -> c_int {
    for client in &mut *clients {
        // What was unregistered is left disabled, as C does.
        client.probe.flags = 0;
        client.alive.store(true, Relaxed);
    }
    // SAFETY: Probes that stay until they are unregistered.
    let status = unsafe { c::register_kprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    if status != 0 {
        forget(clients);
    }
    status
}

/// Unregisters the probes of all of them, which may be freed then.
pub fn unregister(clients: &mut [Box<Client>]) {
    let mut probes = all(clients);
    // SAFETY: Probes that stay during the call.
    unsafe { c::unregister_kprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    forget(clients);
}

/// None of them may be called any more.
pub fn forget(clients: &[Box<Client>]) {
    for client in clients {
        client.alive.store(false, Relaxed);
    }
}
