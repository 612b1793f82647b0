// SPDX-License-Identifier: GPL-2.0

//! Probe points, and their table: one point for each probed address, which may have several probes.
//!
//! Hits read a point on any CPU without a lock, while one task changes the point. So each field
//! that changes is an atomic.
//!
//! C counterpart: the aggregate probe (`alloc_aggr_kprobe()`) and `kprobe_table` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use super::{
    optimizer::{
        Decision,
        Jump, //
    },
    queue::{
        Node,
        Nodes, //
    }, //
};
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use crate::contract::Jumps;
use crate::{
    arch::Arch,
    contract::Machine,
    prelude::*,
    sys::{
        flags::AtomicArmed,
        preempt::PreemptOff,
        probe::{
            Chain,
            Probe, //
        }, //
    },
    table::{
        Entry,
        Retired,
        Table,
        Writer, //
    }, //
};
use core::{
    cell::Cell,
    ops::Deref,
    sync::atomic::{
        AtomicBool,
        Ordering, //
    }, //
};
#[cfg(any(CONFIG_DEBUG_FS, CONFIG_RUST_KPROBES_JUMPS))]
use {
    crate::sys::sort,
    kernel::prelude::*, //
};

/// The prepared instruction of a point: its original bytes, and how it is executed.
pub(crate) type ArchInsn = <Arch as Machine>::ArchInsn;

/// The kind of a probe point: how it is hit.
pub(crate) enum PointKind {
    /// By a breakpoint, which replaces this instruction.
    Breakpoint(ArchInsn),
    /// By ftrace: the point is the call of ftrace at the entry of a function.
    Ftrace,
}

/// A flag of a point. Only the holder of the registry's lock changes it. Hits may see it late.
pub(crate) struct PointFlag(AtomicBool);

impl PointFlag {
    /// Returns whether the flag is set.
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets or clears the flag.
    pub(crate) fn set(&self, holds: bool) {
        self.0.store(holds, Ordering::Relaxed);
    }
}

/// A probe point. `kind` is the first field, so the point and its kind have the same address, and a
/// hit keeps that address in one register.
#[repr(C)]
pub(crate) struct Point {
    /// How the point is hit.
    pub(crate) kind: PointKind,
    /// The probes.
    pub(crate) probes: Chain,
    /// How the point is armed.
    pub(crate) armed: AtomicArmed,
    /// Whether ftrace calls our IPMODIFY user here too, only to keep other such users out.
    pub(crate) ipmodify_held: PointFlag,
    /// Whether the point's text was freed.
    pub(crate) gone: PointFlag,
    /// Whether the point ever had a jprobe. Then a CPU may run the jprobe's handler after the
    /// breakpoint was removed and all CPUs have synchronized.
    pub(crate) had_jprobe: PointFlag,
    /// The point's jump, or the reason why it has none.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) jump_decision: Decision,
}

// Each probed address has a point, so points are small.
const _: () = assert!(size_of::<Point>() <= size_of::<PointKind>() + 48);

impl Point {
    /// Makes an unarmed point with its first probe.
    pub(crate) fn new(kind: PointKind, first: &'static Probe) -> Self {
        let flag = |holds| PointFlag(AtomicBool::new(holds));
        Self {
            kind,
            probes: Chain::of(first),
            armed: AtomicArmed::new(),
            ipmodify_held: flag(false),
            gone: flag(false),
            had_jprobe: flag(first.is_jprobe()),
            #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
            jump_decision: Decision::new(),
        }
    }

    /// Returns whether ftrace hits the point.
    pub(crate) fn is_ftrace(&self) -> bool {
        matches!(self.kind, PointKind::Ftrace)
    }

    /// Returns the prepared instruction, if a breakpoint hits the point.
    pub(crate) fn prepared(&self) -> Option<&ArchInsn> {
        match &self.kind {
            PointKind::Breakpoint(prepared) => Some(prepared),
            PointKind::Ftrace => None,
        }
    }

    /// Returns whether any of its probes is enabled, and its text was not freed.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.gone.get() && self.probes.iter().any(Probe::is_enabled)
    }
}

/// The handle of a probe point: the point, and its address.
#[derive(Clone, Copy)]
pub(crate) struct PointRef<'a> {
    /// The address of the point.
    pub(crate) at: TextAddr,
    /// The point, for as long as the points are borrowed.
    pub(crate) point: &'a Point,
}

