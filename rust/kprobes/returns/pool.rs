// SPDX-License-Identifier: GPL-2.0

//! The pool of return instances of a return probe, in place of C's `struct rethook`.
//!
//! A pool consists of blocks: memory for up to 47 return instances each, or 15 on 32-bit machines.
//! The first 64 bytes are the block's own: only a CPU that takes or gives back an instance of the
//! block, or gives the block up, writes to them. The instances follow, in the same allocation of
//! `kvmalloc()`.
//!
//! A pool gets more blocks, and keeps them until it is freed. It is freed after its probe was
//! unregistered and its last call has ended, which may be long after; see [`PoolStage`].

use super::*;

/// If a block for each CPU would have fewer instances, a pool grows by fewer blocks.
const MIN_BLOCK_INSTANCES: usize = 8;

/// The most instances of a pool, as in C.
const MAX_INSTANCES: usize = bindings::RUST_KPROBES_MAX_CALLS as usize;

/// A cache line of the memory of a block.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// A block, followed by its instances.
///
/// # Invariants
///
/// It begins the memory of a `KVVec` of `lines` lines. In the other lines are `count` instances of
/// `size` bytes each, those of `bitmap`.
#[repr(C, align(64))]
pub(super) struct Block {
    bitmap: Bitmap,
    /// The next older block of the pool.
    next: BlockPtr,
    lines: usize,
    size: usize,
    count: usize,
    /// Whether an instance was ever taken.
    used: AtomicBool,
}

const _: () = assert!(size_of::<Block>() == LINE && align_of::<Block>() == LINE);

impl AsRef<Bitmap> for Block {
    #[inline(always)]
    fn as_ref(&self) -> &Bitmap {
        &self.bitmap
    }
}

impl Block {
    /// Makes a block with `count` free instances.
    fn new(
        count: usize,
        size: usize,
        pool: NonNull<Pool>,
        next: BlockPtr,
    ) -> Result<NonNull<Self>, Refusal> {
        let lines = 1 + (count * size).div_ceil(LINE);
        let memory = KVVec::from_elem(Line([0; LINE]), lines, GFP_KERNEL);
        let mut memory = ManuallyDrop::new(memory?);
        let block = NonNull::new(memory.as_mut_ptr().cast::<Self>()).ok_or(Refusal::NoMemory)?;
        let new = Self {
            bitmap: Bitmap::new(count),
            next,
            lines,
            size,
            count,
            used: AtomicBool::new(false),
        };
        // SAFETY: The memory has a first line, which has room for a block.
        unsafe { block.write(new) };
        for index in 0..count as u32 {
            // SAFETY: The lines after the first have room for `count` instances.
            unsafe { Self::instance_at(block, index).write(Instance::new(block, index, pool)) };
        }
        Ok(block)
    }

    /// Returns the address of instance `index` of the block.
    ///
    /// # Safety
    ///
    /// The block is not freed yet, and has more than `index` instances.
    #[inline(always)]
    unsafe fn instance_at(block: NonNull<Self>, index: u32) -> NonNull<Instance> {
        // SAFETY: By the precondition; `size` never changes.
        let size = unsafe { (*block.as_ptr()).size };
        // The offset does not overflow. The compiler cannot know that, and a hit cannot panic.
        let offset = LINE.wrapping_add((index as usize).wrapping_mul(size));
        // SAFETY: By the precondition the offset is within the block's memory.
        unsafe { block.byte_add(offset).cast() }
    }

    /// # Safety
    ///
    /// The caller has taken the instance from the bitmap of the block, which outlives `'a`.
    #[inline(always)]
    unsafe fn taken<'a>(block: NonNull<Self>, index: u32) -> Taken<'a> {
        // SAFETY: By the invariant an instance is there, and by the precondition it is taken.
        unsafe { Taken::new(Self::instance_at(block, index).as_ref()) }
    }
}

/// A pointer to a block, or NULL.
///
/// # Invariants
///
/// The block belongs to the same pool as the pointer. So it is not freed before the pool.
struct BlockPtr(AtomicPtr<Block>);

