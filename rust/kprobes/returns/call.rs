// SPDX-License-Identifier: GPL-2.0

//! The calls that return probes watch: C's `struct kretprobe_instance` and `task_struct::rethooks`.
//!
//! A task has a list of its calls, the latest first. Only the task itself changes it, or the code
//! that frees the task. An unwinder may read it while the task does not run. If the task begins to
//! run, calls end while the unwinder reads; their memory stays as long as the unwinder has
//! preemption off, though other calls may use it by then.

use super::{
    block::Block,
    pool::Ticket,
    store::Store, //
};
use crate::{
    arch::Current,
    atomics::{
        AtomicPtr,
        AtomicUsize,
        Ordering, //
    },
    contract::Returns,
    sys::preempt::Pinned, //
};
use core::{
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull, //
};
use kernel::bindings;

/// `struct kretprobe_instance`: a call, or room for one. The client's data follows.
#[repr(C)]
pub(super) struct Call {
    /// The block that it is of, in the place of C's `rcu`.
    pub(super) block: NonNull<Block>,
    /// What the block's word gets when the call is over.
    pub(super) ticket: Ticket,
    /// The same field of the next older call of the same task.
    older: AtomicPtr<Link>,
    /// The store that it is of.
    pub(super) store: NonNull<Store>,
    /// Where the function returns to.
    to: AtomicUsize,
    /// The address that identifies its frame.
    frame: AtomicUsize,
}

/// The field of a call by which it is in its task's list.
pub(super) struct Link {
    _older: AtomicPtr<Link>,
}

macro_rules! same_place {
    ($($ours:ident = $theirs:ident),*) => {
        $(const _: () =
            assert!(offset_of!(Call, $ours) == offset_of!(bindings::rethook_node, $theirs));)*
    };
}
same_place!(
    block = rcu,
    older = llist,
    store = rethook,
    to = ret_addr,
    frame = frame
);
const _: () = assert!(size_of::<Call>() == size_of::<bindings::rethook_node>());
// The two words in the place of C's `rcu` are as wide as that.
const _: () = assert!(offset_of!(Call, older) == size_of::<usize>() + size_of::<Ticket>());
// The client's data is right behind it.
const _: () = assert!(offset_of!(bindings::kretprobe_instance, data) == size_of::<Call>());

impl Call {
    /// Room for a call.
    pub(super) fn new(block: NonNull<Block>, index: u32, store: NonNull<Store>) -> Self {
        Self {
            block,
            ticket: Ticket::of(index),
            older: AtomicPtr::new(core::ptr::null_mut()),
            store,
            to: AtomicUsize::new(0),
            frame: AtomicUsize::new(0),
        }
    }

    /// The call for C.
    pub(super) fn as_c(&self) -> *mut bindings::kretprobe_instance {
        core::ptr::from_ref(self)
            .cast::<bindings::kretprobe_instance>()
            .cast_mut()
    }

    /// The address that identifies its frame.
    #[inline(always)]
    pub(super) fn frame(&self) -> usize {
        self.frame.load(Ordering::Relaxed)
    }

    /// Where the function returns to.
    #[inline(always)]
    pub(super) fn to(&self) -> usize {
        self.to.load(Ordering::Relaxed)
    }

    /// Notes where the function returns to: an older return probe has hooked it first.
    #[inline(always)]
    pub(super) fn set_to(&self, to: usize) {
        self.to.store(to, Ordering::Relaxed);
    }

    /// The store that it is of.
    #[inline(always)]
    pub(super) fn store(&self) -> &Store {
        // SAFETY: A store stays as long as an instance is taken from it, which this one is.
        unsafe { self.store.as_ref() }
    }

    /// The next older call of the same task.
    #[inline(always)]
    pub(super) fn older(&self) -> Option<&Self> {
        // SAFETY: It is a link of the same list, in which all are taken.
        unsafe { Self::of(self.older.load(Ordering::Relaxed)) }
    }

    /// Its part of the list.
    pub(super) fn link(&self) -> *mut Link {
        core::ptr::from_ref(&self.older).cast_mut().cast()
    }

