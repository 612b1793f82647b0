// SPDX-License-Identifier: GPL-2.0

//! Jumps in the place of breakpoints: which places get one, when, and how they lose it.
//!
//! A place that is armed gets a detour, once, if there can be one. It is queued if nothing stands
//! against a jump now: a handler after the instruction, a breakpoint in what the jump would be
//! over, or the switch. From then on its hits go to the detour. The worker waits until no task can
//! be in what the jumps are to be over, then looks at every place anew and writes the jumps.
//!
//! While it waits it holds no lock, and anything may happen to the places. So the wait counts for a
//! place only if it was queued before, and has been so ever since.
//!
//! Whatever comes that a jump cannot stay with takes it out there and then, all of a batch with two
//! rounds to all CPUs. What has gone again leads here once more: [`reconsider`].
//!
//! C counterpart: `kprobe_optimizer()`, `optimize_kprobe()` and `unoptimize_kprobe()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

mod lately;
mod make;
mod uncover;
mod why;

pub(crate) use make::{
    consider_with,
    LastTargets, //
};
pub(crate) use uncover::uncover;
#[cfg(CONFIG_DEBUG_FS)]
pub(crate) use why::why_not;
pub(crate) use why::why_not_of;

use super::{
    arm::Place,
    site::{
        self,
        Armed,
        Prepared,
        Registry,
        Site, //
    },
    symbol_cache::SymbolCache, //
};
use crate::{
    arch::Current,
    contract::Detour,
    model::opt_state::{
        Leave,
        Period,
        Worker, //
    },
    prelude::*,
    shared::optimizing::{
        Node,
        Queue, //
    },
    sys::{
        lock::Lock,
        sort,
        text,
        worker::{
            self,
            Passes, //
        }, //
    },
    table::Writer,
    text::Images, //
};
use core::{
    mem::take,
    sync::atomic::{
        AtomicUsize,
        Ordering, //
    }, //
};
use kernel::{
    prelude::*,
    sync::SetOnce, //
};

type Made = <Current as Detour>::Detour;

/// What a place with a detour has.
struct Jump {
    node: Node,
    /// Where its jump leads.
    detour: Made,
}

/// How many places have a jump. Who changes it has locked the registry.
static JUMPS: AtomicUsize = AtomicUsize::new(0);

/// How many jumps are written before others get their turn, which is how many the kernel writes at
/// once.
const BATCH: usize = 256;

/// What a place has of all this: its jump, or why there is none. Decided when it is first asked
/// for. In memory of its own, which places without a breakpoint have no need of.
pub(crate) struct OfSite(SetOnce<KBox<Result<Jump, NotOptimized>>>);

impl OfSite {
    /// It has its breakpoint, or nothing.
    pub(crate) fn new() -> Self {
        Self(SetOnce::new())
    }

    /// Has it a jump, or will it have one, if nothing comes in between?
    pub(crate) fn is_optimized(&self) -> bool {
        let jump = self.jump();
        jump.is_some_and(|jump| jump.node.state().is_optimized())
    }

    fn decided(&self) -> Option<&Result<Jump, NotOptimized>> {
        self.0.as_ref().map(|decided| &**decided)
    }

    fn jump(&self) -> Option<&Jump> {
        self.decided()?.as_ref().ok()
    }

    fn detour(&self) -> Option<&Made> {
        self.jump().map(|jump| &jump.detour)
    }
}

/// Finds what the place at an address keeps of its way to a jump.
fn nodes<'a>(sites: &'a Writer<Site>) -> impl Fn(TextAddr) -> Option<&'a Node> {
    |at| {
        let jump = sites.get(at)?.jump.jump();
        jump.map(|jump| &jump.node)
    }
}

/// What the registry has of all this.
pub(crate) struct Optimizer {
    queue: Queue,
    worker: Worker,
    /// Are there to be jumps?
    allowed: bool,
    /// Has a place no detour for want of what others wait to give back?
    short: bool,
    /// Why those have none that are not decided about.
    lately: lately::Lately,
    /// Where the worker puts together what it writes at once.
    ready: [u64; BATCH],
}

