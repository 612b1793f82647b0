// SPDX-License-Identifier: GPL-2.0

//! Registration.
//!
//! Probes are registered in batches; one probe is a batch of one. The probes of a batch are
//! checked, prepared and inserted in the order of the array, so that a client sees the same as if
//! it had registered them one by one: the errno of the first failure, the fields that were written,
//! and the order of handlers at one address. Only arming comes last: all breakpoints are written
//! together. The registry is unlocked every [`CHUNK`] probes, so that other tasks can lock it.
//!
//! Probes at one address share its point: the breakpoint and the slot. The newest is called first,
//! and a jprobe, of which there can be one, last. The point is armed while one of them is enabled.
//!
//! C counterpart: `register_kprobe()` and `register_aggr_kprobe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::{
    arming::Chunk,
    check,
    unregister,
    ProbePtr,
    CHUNK, //
};
use crate::{
    model::target::ProbeAddr,
    registry::{
        batch_cache::BatchCache,
        prelude::*,
        refused::Refused, //
    },
    sys::{
        prelude::GFP_KERNEL,
        report,
        text, //
    },
    table::Retired, //
};

/// A callback of return probes or jprobes for probe `number` of a batch, before it is registered:
/// may refuse it.
pub(crate) type BeforeEach<'a> = dyn FnMut(&Points, usize, ProbeAddr) -> Result<(), Refusal> + 'a;

/// Registers all probes, or none.
pub(crate) fn all(clients: &[ProbePtr]) -> Result<(), Refusal> {
    all_or_none(clients, &mut |_, _, _| Ok(()))
}

/// Registers all probes, or none. `before_each` may refuse one.
pub(crate) fn all_or_none(
    clients: &[ProbePtr],
    before_each: &mut BeforeEach<'_>,
) -> Result<(), Refusal> {
    until_refused(clients, before_each).map_err(|(count, refusal)| {
        unregister::all(clients.get(..count).unwrap_or_default());
        refusal
    })
}

/// Registers the probes before the first one that is refused. The error has their number: the
/// caller unregisters all of them, as C's `register_kprobes()` does. Breakpoints of the chunk
/// that has the refused probe are not written.
pub(crate) fn until_refused(
    clients: &[ProbePtr],
    before_each: &mut BeforeEach<'_>,
) -> Result<(), (usize, Refusal)> {
    let mut done = 0;
    for clients in clients.chunks(CHUNK) {
        // Points whose text was freed. They are freed after the registry is unlocked.
        let mut replaced = Retired::new();
        let registry = &mut *Registry::lock();
        let mut chunk = Chunk::with_room(clients.len()).map_err(|refusal| (done, refusal))?;
        for client in clients {
            let probe = client.ok_or((done, Refusal::NoProbe))?;
            let target = probe.target();
            let addr = target.and_then(|target| check::resolve(target, &mut chunk.cache));
            let found = addr.as_ref().ok().map(|addr| addr.at);
            let registered = addr.and_then(|addr| {
                before_each(&registry.points, done, addr)?;
                register_one(registry, probe, addr, &mut chunk, &mut replaced)
            });
            if let Err(refusal) = registered {
                registry.refused.note(Refused::new(probe, found, refusal));
                return Err((done, refusal));
            }
            done += 1;
        }
        chunk.arm(registry);
    }
    Ok(())
}

/// Registers one probe, except for writing its breakpoint.
fn register_one(
    registry: &mut Registry,
    probe: &'static Probe,
    addr: ProbeAddr,
    chunk: &mut Chunk,
    replaced: &mut Retired<Point>,
) -> Result<(), Refusal> {
    // The value of `change()` is dropped at the end of this statement, and unlocks the text.
    let kind = add_or_prepare(&mut registry.change(), addr, probe, &mut chunk.cache)?;
    if let Some(kind) = kind {
        let point = Point::new(kind, probe);
        let inserted = registry.points.insert(addr.at, point, replaced);
        inserted.inspect_err(|_| probe.reset_list())?;
        // The start of a function is known anyway.
        if !addr.on_entry {
            chunk.cache.note_start(addr.at);
        }
    }
    arm_or_defer(registry, addr.at, probe, chunk)
        .inspect_err(|_| unregister::undo_registration(registry, probe))
}

