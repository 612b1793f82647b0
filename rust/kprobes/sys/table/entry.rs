// SPDX-License-Identifier: GPL-2.0

//! What a table's words point to: entries, each in memory of its own that readers outlive.
//!
//! An entry begins with a header, which has its address; there are two headers of no entry:
//! [`EMPTY`] says that the word is empty, and [`LEFT`] that it was left.

use crate::{
    model::{
        addr::TextAddr,
        refusal::Refusal, //
    },
    table::memory::NOWHERE, //
};
use core::{
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    }, //
};
use kernel::prelude::*;

/// What all entries begin with.
pub(super) struct Header {
    pub(super) at: TextAddr,
    /// The next one of those that are out of the table again.
    next: AtomicPtr<Header>,
}

/// What a word leads to that is empty.
pub(super) static EMPTY: Header = Header::nowhere();

/// What a word leads to that was left by an entry.
pub(super) static LEFT: Header = Header::nowhere();

impl Header {
    const fn nowhere() -> Self {
        Self {
            at: NOWHERE,
            next: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    pub(super) fn is(&self, other: &'static Self) -> bool {
        core::ptr::eq(self, other)
    }
}

/// What is written in a word for one of the two.
pub(super) const fn word_of(header: &'static Header) -> *mut Header {
    core::ptr::from_ref(header).cast_mut()
}

/// An entry in memory of its own.
#[repr(C)]
pub(super) struct Node<T> {
    header: Header,
    entry: T,
}

/// An entry, seen in the table.
///
/// # Invariants
///
/// The header is that of a [`Node<T>`], or one of [`EMPTY`] and [`LEFT`], at which nobody looks any
/// further.
pub(crate) struct Seen<'a, T>(
    pub(super) NonNull<Header>,
    pub(super) PhantomData<&'a Node<T>>,
);

impl<T> Clone for Seen<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seen<'_, T> {}

impl<'a, T> Seen<'a, T> {
    /// The entry. Not for what is none, which no lookup gives out: it is nowhere.
    #[inline(always)]
    pub(super) fn entry(self) -> &'a T {
        let entry = self
            .0
            .as_ptr()
            .wrapping_byte_add(offset_of!(Node<T>, entry));
        // SAFETY: By the invariant: it is where a node has it.
        unsafe { &*hidden(entry.cast()) }
    }

    /// What it begins with.
    #[inline(always)]
    pub(super) fn header(self) -> &'a Header {
        // SAFETY: By the invariant.
        unsafe { &*self.0.as_ptr() }
    }
}

/// The same address, which is not zero, and of which the compiler is not to know that it is near
/// another one: it would keep both, in a register each, for as long as either is used.
#[inline(always)]
fn hidden<T>(place: *mut T) -> *mut T {
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
    core::ptr::with_exposed_provenance_mut(at)
}

/// An entry that its owner has: before it is in the table, and after.
///
/// Dropping it waits for a grace period; [`Retired`] waits once for many.
///
/// # Invariants
///
/// It is the header of a [`Node<T>`] that came from a [`KBox`] and nobody else frees; besides us
/// only readers of a table may have it, in sections that began before it was taken out.
pub(crate) struct Owned<T> {
    pub(super) header: NonNull<Header>,
    pub(super) _owns: PhantomData<T>,
}

impl<T> Owned<T> {
    /// Memory of its own for what is at an address.
    pub(crate) fn new(at: TextAddr, entry: T) -> Result<Self, Refusal> {
        let next = AtomicPtr::new(core::ptr::null_mut());
        let header = Header { at, next };
        let node = KBox::new(Node { header, entry }, GFP_KERNEL).map_err(|_| Refusal::NoMemory)?;
        let header = NonNull::new(KBox::into_raw(node)).ok_or(Refusal::NoMemory)?;
        // INVARIANT: Just made.
        Ok(Self {
            header: header.cast(),
            _owns: PhantomData,
        })
    }

    /// The entry.
    pub(crate) fn get(&self) -> &T {
        self.seen().entry()
    }

    pub(super) fn seen(&self) -> Seen<'_, T> {
        // INVARIANT: By that of `self`.
        Seen(self.header, PhantomData)
    }

    pub(super) fn into_header(self) -> NonNull<Header> {
        core::mem::ManuallyDrop::new(self).header
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let mut alone = Retired::<T>::new();
        // INVARIANT: It is this value's, which is gone.
        alone.newest = self.header.as_ptr();
    }
}

/// Entries that are out of their tables, to be freed together after one grace period.
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
        // INVARIANT: There are no nodes.
        Self {
            newest: core::ptr::null_mut(),
            _owns: PhantomData,
        }
    }

    /// Waits for a grace period, whether there are any or not, and frees them.
    pub(crate) fn wait(mut self) {
        kernel::sync::rcu::synchronize_rcu();
        self.free();
    }

    /// One more. Cannot fail: it is linked by what it has itself.
    pub(crate) fn push(&mut self, owned: Owned<T>) {
        let next = &owned.seen().header().next;
        next.store(self.newest, Ordering::Relaxed);
        // INVARIANT: It was an `Owned`'s, which is gone.
        self.newest = owned.into_header().as_ptr();
    }

    fn free(&mut self) {
        while let Some(node) = self.pop() {
            drop(node);
        }
    }

    fn pop(&mut self) -> Option<KBox<Node<T>>> {
        let node = NonNull::new(self.newest.cast::<Node<T>>())?;
        // SAFETY: By the invariant it came from a `KBox` that nobody else frees, and it leaves
        // the list.
        let node = unsafe { KBox::from_raw(node.as_ptr()) };
        self.newest = node.header.next.load(Ordering::Relaxed);
        Some(node)
    }
}

impl<T> Drop for Retired<T> {
    fn drop(&mut self) {
        if !self.newest.is_null() {
            kernel::sync::rcu::synchronize_rcu();
            self.free();
        }
    }
}
