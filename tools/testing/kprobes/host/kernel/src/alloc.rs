// SPDX-License-Identifier: GPL-2.0

//! Memory: any allocation may be refused, see [`faults`](crate::faults), and what is freed is told.

use crate::base::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

pub struct Flags(());

pub const GFP_KERNEL: Flags = Flags(());

/// How much there is of something.
#[derive(Clone, Copy, Debug, Default)]
pub struct There {
    pub count: usize,
    pub asked: usize,
    /// How many bytes the kernel's allocator takes for that.
    pub taken: usize,
}

static THERE: Mutex<BTreeMap<&str, There>> = Mutex::new(BTreeMap::new());

/// How many bytes `kmalloc()` takes for so many. More than two pages it leaves to the allocator of
/// pages, which has them in powers of two.
pub fn taken(bytes: usize) -> usize {
    match bytes {
        65..=96 => 96,
        129..=192 => 192,
        _ => bytes.next_power_of_two().max(8),
    }
}

fn refusable() -> Result<(), AllocError> {
    if faults::refuses(Call::Allocate) {
        return Err(AllocError);
    }
    Ok(())
}

/// Memory for something of type `T`, so many bytes.
fn memory<T: ?Sized>(bytes: usize) -> Result<(), AllocError> {
    refusable()?;
    let mut there = THERE.lock().unwrap();
    let those = there.entry(type_name::<T>()).or_default();
    those.count += 1;
    those.asked += bytes;
    those.taken += taken(bytes);
    Ok(())
}

fn gone<T: ?Sized>(bytes: usize) {
    let mut there = THERE.lock().unwrap();
    let those = there.entry(type_name::<T>()).or_default();
    those.count -= 1;
    those.asked -= bytes;
    those.taken -= taken(bytes);
}

/// How much of something, by the end of its type's name, has memory.
pub fn there(what: &str) -> usize {
    all_there(&[what]).count
}

pub fn all_there(what: &[&str]) -> There {
    let there = THERE.lock().unwrap();
    let ends = |name: &str| what.iter().any(|what| name.ends_with(what));
    let those = there.iter().filter(|(name, _)| ends(name));
    those.fold(There::default(), |all, (_, those)| There {
        count: all.count + those.count,
        asked: all.asked + those.asked,
        taken: all.taken + those.taken,
    })
}

pub struct KBox<T>(Box<Told<T>>);

#[repr(transparent)]
struct Told<T>(T);

impl<T> Drop for Told<T> {
    fn drop(&mut self) {
        gone::<T>(size_of::<T>());
        events::note(Event::Freed(type_name::<T>()));
        let first = core::ptr::from_ref(self).addr();
        text::forget_owner(first..first + size_of::<T>());
    }
}

impl<T> KBox<T> {
    pub fn new(value: T, _flags: Flags) -> Result<Self, AllocError> {
        memory::<T>(size_of::<T>())?;
        Ok(Self(Box::new(Told(value))))
    }

    /// Leaves it to the caller to free it.
    pub fn into_raw(this: Self) -> *mut T {
        Box::into_raw(this.0).cast()
    }

    /// # Safety
    ///
    /// The pointer came from [`into_raw`](Self::into_raw), and nobody else frees it.
    pub unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: By the precondition; the wrapper is transparent.
        Self(unsafe { Box::from_raw(raw.cast()) })
    }
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0 .0
    }
}

/// A list in memory that is aligned to its length, rounded up, as the kernel's allocator does for
/// powers of two.
pub struct KVVec<T> {
    first: *mut T,
    len: usize,
    capacity: usize,
}

/// From another allocator in the kernel.
pub type KVec<T> = KVVec<T>;

// SAFETY: It owns what it leads to.
unsafe impl<T: Send> Send for KVVec<T> {}
// SAFETY: As above.
unsafe impl<T: Sync> Sync for KVVec<T> {}

fn layout<T>(capacity: usize) -> Layout {
    let array = Layout::array::<T>(capacity).expect("a list of that length");
    let align = array.size().next_power_of_two().max(16);
    array.align_to(align).expect("a power of two")
}

impl<T> KVVec<T> {
    #[expect(clippy::new_without_default, reason = "as in the kernel crate")]
    pub const fn new() -> Self {
        Self {
            first: core::ptr::dangling_mut(),
            len: 0,
            capacity: 0,
        }
    }

    pub fn with_capacity(capacity: usize, _flags: Flags) -> Result<Self, AllocError> {
        let mut list = Self::new();
        list.reserve(capacity.max(1))?;
        Ok(list)
    }

