// SPDX-License-Identifier: GPL-2.0

//! The entries of a table: each has memory of its own, which readers may see for a grace period
//! after its removal.
//!
//! The memory begins with a [`Header`], which has the address. Two headers belong to no entry:
//! [`EMPTY`] and [`LEFT`].

use crate::{
    atomics::{
        AtomicPtr,
        Ordering, //
    },
    prelude::*, //
};
use core::{
    marker::PhantomData,
    mem::{
        offset_of,
        ManuallyDrop, //
    },
    ptr::NonNull,
};
use kernel::{
    prelude::*,
    sync::rcu, //
};

/// An address that no entry is for.
pub(crate) const NOWHERE: TextAddr = TextAddr::new(u64::MAX);

/// The beginning of an entry's memory.
pub(super) struct Header {
    pub(super) at: TextAddr,
    /// The next one of those that wait for a grace period.
    next: AtomicPtr<Header>,
}

impl Header {
    const fn of(at: TextAddr) -> Self {
        let next = AtomicPtr::new(core::ptr::null_mut());
        Self { at, next }
    }
}

/// The header that an empty word points to.
pub(super) static EMPTY: Header = Header::of(NOWHERE);

/// The header that a word points to from which an entry was removed.
pub(super) static LEFT: Header = Header::of(NOWHERE);

pub(super) const fn pointer(header: &'static Header) -> *mut Header {
    core::ptr::from_ref(header).cast_mut()
}

/// An entry in memory of its own.
#[repr(C)]
struct Node<T> {
    header: Header,
    entry: T,
}

/// The entry that a header belongs to.
///
/// # Safety
///
/// The header is that of a [`Node<T>`].
#[inline(always)]
pub(super) unsafe fn entry<T>(header: &Header) -> &T {
    let entry = core::ptr::from_ref(header).wrapping_byte_add(offset_of!(Node<T>, entry));
    // SAFETY: By the precondition: it is where a node has it.
    unsafe { &*hidden(entry.cast()) }
}

/// The same address, which is not zero. The compiler is not to know that it is near another one:
/// it would keep both, in a register each, for as long as either is used.
#[inline(always)]
fn hidden<T>(place: *const T) -> *const T {
    #[cfg_attr(miri, expect(unused_mut))]
    let mut at = place.expose_provenance();
    // Miri runs no assembly, and has no registers to save.
    #[cfg(not(miri))]
    // SAFETY: There is no instruction.
    unsafe {
        core::arch::asm!(
            "/* {} */",
            inout(reg) at,
            options(pure, nomem, nostack, preserves_flags)
        )
    };
    // SAFETY: It is as it was.
    unsafe { core::hint::assert_unchecked(at != 0) };
    core::ptr::with_exposed_provenance(at)
}

/// An entry that its owner has: before it is in a table, and after.
///
/// Dropping it waits for a grace period; [`Retired`] waits once for many.
///
/// # Invariants
///
/// It is the header of a [`Node<T>`] that came from a [`KBox`] and nobody else frees. Besides the
/// owner only readers of a table may have it, in sections that began before it was removed.
pub(crate) struct Owned<T>(NonNull<Header>, PhantomData<T>);

impl<T> Owned<T> {
    /// Memory of its own for the entry of an address.
    pub(crate) fn new(at: TextAddr, entry: T) -> Result<Self, Refusal> {
        let header = Header::of(at);
        let node = KBox::new(Node { header, entry }, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        let header = NonNull::new(KBox::into_raw(node)).ok_or(Refusal::NoMemory)?;
        // INVARIANT: Just made.
        Ok(Self(header.cast(), PhantomData))
    }

    /// An entry that was removed from a table, whose invariant this takes over.
    pub(super) fn of(header: &Header) -> Self {
        // INVARIANT: It was an `Owned` when it was inserted, and no word has it any more.
        Self(NonNull::from(header), PhantomData)
    }

    /// The entry.
    pub(crate) fn get(&self) -> &T {
        // SAFETY: By the invariant, the header is that of a node.
        unsafe { entry(self.header()) }
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: By the invariant, it stays as long as this value.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn into_raw(self) -> *mut Header {
        ManuallyDrop::new(self).0.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let mut alone = Retired::<T>::new();
        // INVARIANT: It is this value's, which is gone.
        alone.newest = self.0.as_ptr();
    }
}

/// Entries that were removed from their tables, to be freed together after one grace period.
///
/// # Invariants
///
/// Each of the linked headers is as in [`Owned`].
pub(crate) struct Retired<T> {
    newest: *mut Header,
    _owns: PhantomData<T>,
}

impl<T> Retired<T> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        // INVARIANT: There are no headers.
        Self {
            newest: core::ptr::null_mut(),
            _owns: PhantomData,
        }
    }

    /// Waits for a grace period, whether there are any or not, and frees them.
    pub(crate) fn wait(mut self) {
        rcu::synchronize_rcu();
        self.free();
    }

    /// One more. It cannot fail: an entry has the link in its own memory.
    pub(crate) fn push(&mut self, owned: Owned<T>) {
        owned.header().next.store(self.newest, Ordering::Relaxed);
        // INVARIANT: It was an `Owned`'s, which is gone.
        self.newest = owned.into_raw();
    }

    fn free(&mut self) {
        while let Some(node) = NonNull::new(self.newest.cast::<Node<T>>()) {
            // SAFETY: By the invariant it came from a `KBox` that nobody else frees, and it leaves
            // the list.
            let node = unsafe { KBox::from_raw(node.as_ptr()) };
            self.newest = node.header.next.load(Ordering::Relaxed);
        }
    }
}

impl<T> Drop for Retired<T> {
    fn drop(&mut self) {
        if !self.newest.is_null() {
            rcu::synchronize_rcu();
            self.free();
        }
    }
}