impl Optimizer {
    /// No jumps: not before the worker can run.
    pub(crate) const NEW: Self = Self {
        queue: Queue::EMPTY,
        worker: Worker::Idle,
        allowed: false,
        short: false,
        lately: lately::Lately::NONE,
        ready: [0; BATCH],
    };

    /// A place leaves the queue at once; its jump is to be taken out.
    fn leave(&mut self, sites: &Writer<Site>, at: TextAddr) {
        match self.queue.leave(at, &nodes(sites)) {
            Leave::Undivert => undivert(sites, at),
            Leave::Nothing | Leave::TakeOut => (),
        }
    }

    /// Takes out the jumps that are to be.
    fn take_out(&mut self, sites: &Writer<Site>, text: &mut text::Lazy) {
        let nodes = nodes(sites);
        if self.queue.leaving(&nodes).next().is_none() {
            return;
        }
        let leaving = || self.queue.leaving(&nodes);
        let tell = |each: &mut Each<'_>| tell(sites, &mut leaving(), each);
        Current::unoptimize(&tell, text.get());
        // Until here a hit that went on in the text would have found the jump's tail.
        while let Some(at) = self.queue.left(&nodes) {
            JUMPS.fetch_sub(1, Ordering::Relaxed);
            undivert(sites, at);
        }
    }
}

/// What is told of places whose text is to change.
type Each<'a> = dyn FnMut(TextAddr, &Prepared, &Made) + 'a;

fn tell(sites: &Writer<Site>, places: &mut dyn Iterator<Item = TextAddr>, each: &mut Each<'_>) {
    for at in places {
        let site = sites.get(at);
        if let Some((prepared, detour)) =
            site.and_then(|site| Some((site.prepared()?, site.jump.detour()?)))
        {
            each(at, prepared, detour);
        }
    }
}

fn undivert(sites: &Writer<Site>, at: TextAddr) {
    if let Some(prepared) = sites.get(at).and_then(Site::prepared) {
        Current::divert(prepared, None);
    }
}

/// The places whose jumps would be over `at`.
fn over(sites: &Writer<Site>, at: TextAddr) -> impl Iterator<Item = Place<'_>> {
    let before = (1..Current::REACH).filter_map(move |distance| at.before(distance).ok());
    before.filter_map(|at| Some((at, sites.get(at)?)))
}

/// A breakpoint in what the jump at `at` would be over.
fn inside(sites: &Writer<Site>, at: TextAddr) -> Option<TextAddr> {
    let mut inside = (1..Current::REACH).filter_map(|distance| at.after(distance).ok());
    inside.find(|&at| {
        let site = sites.get(at);
        site.is_some_and(|site| site.armed() == Armed::Breakpoint)
    })
}

/// Does nothing stand against a jump now?
fn may_jump(sites: &Writer<Site>, (at, site): Place<'_>) -> bool {
    site.armed() == Armed::Breakpoint && !site.probes.comes_back() && inside(sites, at).is_none()
}

/// Breakpoints are about to be written at these addresses: what is in the way leaves.
pub(crate) fn make_room(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
) {
    for (at, _) in addresses.flat_map(|at| over(sites, at)) {
        optimizer.leave(sites, at);
    }
    optimizer.take_out(sites, text);
}

/// These places are to have no jump.
pub(crate) fn leave(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
) {
    for at in addresses {
        optimizer.leave(sites, at);
    }
    optimizer.take_out(sites, text);
}

/// The text of a place is no more, or the place goes: nobody writes there, and who comes to its
/// detour so late finds nobody.
pub(crate) fn forget(sites: &Writer<Site>, optimizer: &mut Optimizer, at: TextAddr) {
    if let Some(jump) = sites.get(at).and_then(|site| site.jump.jump()) {
        Current::direct(&jump.detour, None);
        if jump.node.state().has_jump() {
            JUMPS.fetch_sub(1, Ordering::Relaxed);
        }
    }
    optimizer.queue.forget(at, &nodes(sites));
    optimizer.lately.forget(at);
}

/// Queues those of these places that may have a jump.
pub(crate) fn consider(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    images: &mut Images,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
) {
    let cache = &mut SymbolCache::new();
    consider_with(sites, optimizer, images, cache, text, addresses);
}

