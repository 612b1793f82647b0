// SPDX-License-Identifier: GPL-2.0

//! A client, with a probe whose handlers count.

use crate::prelude::*;

/// A client, whose memory C has the address of as well: nobody has it for themselves alone.
pub struct Client(NonNull<Shared>);

/// A probe, and what its handlers have seen.
#[repr(C)]
struct Shared {
    probe: UnsafeCell<kprobe>,
    /// May it be called?
    alive: AtomicBool,
    /// Was it called in the name of another probe?
    strayed: AtomicBool,
    before: AtomicUsize,
    after: AtomicUsize,
}

/// The client that a handler is called for.
///
/// # Safety
///
/// `probe` is a [`Client`]'s.
unsafe fn client<'a>(probe: *mut kprobe) -> &'a Shared {
    // SAFETY: By the precondition; it comes first.
    let client = unsafe { &*probe.cast::<Shared>() };
    if !client.alive.load(Relaxed) {
        events::wrong(format!("{probe:p} is called, which is not registered"));
    }
    if cpu::running() != probe {
        client.strayed.store(true, Relaxed);
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
    pub fn at(addr: u64) -> Self {
        Self::of(addr, None)
    }

    /// The same, and after the instruction.
    pub fn around(addr: u64) -> Self {
        Self::of(addr, Some(after))
    }

    fn of(addr: u64, post_handler: kprobe_post_handler_t) -> Self {
        let probe = kprobe {
            addr: core::ptr::with_exposed_provenance_mut(addr as usize),
            pre_handler: Some(before),
            post_handler,
            ..kprobe::ZERO
        };
        let shared = Box::new(Shared {
            probe: UnsafeCell::new(probe),
            alive: AtomicBool::new(false),
            strayed: AtomicBool::new(false),
            before: AtomicUsize::new(0),
            after: AtomicUsize::new(0),
        });
        Self(NonNull::from(Box::leak(shared)))
    }

    fn shared(&self) -> &Shared {
        // SAFETY: Ours until we are dropped; what changes is in cells.
        unsafe { self.0.as_ref() }
    }

    /// What C calls its probe.
    pub fn as_c(&self) -> *mut kprobe {
        self.0.as_ptr().cast()
    }

    fn probe(&self) -> kprobe {
        // SAFETY: Nothing else runs now.
        unsafe { self.as_c().read_volatile() }
    }

    pub fn place(&self) -> u64 {
        self.probe().addr.addr() as u64
    }

    pub fn wants_after(&self) -> bool {
        self.probe().post_handler.is_some()
    }

    /// Changes its probe, which is not registered yet.
    pub fn set(&self, change: impl FnOnce(&mut kprobe)) {
        // SAFETY: It is for us alone then.
        change(unsafe { &mut *self.as_c() });
    }

    /// Its probe is about to be registered.
    fn begin(&self) {
        // SAFETY: It is not registered, though maybe left disabled, and nothing else runs now.
        unsafe { (*self.as_c()).flags = 0 };
        self.shared().alive.store(true, Relaxed);
    }

    pub fn register(&self) -> c_int {
        self.begin();
        // SAFETY: A probe that stays until it is unregistered.
        unsafe { c::register_kprobes(&mut self.as_c(), 1) }
    }

    pub fn unregister(&self) {
        // SAFETY: A probe that stays.
        unsafe { c::unregister_kprobes(&mut self.as_c(), 1) };
        self.shared().alive.store(false, Relaxed);
    }

    /// How often its two handlers were called.
    pub fn calls(&self) -> (usize, usize) {
        let shared = self.shared();
        (shared.before.load(Relaxed), shared.after.load(Relaxed))
    }

    /// Was the CPU told of another probe when one of them was called?
    pub fn has_strayed(&self) -> bool {
        self.shared().strayed.load(Relaxed)
    }

    pub fn missed(&self) -> usize {
        self.probe().nmissed
    }

    pub fn enable(&self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::enable_kprobe(self.as_c()) }
    }

    pub fn disable(&self) -> c_int {
        // SAFETY: A probe of ours.
        unsafe { c::disable_kprobe(self.as_c()) }
    }
}

impl Drop for Client {
    /// A test that failed leaves nothing for the next one to come by.
    fn drop(&mut self) {
        if self.shared().alive.load(Relaxed) {
            self.unregister();
        }
        // SAFETY: It came from a box, and C does not have it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

fn all(clients: &[Client]) -> Vec<*mut kprobe> {
    clients.iter().map(Client::as_c).collect()
}

pub fn register(clients: &[Client]) -> c_int {
    let mut probes = all(clients);
    register_all(clients, &mut probes)
}

#[track_caller]
pub fn registered<All: AsRef<[Client]>>(clients: All) -> All {
    assert_eq!(register(clients.as_ref()), 0);
    clients
}

/// Registers these probes, which are of some of the clients.
pub fn register_all(clients: &[Client], probes: &mut [*mut kprobe]) -> c_int {
    for client in clients {
        client.begin();
    }
    // SAFETY: Probes that stay until they are unregistered.
    let status = unsafe { c::register_kprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    if status != 0 {
        forget(clients);
    }
    status
}

/// Unregisters the probes of all of them, which may be freed then.
pub fn unregister(clients: &[Client]) {
    let mut probes = all(clients);
    // SAFETY: Probes that stay during the call.
    unsafe { c::unregister_kprobes(probes.as_mut_ptr(), probes.len() as c_int) };
    forget(clients);
}

/// None of them may be called any more.
pub fn forget(clients: &[Client]) {
    for client in clients {
        client.shared().alive.store(false, Relaxed);
    }
}

/// Whoever does something where a function without arguments is called.
static OTHER: AtomicPtr<Client> = AtomicPtr::new(core::ptr::null_mut());

pub fn set_other(client: &Client) {
    OTHER.store(core::ptr::from_ref(client).cast_mut(), Relaxed);
}

pub fn other() -> &'static Client {
    // SAFETY: A client that stays as long as it is asked for.
    unsafe { &*OTHER.load(Relaxed) }
}