/// Adds a probe to the point at its address. If there is none, or one whose text was freed,
/// prepares the instruction and returns the kind of the point that is needed.
fn add_or_prepare(
    change: &mut Change<'_>,
    addr: ProbeAddr,
    probe: &'static Probe,
    cache: &mut BatchCache,
) -> Result<Option<PointKind>, Refusal> {
    let at = addr.at;
    let point = refuse_registered(change.points, at, probe)?;
    probe.begin_registration(at, addr.on_entry);
    let start = check::check_address(change.images, at, cache)?;
    // `None`: ftrace will hit the point.
    probe.set(Flag::Ftrace, start.is_none());
    if let Some(point) = point {
        can_share(change, point, probe)?;
    }
    let Some(point) = point.filter(|point| !point.gone.get()) else {
        return prepare_insn(change, at, start, probe).map(Some);
    };
    // The opcode is set before the probe is in the chain: on s390, the exit from an interrupt looks
    // up a probe by address and reads its opcode.
    if let Some(prepared) = point.prepared() {
        probe.set_opcode(Arch::opcode(prepared));
    }
    if probe.has_post_or_jprobe() {
        // A hit by a jump calls no post handler, so the jump is removed first.
        change.remove_jumps(&mut [point].into_iter());
    }
    if probe.is_jprobe() {
        point.had_jprobe.set(true);
        point.probes.add_tail(probe);
    } else {
        point.probes.push(probe);
    }
    Ok(None)
}

/// Refuses a probe that is registered, here or at the address that it has still, and warns of it.
/// Returns the point here.
fn refuse_registered<'a>(
    points: &'a Points,
    at: TextAddr,
    probe: &Probe,
) -> Result<Option<PointRef<'a>>, Refusal> {
    let point = points.get(at);
    if points.of(probe).is_ok() || point.is_some_and(|point| point.probes.has(probe)) {
        report::registered_twice();
        return Err(Refusal::AlreadyRegistered);
    }
    Ok(point)
}

/// Checks whether a point that has probes can have this one, too.
fn can_share(change: &mut Change<'_>, point: PointRef<'_>, probe: &Probe) -> Result<(), Refusal> {
    let is_other = |other: &Probe| other.is_jprobe() && !other.is(Flag::Gone);
    if !probe.is_jprobe() {
        Ok(())
    } else if point.probes.iter().any(is_other) {
        Err(Refusal::SecondJprobe)
    } else if probe.is_enabled() {
        change.hold_ipmodify(point)
    } else {
        Ok(())
    }
}

/// Returns the kind of a new point. If `start` is `None`, ftrace will hit the point. Otherwise
/// prepares the instruction: proves that one starts at `at`, decides how it is executed, and fills
/// its slot.
fn prepare_insn(
    change: &mut Change<'_>,
    at: TextAddr,
    start: Option<check::KnownStart>,
    probe: &Probe,
) -> Result<PointKind, Refusal> {
    let Some(check::KnownStart { start, function }) = start else {
        return Ok(PointKind::Ftrace);
    };
    let points = change.points;
    let text_lock = change.text_lock.get_or_insert_with(text::Lock::new);
    let mut read = |from: TextAddr, code: &mut [u8]| points.read_original_insn(from, code);
    Arch::check_boundary(start, at, &mut read)?;
    let prepared = Arch::prepare(at, function, text::has_fixup(at), &mut read, text_lock)?;
    probe.set_opcode(Arch::opcode(&prepared));
    Ok(PointKind::Breakpoint(prepared))
}

/// Arms the point of a new enabled probe: by ftrace at once, by a breakpoint with the others of the
/// chunk.
fn arm_or_defer(
    registry: &mut Registry,
    at: TextAddr,
    probe: &Probe,
    chunk: &mut Chunk,
) -> Result<(), Refusal> {
    let is_wanted = !registry.all_disarmed && probe.is_enabled();
    let mut change = registry.change();
    let point = change.points.of(probe)?;
    match point.kind {
        _ if !is_wanted => Ok(()),
        PointKind::Ftrace => change.arm_by_ftrace(point),
        PointKind::Breakpoint(_) => Ok(chunk.to_arm.push(at.get(), GFP_KERNEL)?),
    }
}

/// Refuses a probe that is not on the entry of a function, or is registered.
pub(crate) fn check_entry(points: &Points, probe: &Probe, addr: ProbeAddr) -> Result<(), Refusal> {
    if !addr.on_entry {
        return Err(Refusal::NotOnEntry);
    }
    refuse_registered(points, addr.at, probe).map(drop)
}