/// The same, for all places in text that `is` chooses.
pub(crate) fn consider_all(registry: &mut Registry, is: impl Fn(TextAddr) -> bool) {
    let Registry {
        sites,
        optimizer,
        images,
        ..
    } = registry;
    let all = &mut sites.iter().map(|(at, _)| at).filter(|&at| is(at));
    consider(sites, optimizer, images, &mut text::Lazy::new(), all);
}

/// The same, for places that something has changed at, and for those whose jumps would be over
/// them.
pub(crate) fn reconsider(
    sites: &Writer<Site>,
    optimizer: &mut Optimizer,
    images: &mut Images,
    text: &mut text::Lazy,
    addresses: &mut dyn Iterator<Item = TextAddr>,
) {
    let before = |at| over(sites, at).map(|(at, _)| at);
    let all = addresses.flat_map(|at| Iterator::chain(before(at), [at]));
    consider(sites, optimizer, images, text, &mut { all });
}

/// A pass of the worker.
pub(crate) fn pass() {
    let (period, short) = {
        let mut lock = Lock::new();
        let optimizer = &mut site::registry(&mut lock).optimizer;
        optimizer.worker.begin();
        (optimizer.queue.begin(), take(&mut optimizer.short))
    };
    if period.is_some() || short {
        worker::wait_for_tasks();
    }
    if let Some(period) = period {
        while patch(&period) {}
    }
    if short {
        consider_all(site::registry(&mut Lock::new()), |_| true);
    }
    worker::pass_is_over();
}

/// Writes the jumps of some places that were waited for; are there more?
fn patch(period: &Period) -> bool {
    let mut lock = Lock::new();
    let Registry {
        sites, optimizer, ..
    } = site::registry(&mut lock);
    let (nodes, mut count) = (nodes(sites), 0);
    while let Some(place) = optimizer.ready.get_mut(count) {
        let Some(counted) = optimizer.queue.next(period, &nodes) else {
            break;
        };
        let at = counted.at();
        // What stands against a jump has made the place leave. A jump is worth a second look.
        let may_jump = |site| optimizer.allowed && may_jump(sites, (at, site));
        if sites.get(at).is_some_and(may_jump) {
            counted.jump(&nodes);
            JUMPS.fetch_add(1, Ordering::Relaxed);
            *place = at.get();
            count += 1;
        } else {
            undivert(sites, at);
        }
    }
    let ready = optimizer.ready.get_mut(..count).unwrap_or_default();
    if ready.is_empty() {
        return false;
    }
    sort::ascending(ready);
    let places = || ready.iter().map(|&at| TextAddr::new(at));
    let tell = |each: &mut Each<'_>| tell(sites, &mut places(), each);
    Current::optimize(&tell, &mut text::Lock::new());
    count == BATCH
}

/// Returns when no place waits for its jump.
pub(crate) fn flush() {
    loop {
        let passes = Passes::now();
        {
            let mut lock = Lock::new();
            let optimizer = &mut site::registry(&mut lock).optimizer;
            if optimizer.queue.is_empty() {
                return;
            }
            worker::tell(optimizer.worker.flush());
        }
        passes.wait_for_more();
    }
}

/// Are there to be jumps?
pub(crate) fn is_allowed() -> bool {
    site::registry(&mut Lock::new()).optimizer.allowed
}

/// Says whether there are to be jumps. If not, there are none any more when this returns.
pub(crate) fn allow(on: bool) {
    let mut lock = Lock::new();
    let registry = site::registry(&mut lock);
    if registry.optimizer.allowed == on {
        return;
    }
    registry.optimizer.allowed = on;
    if on {
        consider_all(registry, |_| true);
        pr_info!("kprobe jump-optimization is enabled. All kprobes are optimized if possible.\n");
    } else {
        let Registry {
            sites, optimizer, ..
        } = registry;
        let all = &mut sites.iter().map(|(at, _)| at);
        leave(sites, optimizer, &mut text::Lazy::new(), all);
        pr_info!(
            "kprobe jump-optimization is disabled. All kprobes are based on software breakpoint.\n"
        );
    }
}