    /// The call that a link is in.
    ///
    /// # Safety
    ///
    /// It is NULL, or that of a call which stays for `'a`.
    #[inline(always)]
    unsafe fn of<'a>(link: *mut Link) -> Option<&'a Self> {
        let call = link.wrapping_byte_sub(offset_of!(Self, older));
        // SAFETY: By the precondition it is the field of a call that stays for `'a`.
        (!link.is_null()).then(|| unsafe { &*call.cast() })
    }
}

/// A return instance that is ours.
///
/// # Invariants
///
/// It is taken, and this value alone gives it back.
pub(super) struct Taken<'a>(&'a Call);

impl<'a> Taken<'a> {
    /// # Safety
    ///
    /// It is taken, by the caller or by whoever has left it in a list that it is out of now.
    #[inline(always)]
    pub(super) unsafe fn new(call: &'a Call) -> Self {
        // INVARIANT: By the precondition.
        Self(call)
    }

    /// The call.
    #[inline(always)]
    pub(super) fn call(&self) -> &'a Call {
        self.0
    }

    /// The call begins: it is the task's latest from now on.
    #[inline(always)]
    pub(super) fn begin(self, calls: &Calls, frame: usize, to: usize) {
        let call = self.0;
        call.frame.store(frame, Ordering::Relaxed);
        call.to.store(to, Ordering::Relaxed);
        call.older
            .store(calls.0.load(Ordering::Relaxed), Ordering::Relaxed);
        // Only an interrupt on this CPU may come in between, and sees all stores in order.
        calls.0.store(call.link(), Ordering::Release);
    }
}

/// The calls of a task: C's `task_struct::rethooks`.
#[repr(transparent)]
pub(super) struct Calls(AtomicPtr<Link>);

const _: () = assert!(size_of::<Calls>() == size_of::<bindings::llist_head>());

impl Calls {
    /// Those of this task.
    #[inline(always)]
    pub(super) fn of_this_task(pinned: &Pinned) -> &Self {
        // SAFETY: The architecture gives this task's list, and the task stays while it runs.
        unsafe { &*Current::calls(pinned).cast() }
    }

    /// Those of a task.
    ///
    /// # Safety
    ///
    /// The task stays for `'a`. It is this one, or it did not run when the caller turned preemption
    /// off, or later; calls that are found are not used longer than preemption stays off.
    pub(super) unsafe fn of<'a>(task: *const bindings::task_struct) -> &'a Self {
        // SAFETY: The task stays, by the precondition.
        unsafe { &*(&raw const (*task).rethooks).cast() }
    }

    /// The latest one.
    #[inline(always)]
    pub(super) fn latest(&self) -> Option<&Call> {
        // SAFETY: All calls in the list are taken.
        unsafe { Call::of(self.0.load(Ordering::Relaxed)) }
    }

    /// Takes the latest one out of the list, which it is.
    #[inline(always)]
    pub(super) fn end_latest<'a>(&self, latest: &'a Call) -> Taken<'a> {
        self.0
            .store(latest.older.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: The call was in the list, so it is taken, and is not in the list any more.
        unsafe { Taken::new(latest) }
    }

    /// Takes the calls out of the list up to `last`, which is in it, latest first.
    #[inline(always)]
    pub(super) fn end(&self, last: &Call) -> Ended<'_> {
        let first = self.0.load(Ordering::Relaxed);
        self.0
            .store(last.older.load(Ordering::Relaxed), Ordering::Relaxed);
        last.older.store(core::ptr::null_mut(), Ordering::Relaxed);
        Ended(first, PhantomData)
    }

    /// Takes all out.
    pub(super) fn end_all(&self) -> Ended<'_> {
        let first = self.0.swap(core::ptr::null_mut(), Ordering::Relaxed);
        Ended(first, PhantomData)
    }
}

/// Calls that are over, and in no list that others know.
///
/// # Invariants
///
/// Each in it is taken, and comes out of it once.
pub(super) struct Ended<'a>(*mut Link, PhantomData<&'a Call>);

impl<'a> Iterator for Ended<'a> {
    type Item = Taken<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Taken<'a>> {
        // SAFETY: By the invariant the call is taken, so its store stays.
        let call = unsafe { Call::of(self.0) }?;
        // INVARIANT: This call has come out.
        self.0 = call.older.load(Ordering::Relaxed);
        // SAFETY: By the invariant the call is taken, and comes out once.
        Some(unsafe { Taken::new(call) })
    }
}