impl Deref for PointRef<'_> {
    type Target = Point;

    fn deref(&self) -> &Point {
        self.point
    }
}

static POINTS: Table<Point> = Table::empty();

/// Finds the point at an address without the registry's lock. The caller stays on the CPU.
#[inline(always)]
pub(crate) fn find(at: TextAddr, no_preempt: &PreemptOff) -> Option<&Point> {
    POINTS.find(at, no_preempt)
}

/// All probe points, for the holder of the registry's lock.
pub(crate) struct Points {
    table: Writer<Point>,
    /// The number of points that have a jump in the text.
    pub(crate) jumps: Cell<usize>,
}

impl Points {
    /// Makes an empty set of points.
    pub(crate) const fn new() -> Self {
        Self {
            table: Writer::of(&POINTS),
            jumps: Cell::new(0),
        }
    }

    /// Returns the addresses of all points, in order.
    #[cfg(any(CONFIG_DEBUG_FS, CONFIG_RUST_KPROBES_JUMPS))]
    pub(crate) fn in_order(&self) -> Result<KVVec<TextAddr>, Refusal> {
        let mut all = KVVec::with_capacity(self.len(), GFP_KERNEL)?;
        for point in self.iter() {
            all.push(point.at, GFP_KERNEL)?;
        }
        sort::ascending(&mut all);
        Ok(all)
    }

    /// Returns the number of points.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns the point at an address.
    pub(crate) fn get(&self, at: TextAddr) -> Option<PointRef<'_>> {
        let point = self.table.get(at)?;
        Some(PointRef { at, point })
    }

    /// Returns the point of a registered probe.
    pub(crate) fn of(&self, probe: &Probe) -> Result<PointRef<'_>, Refusal> {
        let point = self.get(probe.at()).filter(|point| point.probes.has(probe));
        point.ok_or(Refusal::NotRegistered)
    }

    /// Returns all points, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PointRef<'_>> {
        let entries = self.table.iter();
        entries.map(|entry| PointRef {
            at: entry.at,
            point: &entry.value,
        })
    }

    /// Inserts a point, or replaces a point whose text was freed. The new point takes over the
    /// probes of the old one, which stay gone. `retired` gets the old point.
    pub(crate) fn insert(
        &mut self,
        at: TextAddr,
        point: Point,
        retired: &mut Retired<Point>,
    ) -> Result<(), Refusal> {
        let new = Entry::new(at, point)?;
        match self.table.get(at) {
            None => self.table.insert(new),
            Some(old) => {
                new.value.probes.append(&old.probes);
                retired.push(self.table.replace(new)?);
                Ok(())
            }
        }
    }

    /// Removes a point if it has no probe. Hits may see it until `retired` was waited for.
    pub(crate) fn remove(&mut self, at: TextAddr, retired: &mut Retired<Point>) {
        if self.get(at).is_some_and(|point| point.probes.is_empty()) {
            let removed = self.table.remove(at);
            removed.into_iter().for_each(|point| retired.push(point));
        }
    }

    /// Removes all points that have no probe.
    pub(crate) fn remove_empty(&mut self, retired: &mut Retired<Point>) {
        let is_empty = |point: &Point| point.probes.is_empty();
        self.table.remove_all(is_empty, retired);
        self.table.shrink();
    }

    /// Makes the array of the table smaller if it is too large for its points.
    pub(crate) fn shrink(&mut self) {
        self.table.shrink();
    }
}

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
impl Points {
    /// Returns the points before `at` whose jumps would overwrite `at`.
    pub(crate) fn jumps_that_may_cover(&self, at: TextAddr) -> impl Iterator<Item = PointRef<'_>> {
        let before =
            (1..Arch::MAX_OPTIMIZED_LEN).filter_map(move |distance| at.before(distance).ok());
        before.filter_map(|at| self.get(at))
    }

    /// Adds `difference` to the number of jumps in the text.
    pub(crate) fn count_jumps(&self, difference: isize) {
        let jumps = self.jumps.get();
        self.jumps.set(jumps.saturating_add_signed(difference));
    }
}

#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
impl Nodes for Points {
    fn node(&self, at: TextAddr) -> Option<&Node> {
        let jump: &Jump = self.table.get(at)?.jump_decision.jump()?;
        Some(&jump.node)
    }
}
