// SPDX-License-Identifier: GPL-2.0

//! Return instances: C's `struct kretprobe_instance` and `task_struct::rethooks`.
//!
//! A return instance is the memory for one call of a probed function. A task has a list of the
//! instances of its calls, the latest first. Only the task itself, or the code that frees the task,
//! changes the list. An unwinder may read the list while the task does not run. If the task begins
//! to run, calls end while the unwinder reads. Their memory is not freed while the unwinder has
//! preemption off, but other calls may use it by then.

use super::*;

/// The link of an instance in the list of its task.
pub(super) type Link = bindings::llist_node;

/// `struct kretprobe_instance`, which the client's data follows.
#[repr(C)]
pub(super) struct Instance {
    /// The block of the instance, in the place of C's `rcu`.
    pub(super) block: NonNull<Block>,
    pub(super) ticket: Ticket,
    /// The link of the next older instance of the task.
    older: AtomicPtr<Link>,
    pub(super) pool: NonNull<Pool>,
    return_address: AtomicUsize,
    /// The address that identifies the frame of the call.
    frame: AtomicUsize,
}

assert_same_layout!(
    Instance, bindings::rethook_node:
    block = rcu,
    older = llist,
    pool = rethook,
    return_address = ret_addr,
    frame = frame
);
// The two words at the offset of C's `rcu` are as wide as that field.
const _: () = assert!(offset_of!(Instance, older) == size_of::<usize>() + size_of::<Ticket>());
// The client's data directly follows the instance.
const _: () = assert!(offset_of!(bindings::kretprobe_instance, data) == size_of::<Instance>());

impl Instance {
    /// Makes instance `index` of a block of a pool.
    pub(super) fn new(block: NonNull<Block>, index: u32, pool: NonNull<Pool>) -> Self {
        Self {
            block,
            ticket: Ticket::of(index),
            older: AtomicPtr::new(core::ptr::null_mut()),
            pool,
            return_address: AtomicUsize::new(0),
            frame: AtomicUsize::new(0),
        }
    }

    /// Returns the instance for C.
    pub(super) fn as_c(&self) -> *mut bindings::kretprobe_instance {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// Returns the address that identifies the frame of the call.
    #[inline(always)]
    pub(super) fn frame(&self) -> usize {
        self.frame.load(Ordering::Relaxed)
    }

    /// Returns the function's return address, or the trampoline's if an older instance has it.
    #[inline(always)]
    pub(super) fn return_address(&self) -> usize {
        self.return_address.load(Ordering::Relaxed)
    }

    /// Sets the function's return address, which an older instance of the same call had.
    pub(super) fn set_return_address(&self, to: usize) {
        self.return_address.store(to, Ordering::Relaxed);
    }

    /// Returns the pool of the instance.
    #[inline(always)]
    pub(super) fn pool(&self) -> &Pool {
        // SAFETY: A pool is not freed while an instance is taken from it, and this one is taken.
        unsafe { self.pool.as_ref() }
    }

    /// Returns the next older instance of the task.
    #[inline(always)]
    pub(super) fn older(&self) -> Option<&Self> {
        // SAFETY: The instance was in the list at an instant since preemption is off. If it was
        // given back since then, it is freed no sooner than after a grace period.
        unsafe { Self::of(&self.older) }
    }

    /// Returns the link of the instance.
    pub(super) fn link(&self) -> *mut Link {
        core::ptr::from_ref(&self.older).cast_mut().cast()
    }

    /// Returns the instance that a link leads to, unless the link is NULL.
    ///
    /// # Safety
    ///
    /// That instance is not freed during `'a`.
    #[inline(always)]
    unsafe fn of<'a>(link: &AtomicPtr<Link>) -> Option<&'a Self> {
        let link = link.load(Ordering::Relaxed);
        let instance = link.wrapping_byte_sub(offset_of!(Self, older));
        // SAFETY: The link is a field of an instance, which is not freed by the precondition.
        (!link.is_null()).then(|| unsafe { &*instance.cast() })
    }
}

/// A return instance that this value owns.
///
/// # Invariants
///
/// The instance is taken, and this value alone gives it back.
pub(super) struct Taken<'a>(&'a Instance);

impl<'a> Taken<'a> {
    /// # Safety
    ///
    /// The caller has taken the instance from its block or from the list of a task.
    #[inline(always)]
    pub(super) unsafe fn new(instance: &'a Instance) -> Self {
        // INVARIANT: By the precondition no other code gives the instance back.
        Self(instance)
    }

    /// Returns the instance.
    #[inline(always)]
    pub(super) fn instance(&self) -> &'a Instance {
        self.0
    }
}

/// The instances of a task: C's `task_struct::rethooks`.
#[repr(transparent)]
pub(super) struct TaskInstances(AtomicPtr<Link>);

const _: () = assert!(size_of::<TaskInstances>() == size_of::<bindings::llist_head>());

impl TaskInstances {
    /// Returns the list of this task.
    #[inline(always)]
    pub(super) fn of_this_task(no_preempt: &PreemptOff) -> &Self {
        // SAFETY: `rethooks` returns this task's list, and a task is not freed while it runs.
        unsafe { &*Arch::rethooks(no_preempt).cast() }
    }

    /// Returns the list of a task.
    ///
    /// # Safety
    ///
    /// The task is not freed during `'a`. It is this task, or was not running at some instant since
    /// preemption is off. Instances that are found are not used after preemption is enabled.
    pub(super) unsafe fn of<'a>(task: *const bindings::task_struct) -> &'a Self {
        // SAFETY: The task is not freed, by the precondition.
        unsafe { &*(&raw const (*task).rethooks).cast() }
    }

    /// Returns the latest instance.
    #[inline(always)]
    pub(super) fn latest(&self) -> Option<&Instance> {
        // SAFETY: As in [`Instance::older`].
        unsafe { Instance::of(&self.0) }
    }

    /// Adds an instance to the list, for a call that begins.
    #[inline(always)]
    pub(super) fn push(&self, taken: Taken<'_>, frame: usize, return_address: usize) {
        let Taken(instance) = taken;
        instance.frame.store(frame, Ordering::Relaxed);
        instance.set_return_address(return_address);
        let older = self.0.load(Ordering::Relaxed);
        instance.older.store(older, Ordering::Relaxed);
        // Only an interrupt on this CPU may come in between, and it sees all stores in order.
        self.0.store(instance.link(), Ordering::Release);
    }

    /// Removes the latest instance from the list.
    #[inline(always)]
    pub(super) fn pop<'a>(&self, latest: &'a Instance) -> Taken<'a> {
        let older = latest.older.load(Ordering::Relaxed);
        self.0.store(older, Ordering::Relaxed);
        // SAFETY: The instance was in the list, so it is taken, and it is not in the list any more.
        unsafe { Taken::new(latest) }
    }
}
