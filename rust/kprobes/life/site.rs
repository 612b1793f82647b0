// SPDX-License-Identifier: GPL-2.0

//! A probed place, whatever the number of probes there, and the registry of all of them.
//!
//! Who handles a hit looks a place up by [`find`] and sees it as long as the hit lasts. Who changes
//! anything holds the registry's lock, and gets at the [`Registry`] through it.

pub(crate) use crate::shared::armed::Armed;

use super::{
    optimize,
    refused, //
};
use crate::{
    arch::Current,
    contract::Machine,
    prelude::*,
    shared::armed::State,
    sys::{
        blacklist,
        ftrace,
        lock::{
            Guarded,
            Lock, //
        },
        preempt::Pinned,
        probe::{
            Chain,
            Probe, //
        }, //
    },
    table::{
        Table,
        Writer, //
    },
    text::Images, //
};
use core::sync::atomic::{
    AtomicBool,
    Ordering, //
};

/// What it takes to break at a place and to carry out its instruction.
pub(crate) type Prepared = <Current as Machine>::Prepared;

/// How a place is hit.
pub(crate) enum Way {
    /// By a breakpoint.
    Breakpoint(Prepared),
    /// By a call that the compiler has left room for.
    Ftrace,
}

/// A probed place. How it is hit comes first, so that a hit needs one register for both.
#[repr(C)]
pub(crate) struct Site {
    /// How it is hit.
    pub(crate) way: Way,
    /// The probes there.
    pub(crate) probes: Chain,
    armed: State,
    guarded: AtomicBool,
    gone: AtomicBool,
    had_jprobe: AtomicBool,
    /// Its way to a jump.
    pub(crate) jump: optimize::OfSite,
}

// There is one for each probe.
const _: () = assert!(size_of::<Site>() <= size_of::<Way>() + 48);

impl Site {
    /// A place that is not armed, with its first probe.
    pub(crate) fn new(way: Way, first: &'static Probe) -> Self {
        Self {
            had_jprobe: AtomicBool::new(first.is_jprobe()),
            probes: Chain::of(first),
            way,
            armed: State::new(),
            guarded: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            jump: optimize::OfSite::new(),
        }
    }

    /// What makes it be hit.
    pub(crate) fn armed(&self) -> Armed {
        self.armed.get()
    }

    /// Is this what makes it be hit?
    #[inline(always)]
    pub(crate) fn is_armed(&self, armed: Armed) -> bool {
        self.armed.is(armed)
    }

    /// Notes what makes it be hit.
    pub(crate) fn set_armed(&self, armed: Armed) {
        self.armed.set(armed);
    }

    /// Does ftrace call the user that changes where it goes on as well, so that nobody else does?
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    /// Notes whether it does.
    pub(crate) fn set_guarded(&self, guarded: bool) {
        self.guarded.store(guarded, Ordering::Relaxed);
    }

    /// Is the text that it was in no more?
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Notes that the text is no more.
    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Has there ever been a jprobe? Then a CPU may be in its handler whose hit no breakpoint, and
    /// no call of ftrace, tells of any more.
    pub(crate) fn had_jprobe(&self) -> bool {
        self.had_jprobe.load(Ordering::Relaxed)
    }

    /// Notes that one comes.
    pub(crate) fn note_jprobe(&self) {
        self.had_jprobe.store(true, Ordering::Relaxed);
    }

    /// Is it hit through ftrace?
    pub(crate) fn is_ftrace(&self) -> bool {
        matches!(self.way, Way::Ftrace)
    }

    /// What it takes to break here, if that is how it is hit.
    pub(crate) fn prepared(&self) -> Option<&Prepared> {
        match &self.way {
            Way::Breakpoint(prepared) => Some(prepared),
            Way::Ftrace => None,
        }
    }

    /// Is any of its probes to be called?
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_gone() && self.probes.iter().any(Probe::is_enabled)
    }
}

static SITES: Table<Site> = Table::empty();
static REGISTRY: Guarded<Registry, Lock> = Guarded::new(Registry {
    sites: Writer::of(&SITES),
    disarmed: false,
    ftrace: ftrace::Users::NONE,
    optimizer: optimize::Optimizer::NEW,
    images: Images::NONE,
    modules: blacklist::Modules::NONE,
    refused: refused::Log::EMPTY,
});

/// Which probes there are, and what goes for all of them.
pub(crate) struct Registry {
    /// The probed places.
    pub(crate) sites: Writer<Site>,
    /// Is nothing to be armed?
    pub(crate) disarmed: bool,
    /// How many places are hit through ftrace.
    pub(crate) ftrace: ftrace::Users,
    /// The places on their way to jumps.
    pub(crate) optimizer: optimize::Optimizer,
    /// What is known of text.
    pub(crate) images: Images,
    /// The modules with functions that nobody may probe.
    pub(crate) modules: blacklist::Modules,
    /// What was refused of late.
    pub(crate) refused: refused::Log,
}

/// The place at an address, while the caller stays on the CPU.
#[inline(always)]
pub(crate) fn find(at: TextAddr, pinned: &Pinned) -> Option<&Site> {
    SITES.find(at, pinned)
}

/// The registry, while its lock is held.
pub(crate) fn registry(lock: &mut Lock) -> &mut Registry {
    REGISTRY.get(lock)
}
