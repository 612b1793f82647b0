// SPDX-License-Identifier: GPL-2.0

//! The registry of all probe points.
//!
//! A hit finds its point by address ([`points::find`]) and takes no lock. Code that changes a point
//! locks the [`Registry`]. A function that acts on one point takes a
//! [`PointRef`](points::PointRef); a function that needs several parts of the registry is a method
//! of [`Change`].
//!
//! - [`prelude`]: names that the modules above use;
//! - [`points`]: the data of a point, and the table of all points;
//! - `optimizer`: the jump of a point, and the optimizer's state;
//! - `queue`: the points that will get or lose a jump;
//! - [`recover`]: the original code under our breakpoints and jumps;
//! - [`batch_cache`]: the lookups and proofs of a batch, for its next probes;
//! - [`refused`]: the latest registrations that failed.
//!
//! C counterpart: `kprobe_table` and `kprobe_mutex` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

// The KUnit macro expands to unsafe code, which `forbid` would reject.
#![cfg_attr(not(CONFIG_RUST_KPROBES_KUNIT_TEST), forbid(unsafe_code))]

pub(crate) mod batch_cache;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod optimizer;
pub(crate) mod points;
pub(crate) mod prelude;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
pub(crate) mod queue;
pub(crate) mod recover;
pub(crate) mod refused;

use crate::{
    sys::{
        blacklist,
        ftrace,
        lock::{
            Guard,
            Guarded,
            Mutex, //
        },
        text, //
    },
    text_metadata::Images, //
};
use batch_cache::BatchCache;
#[cfg(CONFIG_RUST_KPROBES_JUMPS)]
use optimizer::Optimizer;
use points::Points;

static REGISTRY: Guarded<Registry> = Guarded::new(
    Mutex::REGISTRY,
    Registry {
        points: Points::new(),
        #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
        optimizer: Optimizer::EMPTY,
        ftrace: ftrace::Users::EMPTY,
        images: Images::EMPTY,
        blacklisted_modules: blacklist::Modules::EMPTY,
        refused: refused::Log::EMPTY,
        all_disarmed: false,
    },
);

/// The probe points, and the data that all of them share.
pub(crate) struct Registry {
    /// The probe points.
    pub(crate) points: Points,
    /// The points that wait for jumps, and the worker that writes the jumps.
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) optimizer: Optimizer,
    /// Our two users of ftrace.
    pub(crate) ftrace: ftrace::Users,
    /// Text metadata: the kernel's tables about its text.
    pub(crate) images: Images,
    /// The modules that have blacklisted functions.
    pub(crate) blacklisted_modules: blacklist::Modules,
    /// The latest registrations that failed.
    pub(crate) refused: refused::Log,
    /// Whether all probes are disarmed, by `kprobes/enabled` in debugfs.
    pub(crate) all_disarmed: bool,
}

/// A change of probe points: the parts of the registry that arming and optimizing need. The points
/// are shared, so that handles of them live as long as the change.
pub(crate) struct Change<'a> {
    /// The probe points.
    pub(crate) points: &'a Points,
    /// See [`Registry::optimizer`].
    #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
    pub(crate) optimizer: &'a mut Optimizer,
    /// See [`Registry::ftrace`].
    pub(crate) ftrace: &'a mut ftrace::Users,
    /// See [`Registry::images`].
    pub(crate) images: &'a mut Images,
    /// The cache of the change. `lifecycle::arming::Chunk::arm()` puts its own here.
    pub(crate) cache: BatchCache,
    /// The lock of the kernel's text, taken when text is first written or decoded.
    pub(crate) text_lock: Option<text::Lock>,
}

impl Registry {
    /// Locks the registry.
    pub(crate) fn lock() -> Guard<'static, Self> {
        REGISTRY.lock()
    }

    /// Begins a change.
    pub(crate) fn change(&mut self) -> Change<'_> {
        Change {
            points: &self.points,
            #[cfg(CONFIG_RUST_KPROBES_JUMPS)]
            optimizer: &mut self.optimizer,
            ftrace: &mut self.ftrace,
            images: &mut self.images,
            cache: BatchCache::new(),
            text_lock: None,
        }
    }
}
