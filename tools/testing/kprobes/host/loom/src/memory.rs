// SPDX-License-Identifier: GPL-2.0

//! What the kernel's files here ask of the kernel: memory, and RCU.
//!
//! In a model, an allocation has a cell in which loom finds any two accesses that nothing orders.
//! Making and freeing it are writes; an access of an atomic in it is a read, and so is a load with
//! `Acquire` of a pointer to it, which is what leads readers there. So it shows when a reader sees
//! memory before it is filled, or has it still when it is freed. Freed memory is not used again
//! before the model's run is over.
//!
//! RCU is a count of the readers. A grace period is over when the count is seen at zero, with the
//! order between the two that RCU gives.

use crate::loom_kit::{in_model, is_weak, thread, Readers, Reading, Watched};
use core::{
    alloc::Layout,
    cell::{Cell, RefCell},
    ffi::c_void,
    ops::{Deref, DerefMut},
};
use std::{collections::BTreeMap, rc::Rc, vec::Vec};

/// An allocation, and its cell if it was made in a model.
struct Region {
    layout: Layout,
    cell: Option<Rc<Watched>>,
}

std::thread_local! {
    static REGIONS: RefCell<BTreeMap<usize, Region>> = const { RefCell::new(BTreeMap::new()) };
    static WAITING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static READERS: RefCell<Option<Readers>> = const { RefCell::new(None) };
    static EXHAUSTED: Cell<bool> = const { Cell::new(false) };
    /// How many lists were made in the model's run, and the length of the last one.
    static LISTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

pub(crate) fn begin() {
    end();
    READERS.set(Some(Readers::default()));
    LISTS.set((0, 0));
}

pub(crate) fn lists() -> usize {
    LISTS.get().0
}

/// For how many elements the last list was made.
pub(crate) fn last_length() -> usize {
    LISTS.get().1
}

pub(crate) fn end() {
    READERS.set(None);
    WAITING.take();
    REGIONS.with_borrow_mut(|regions| {
        regions.retain(|&first, region| {
            if region.cell.is_some() {
                // SAFETY: It was allocated so, and the run that knew it is over.
                unsafe { std::alloc::dealloc(first as *mut u8, region.layout) };
            }
            region.cell.is_none()
        });
    });
}

pub(crate) fn exhaust(exhausted: bool) {
    EXHAUSTED.set(exhausted);
}

/// Somebody looks at an address.
pub(crate) fn look(at: usize) {
    if !in_model() {
        return;
    }
    let cell = REGIONS.with_borrow(|regions| {
        let (first, region) = regions.range(..=at).next_back()?;
        region
            .cell
            .clone()
            .filter(|_| at < first + region.layout.size())
    });
    if let Some(cell) = cell {
        cell.look("it was freed");
    }
}

/// The memory at an address is there, or no more, for what others are to find.
pub(crate) fn set(at: usize, is_there: bool) {
    let cell = REGIONS.with_borrow(|regions| regions[&at].cell.clone());
    cell.unwrap().set(is_there);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllocError;

fn allocate(layout: Layout) -> Result<*mut u8, AllocError> {
    if EXHAUSTED.get() {
        return Err(AllocError);
    }
    // As the kernel's allocator does for what is as long as that.
    let layout = layout.align_to(64).unwrap();
    // SAFETY: It is not empty.
    let memory = unsafe { std::alloc::alloc(layout) };
    let cell = in_model().then(Rc::<Watched>::default);
    if let Some(cell) = &cell {
        cell.have();
    }
    let first = memory.expose_provenance();
    REGIONS.with_borrow_mut(|regions| regions.insert(first, Region { layout, cell }));
    Ok(memory)
}

fn free(first: usize) {
    let cell = REGIONS.with_borrow(|regions| regions[&first].cell.clone());
    if let Some(cell) = cell {
        return cell.free();
    }
    let region = REGIONS
        .with_borrow_mut(|regions| regions.remove(&first))
        .unwrap();
    let memory = core::ptr::with_exposed_provenance_mut(first);
    // SAFETY: It was allocated so.
    unsafe { std::alloc::dealloc(memory, region.layout) };
}

fn are_gone() -> bool {
    let readers = READERS.with_borrow(|readers| readers.clone());
    is_weak("grace") || readers.is_none_or(|readers| readers.are_gone())
}

fn reclaim() {
    for first in WAITING.take() {
        free(first);
    }
}

/// Memory from a list is freed after a grace period: now, or when somebody asks.
pub(crate) unsafe fn kvfree_call_rcu(_head: *mut c_void, memory: *mut c_void) {
    WAITING.with_borrow_mut(|waiting| waiting.push(memory.addr()));
    if are_gone() {
        reclaim();
    }
}

pub(crate) fn synchronize_rcu() {
    while !are_gone() {
        thread::yield_now();
    }
    reclaim();
}

pub(crate) struct PreemptOff(Option<Reading>);

impl PreemptOff {
    pub(crate) fn new() -> Self {
        let readers = READERS.with_borrow(|readers| readers.clone());
        Self(readers.map(|readers| readers.read_side()))
    }
}

pub(crate) struct Flags;

pub(crate) const GFP_KERNEL: Flags = Flags;

pub(crate) struct KBox<T>(*mut T);

impl<T> KBox<T> {
    pub(crate) fn new(value: T, _flags: Flags) -> Result<Self, AllocError> {
        let memory = allocate(Layout::new::<T>())?.cast::<T>();
        // SAFETY: There is room for it.
        unsafe { memory.write(value) };
        Ok(Self(memory))
    }

    pub(crate) fn into_raw(this: Self) -> *mut T {
        core::mem::ManuallyDrop::new(this).0
    }

    pub(crate) unsafe fn from_raw(raw: *mut T) -> Self {
        Self(raw)
    }
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: It is there until this is dropped.
        unsafe { &*self.0 }
    }
}

impl<T> Drop for KBox<T> {
    fn drop(&mut self) {
        // SAFETY: It is there, and nobody else has it.
        unsafe { self.0.drop_in_place() };
        free(self.0.addr());
    }
}

pub(crate) struct KVVec<T> {
    first: *mut T,
    len: usize,
    capacity: usize,
}

impl<T> KVVec<T> {
    pub(crate) fn with_capacity(capacity: usize, _flags: Flags) -> Result<Self, AllocError> {
        let first = allocate(Layout::array::<T>(capacity).map_err(|_| AllocError)?)?.cast();
        LISTS.set((LISTS.get().0 + 1, capacity));
        Ok(Self {
            first,
            len: 0,
            capacity,
        })
    }

    pub(crate) fn push(&mut self, value: T, _flags: Flags) -> Result<(), AllocError> {
        assert!(self.len < self.capacity);
        // SAFETY: There is room for one more.
        unsafe { self.first.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    pub(crate) fn into_raw_parts(self) -> (*mut T, usize, usize) {
        let list = core::mem::ManuallyDrop::new(self);
        (list.first, list.len, list.capacity)
    }
}

impl<T> Deref for KVVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: So many there are.
        unsafe { core::slice::from_raw_parts(self.first, self.len) }
    }
}

impl<T> DerefMut for KVVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: So many there are.
        unsafe { core::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

impl<T> Drop for KVVec<T> {
    fn drop(&mut self) {
        // SAFETY: They are there, and nobody else has them.
        unsafe { core::ptr::from_mut(&mut **self).drop_in_place() };
        free(self.first.addr());
    }
}