impl BlockPtr {
    /// Makes a NULL pointer.
    fn empty() -> Self {
        // INVARIANT: NULL is no block.
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Returns the block.
    #[inline(always)]
    fn get(&self) -> Option<&Block> {
        // SAFETY: By the invariant the block is not freed before the pool, which is borrowed.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Stores a block of the same pool here. Returns the previous block.
    fn put(&self, block: NonNull<Block>) -> Option<&Block> {
        // INVARIANT: The caller passes a block of the same pool. Where there is none yet, a store
        // does, and locks no cache line.
        if self.get().is_none() {
            self.0.store(block.as_ptr(), Ordering::Release);
            return None;
        }
        let before = self.0.swap(block.as_ptr(), Ordering::AcqRel);
        // SAFETY: By the invariant the block is not freed before the pool, which is borrowed.
        unsafe { before.as_ref() }
    }
}

/// The pool of a return probe.
#[repr(C)]
pub(super) struct Pool {
    /// The owner, at the offset that inlined C code reads.
    pub(super) probe: NonNull<ReturnProbe>,
    is_killed: AtomicBool,
    /// Only the worker uses this, with the lock held.
    stage: Cell<PoolStage>,
    /// Whether the worker was asked to look at this pool.
    requested: AtomicBool,
    lost: Lost,
    newest: BlockPtr,
    /// The block of each CPU: it owns this block, or shares it if there are too few blocks.
    own: KVVec<BlockPtr>,
    /// The bytes of an instance.
    size: usize,
}

// Modules have `get_kretprobe()` inlined.
const _: () = assert!(offset_of!(Pool, probe) == offset_of!(bindings::rethook, data));

/// Returns how many numbers CPUs have, how many CPUs are possible, and how many are online.
fn cpus() -> [usize; 3] {
    let mut counts = [0; 3];
    // SAFETY: `counts` has room for three numbers.
    unsafe { bindings::rust_kprobes_cpus(counts.as_mut_ptr()) };
    counts
}

/// Returns the number of instances of a new pool if the client's `maxactive` is not above zero.
pub(super) fn default_maxactive() -> usize {
    let [_, possible, _] = cpus();
    (2 * possible).max(10)
}

/// Returns the limit of automatic growth. A client that asks for more gets more.
fn growth_limit() -> usize {
    // SAFETY: An aligned variable of `returns.c`, which all code changes by single stores.
    let limit = unsafe { AtomicI32::from_ptr(&raw mut bindings::rust_kprobes_growth_limit) };
    limit.load(Ordering::Relaxed).try_into().unwrap_or_default()
}

impl Pool {
    /// Makes a pool for a probe, with `count` instances and `data` bytes of client data for each.
    pub(super) fn new(
        probe: &'static ReturnProbe,
        count: usize,
        data: usize,
    ) -> Result<NonNull<Self>, Refusal> {
        let [numbers, possible, _] = cpus();
        let mut own = KVVec::with_capacity(numbers, GFP_KERNEL)?;
        for _ in 0..numbers {
            own.push(BlockPtr::empty(), GFP_KERNEL)?;
        }
        let pool = Self {
            probe: NonNull::from(probe),
            is_killed: AtomicBool::new(false),
            stage: Cell::new(PoolStage::Owned),
            requested: AtomicBool::new(false),
            lost: Lost::none(),
            newest: BlockPtr::empty(),
            own,
            size: size_of::<Instance>() + data.next_multiple_of(size_of::<usize>()),
        };
        let pool = KBox::new(pool, GFP_KERNEL)?;
        let pool = NonNull::new(KBox::into_raw(pool)).ok_or(Refusal::NoMemory)?;
        // SAFETY: The pool was made just now.
        let added = unsafe { pool.as_ref() }.add(count, possible);
        // SAFETY: The pool was made just now, and no other code has it.
        let listed = added.and_then(|()| unsafe { pools::add(pool) });
        listed.map(|()| pool).inspect_err(|_| {
            // SAFETY: The pool came from a box, and is in no list.
            drop(unsafe { KBox::from_raw(pool.as_ptr()) });
        })
    }

    /// Adds `more` instances, in at least `least` blocks if there are so many. Only one task at a
    /// time may call this.
    fn add(&self, more: usize, least: usize) -> Result<(), Refusal> {
        if self.totals().all.saturating_add(more) > MAX_INSTANCES {
            return Err(Refusal::NoMemory);
        }
        let (blocks, mut left) = (growth::blocks(more, self.size, least), more);
        for number in 0..blocks {
            let count = left.div_ceil(blocks - number);
            let next = BlockPtr(AtomicPtr::new(self.newest.0.load(Ordering::Relaxed)));
            let block = Block::new(count, self.size, NonNull::from(self), next)?;
            self.newest.put(block);
            left -= count;
        }
        Ok(())
    }

    /// Takes an instance from this CPU's own block, if one is free there.
    #[inline(always)]
    pub(super) fn take(&self, cpu: usize) -> Option<Taken<'_>> {
        let block = self.own.get(cpu)?.get()?;
        let index = block.bitmap.take().ok()?;
        // SAFETY: The instance was taken just now, and the block is not freed before the pool.
        Some(unsafe { Block::taken(NonNull::from(block), index) })
    }

    /// Takes an instance from a block that no CPU owns, and makes this CPU the owner. If there is
    /// none, takes an instance from any block.
    pub(super) fn search(&self, cpu: usize) -> Option<Taken<'_>> {
        let own = self.own.get(cpu)?;
        let claimed = bitmap::claim(self.blocks());
        let found = claimed.map_or_else(|| bitmap::take(|| self.blocks()), Ok);
        let (block, index) = found.map_err(|returns| self.lose(returns)).ok()?;
        // If this CPU has no block, there are fewer blocks than CPUs: it shares one.
        if claimed.is_some() || own.get().is_none() {
            if let Some(before) = own.put(NonNull::from(block)) {
                before.bitmap.disown();
            }
        } else if block.bitmap.len() == 0 {
            self.request_service();
        }
        if !block.used.load(Ordering::Relaxed) {
            block.used.store(true, Ordering::Relaxed);
            if self.lost.note_use(|| self.totals().returns) {
                self.request_service();
            }
        }
        // SAFETY: The instance was taken just now, and the block is not freed before the pool.
        Some(unsafe { Block::taken(NonNull::from(block), index) })
    }

