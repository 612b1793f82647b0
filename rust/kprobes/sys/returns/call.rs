// SPDX-License-Identifier: GPL-2.0

//! The calls that return probes watch.
//!
//! A call is one of a task: the task has a list of its calls, the latest first. Only the task
//! itself changes it, or who buries the task. Somebody else may look at it while the task does not
//! run. If it begins to, calls come to their end under his eyes; what they are in stays as long as
//! he has preemption off, though it may be the room of other calls by then.

use super::{
    block::Block,
    store::Store, //
};
use crate::pool::word::Ticket;
use core::{
    marker::PhantomData,
    mem::offset_of,
    ptr::NonNull,
    sync::atomic::{
        AtomicPtr,
        AtomicUsize,
        Ordering, //
    }, //
};
use kernel::bindings;

/// `struct kretprobe_instance`: a call, or room for one. What the client keeps is behind it.
#[repr(C)]
pub(crate) struct Call {
    /// Where it is from, in the place of C's `rcu`.
    pub(super) block: NonNull<Block>,
    /// What is told to that when it is over.
    pub(super) ticket: Ticket,
    /// Where the next older call of the same task has the same.
    older: AtomicPtr<Link>,
    /// Whose it is.
    pub(super) store: NonNull<Store>,
    /// Where the function returns to.
    to: AtomicUsize,
    /// What its frame is known by.
    frame: AtomicUsize,
}

/// What a list of calls consists of, which is inside of them.
pub(crate) struct Link {
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
    /// Room for a call, which is not there yet.
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

    /// What C calls it.
    pub(super) fn as_c(&self) -> *mut bindings::kretprobe_instance {
        core::ptr::from_ref(self)
            .cast::<bindings::kretprobe_instance>()
            .cast_mut()
    }

    /// What is known of its frame.
    #[inline(always)]
    pub(crate) fn frame(&self) -> usize {
        self.frame.load(Ordering::Relaxed)
    }

    /// Where the function returns to.
    #[inline(always)]
    pub(crate) fn to(&self) -> usize {
        self.to.load(Ordering::Relaxed)
    }

    /// Says where the function returns to, which had been hooked by another one before.
    #[inline(always)]
    pub(crate) fn set_to(&self, to: usize) {
        self.to.store(to, Ordering::Relaxed);
    }

    /// What it is from.
    #[inline(always)]
    pub(crate) fn store(&self) -> &Store {
        // SAFETY: A store stays as long as a call is taken from it.
        unsafe { self.store.as_ref() }
    }

    /// The next older call of the same task.
    #[inline(always)]
    pub(crate) fn older(&self) -> Option<&Self> {
        // SAFETY: It is in the same list.
        unsafe { Self::of(self.older.load(Ordering::Relaxed)) }
    }

    /// Its part of the list.
    pub(crate) fn link(&self) -> *mut Link {
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
        // SAFETY: By the precondition: it is where a call has it.
        (!link.is_null()).then(|| unsafe { &*call.cast() })
    }
}

/// Room for a call that is ours.
///
/// # Invariants
///
/// It is taken, and this value alone gives it back.
pub(crate) struct Taken<'a>(&'a Call);

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
    pub(crate) fn call(&self) -> &'a Call {
        self.0
    }

    /// Notes what is to be known of it, and that it is the task's latest.
    #[inline(always)]
    pub(crate) fn begin(self, calls: &Calls, frame: usize, to: usize) {
        let call = self.0;
        call.frame.store(frame, Ordering::Relaxed);
        call.to.store(to, Ordering::Relaxed);
        call.older
            .store(calls.0.load(Ordering::Relaxed), Ordering::Relaxed);
        // Who comes in between here is an interrupt on this CPU, and sees all in order.
        calls.0.store(call.link(), Ordering::Release);
    }
}

/// The calls of a task: what C has in `task_struct::rethooks`.
#[repr(transparent)]
pub(crate) struct Calls(AtomicPtr<Link>);

const _: () = assert!(size_of::<Calls>() == size_of::<bindings::llist_head>());

impl Calls {
    /// Those of a task.
    ///
    /// # Safety
    ///
    /// It is a task that stays for `'a`. It is this one, or it did not run when the caller turned
    /// preemption off, or later; and what is found is not used longer than that is so.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(task: *const bindings::task_struct) -> &'a Self {
        // SAFETY: By the precondition.
        unsafe { &*(&raw const (*task).rethooks).cast() }
    }

    /// The latest one.
    #[inline(always)]
    pub(crate) fn latest(&self) -> Option<&Call> {
        // SAFETY: What is in the list is taken.
        unsafe { Call::of(self.0.load(Ordering::Relaxed)) }
    }

    /// Takes the latest one out of the list, which it is.
    #[inline(always)]
    pub(crate) fn end_latest<'a>(&self, latest: &'a Call) -> Taken<'a> {
        self.0
            .store(latest.older.load(Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: What was in the list is taken, and this was.
        unsafe { Taken::new(latest) }
    }

    /// Takes the calls out of the list up to `last`, which is in it, latest first.
    #[inline(always)]
    pub(crate) fn end(&self, last: &Call) -> Ended<'_> {
        let first = self.0.load(Ordering::Relaxed);
        self.0
            .store(last.older.load(Ordering::Relaxed), Ordering::Relaxed);
        last.older.store(core::ptr::null_mut(), Ordering::Relaxed);
        Ended(first, PhantomData)
    }

    /// Takes all out.
    pub(crate) fn end_all(&self) -> Ended<'_> {
        let first = self.0.swap(core::ptr::null_mut(), Ordering::Relaxed);
        Ended(first, PhantomData)
    }
}

/// Calls that are over, and in no list that others know.
///
/// # Invariants
///
/// Each in it is taken, and comes out of it once.
pub(crate) struct Ended<'a>(*mut Link, PhantomData<&'a Call>);

impl<'a> Iterator for Ended<'a> {
    type Item = Taken<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Taken<'a>> {
        // SAFETY: By the invariant.
        let call = unsafe { Call::of(self.0) }?;
        // INVARIANT: This one has come out.
        self.0 = call.older.load(Ordering::Relaxed);
        // SAFETY: By the invariant.
        Some(unsafe { Taken::new(call) })
    }
}