    pub fn from_elem(value: T, len: usize, flags: Flags) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut list = Self::with_capacity(len, flags)?;
        for _ in 0..len {
            list.push(value.clone(), GFP_KERNEL)?;
        }
        Ok(list)
    }

    /// # Safety
    ///
    /// It was one of such a capacity that nobody else has, with so many elements.
    pub unsafe fn from_raw_parts(first: *mut T, len: usize, capacity: usize) -> Self {
        Self {
            first,
            len,
            capacity,
        }
    }

    pub fn push(&mut self, value: T, _flags: Flags) -> Result<(), AllocError> {
        if self.len == self.capacity {
            self.reserve((2 * self.capacity).max(4))?;
        }
        // SAFETY: There is room for one more.
        unsafe { self.first.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    pub fn extend_from_slice(&mut self, other: &[T], _flags: Flags) -> Result<(), AllocError>
    where
        T: Clone,
    {
        let mut more = other.iter().cloned();
        more.try_for_each(|value| self.push(value, GFP_KERNEL))
    }

    /// One more at a place in the list, if there is room for it without getting memory.
    pub fn insert_within_capacity(&mut self, index: usize, value: T) -> Result<(), T> {
        if self.len == self.capacity || index > self.len {
            return Err(value);
        }
        let _ = self.push(value, GFP_KERNEL);
        self[index..].rotate_right(1);
        Ok(())
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for index in 0..self.len {
            if keep(&mut self[index]) {
                self.swap(kept, index);
                kept += 1;
            }
        }
        while self.len > kept {
            self.len -= 1;
            // SAFETY: It was there, and is not any more.
            unsafe { self.first.add(self.len).drop_in_place() };
        }
    }

    fn reserve(&mut self, capacity: usize) -> Result<(), AllocError> {
        memory::<[T]>(capacity * size_of::<T>())?;
        // SAFETY: The layout is not empty.
        let first = unsafe { std::alloc::alloc(layout::<T>(capacity)) }.cast::<T>();
        // SAFETY: There is room for that many in both.
        unsafe { first.copy_from_nonoverlapping(self.first, self.len) };
        let before = core::mem::replace(&mut self.first, first);
        if self.capacity != 0 {
            // SAFETY: It was allocated so.
            unsafe { std::alloc::dealloc(before.cast(), layout::<T>(self.capacity)) };
            gone::<[T]>(self.capacity * size_of::<T>());
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Leaves it to the caller to free it, by `kvfree()`.
    pub fn into_raw_parts(self) -> (*mut T, usize, usize) {
        let list = core::mem::ManuallyDrop::new(self);
        gone::<[T]>(list.capacity * size_of::<T>());
        let known = (list.first.addr(), layout::<T>(list.capacity));
        LOOSE.lock().unwrap().insert(known.0, known.1);
        (list.first, list.len, list.capacity)
    }
}

impl<T> Drop for KVVec<T> {
    fn drop(&mut self) {
        if self.capacity != 0 {
            gone::<[T]>(self.capacity * size_of::<T>());
            // SAFETY: So many there are, and nobody uses them any more.
            unsafe { core::ptr::slice_from_raw_parts_mut(self.first, self.len).drop_in_place() };
            // SAFETY: It was allocated so.
            unsafe { std::alloc::dealloc(self.first.cast(), layout::<T>(self.capacity)) };
        }
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

impl<'a, T> IntoIterator for &'a KVVec<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Copy> IntoIterator for KVVec<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        let elements: Vec<T> = self.iter().copied().collect();
        elements.into_iter()
    }
}

/// What its owner frees by its address alone.
static LOOSE: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());

pub struct Waiting(*mut u8, Layout);

// SAFETY: It is nobody's but ours.
unsafe impl Send for Waiting {}

/// Memory from [`KVVec::into_raw_parts`] is to be freed after a grace period.
pub(crate) fn hand_over(first: *mut u8) {
    let layout = LOOSE.lock().unwrap().remove(&first.addr());
    match layout {
        Some(layout) => WAITING.lock().unwrap().push(Waiting(first, layout)),
        None => events::wrong(format!("{first:p} is freed, which is not ours")),
    }
}

pub(crate) fn handed_over() -> Vec<Waiting> {
    core::mem::take(&mut WAITING.lock().unwrap())
}

pub(crate) fn free_all(waiting: Vec<Waiting>) {
    for Waiting(first, layout) in waiting {
        // SAFETY: It was allocated so, and nobody reads it any more.
        unsafe { std::alloc::dealloc(first, layout) };
    }
}