    /// Counts a lost call.
    fn lose(&self, returns: u16) {
        self.lost.count(returns, self.totals().all);
        self.request_service();
    }

    /// Returns all blocks, the newest first.
    fn blocks(&self) -> impl Iterator<Item = &Block> {
        core::iter::successors(self.newest.get(), |block| block.next.get())
    }

    /// Asks the worker to look at this pool. The worker sees earlier stores of this CPU.
    fn request_service(&self) {
        if !self.requested.swap(true, Ordering::AcqRel) {
            queue_service();
        }
    }

    /// Returns the sums over all blocks. Only the sum of the returns overflows, and it wraps. The
    /// compiler cannot know that, and a hit cannot panic.
    pub(super) fn totals(&self) -> Totals {
        self.blocks().fold(Totals::default(), |before, block| {
            let is_used = block.used.load(Ordering::Relaxed);
            let used = if is_used { block.count } else { 0 };
            Totals {
                all: before.all.wrapping_add(block.count),
                free: before.free.wrapping_add(block.bitmap.len()),
                used: before.used.wrapping_add(used),
                returns: before.returns.wrapping_add(block.bitmap.returns()),
            }
        })
    }

    /// Adds instances if the worker was asked to look and more are needed. Returns the stages of
    /// the pool before and after this. Only the worker calls this, with the lock held.
    pub(super) fn service(&self) -> (PoolStage, PoolStage) {
        if self.requested.swap(false, Ordering::AcqRel) && !self.is_killed() {
            let more = self.lost.more(growth_limit(), || self.totals());
            // Without memory, the next lost call asks again.
            let _ = self.add(more, cpus()[2].min(more.div_ceil(MIN_BLOCK_INSTANCES)));
        }
        let stage = self.stage.get().next(self.is_killed(), || {
            let totals = self.totals();
            totals.free == totals.all
        });
        (self.stage.replace(stage), stage)
    }

    /// Notes that the owner is unregistered. Hits do not find the pool any more; hits that have
    /// found it may take instances until the end of their read-side sections of RCU.
    pub(super) fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        queue_service();
    }

    /// Returns whether the pool was killed.
    #[inline(always)]
    pub(super) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// Adds instances, so that `count` calls find one at once. The caller has the lock.
    pub(super) fn reserve(&self, count: usize) -> Result<(), Refusal> {
        self.add(count.saturating_sub(self.totals().all), cpus()[1])
    }

    /// Returns the owner, unless the probe was unregistered. The owner is not freed for a grace
    /// period after that, so not while preemption is off.
    #[inline(always)]
    pub(super) fn owner<'a>(&self, _no_preempt: &'a PreemptOff) -> Option<&'a ReturnProbe> {
        if self.is_killed() {
            return None;
        }
        // SAFETY: The client frees its probe only after that grace period, and preemption is off.
        Some(unsafe { self.probe.as_ref() })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut next = self.newest.0.load(Ordering::Relaxed);
        // SAFETY: By the invariant this is a block of the pool, and it was not freed yet.
        while let Some(block) = unsafe { next.as_ref() } {
            let lines = block.lines;
            let memory = next.cast::<Line>();
            next = block.next.0.load(Ordering::Relaxed);
            // SAFETY: By the invariant of the block, the memory is such a vector; only this frees
            // it.
            drop(unsafe { KVVec::from_raw_parts(memory, 0, lines) });
        }
    }
}

impl Taken<'_> {
    /// Gives the instance back. If the pool may have been killed, the caller asks the worker.
    #[inline(always)]
    pub(super) fn give_back(self) {
        let instance = self.instance();
        // SAFETY: A block is not freed while an instance is taken from it, and this one is taken.
        unsafe { instance.block.as_ref() }
            .bitmap
            .give(instance.ticket);
    }

    /// Gives the instance back to a pool that may have been killed.
    pub(super) fn give_back_maybe_killed(self, _no_preempt: &PreemptOff) {
        // The pool is not freed for a grace period after its last instance was given back.
        let pool = self.instance().pool();
        self.give_back();
        if pool.is_killed() {
            pool.request_service();
        }
    }
}
