// SPDX-License-Identifier: GPL-2.0

//! Return probes, in place of `kernel/trace/rethook.c` and the end of `kernel/kprobes.c`.
//!
//! A return probe is a probe on the entry of a function: a client of [`crate::lifecycle`]. A hit of
//! the entry takes a *return instance* from the pool of the probe, saves the return address
//! there, and replaces it by the address of a trampoline.
//!
//! Pure code, which the model checker runs as well:
//!
//! - [`bitmap`]: the free instances of a block, and the search through all blocks;
//! - [`growth`]: the number of instances that a pool needs, and the size of its blocks;
//! - [`stage`]: the stages from the owner of a pool to its end.
//!
//! Data with pointers:
//!
//! - [`instance`]: C's `struct kretprobe_instance`, and the list of a task's instances;
//! - [`probe`]: C's `struct kretprobe`;
//! - [`pool`]: the pool of a probe, and its blocks; [`pools`]: all pools, and the worker;
//! - [`abi`]: the interface to C; `returns.c` and `glue.h` are the C side.
//!
//! The operations:
//!
//! - [`hit`]: the entry of a function, and its return;
//! - [`register`]: registration, and its end.
//!
//! # The pool
//!
//! Instances are in *blocks* of up to 47. Each CPU owns a block: the CPU takes instances from its
//! own block, and an instance is given back to the block that it is part of. So in the common case
//! no two CPUs write to the same cache line, and memory grows with the instances, not with CPUs
//! times instances as in `lib/objpool.c`. A CPU whose block has no free instance claims a block
//! with one that no CPU owns, and gives the old block up. If there is none, the CPU takes an
//! instance from any block. No call is lost while an instance is free, unless other CPUs are faster
//! 16 times: see [`bitmap`]. This takes no lock: an interrupt or an NMI in the middle may give
//! instances back. The entries that it hits are missed.
//!
//! A hit looks at each block once to claim it, and at most 16 times to take an instance. Blocks
//! have many instances, even if a client keeps much data: 5,000 are in at most about 220.
//!
//! A worker adds blocks to a pool that loses calls, or that has hardly any free instance left.

pub(crate) mod abi;
mod bitmap;
mod growth;
mod hit;
mod instance;
mod pool;
pub(crate) mod pools;
mod probe;
mod register;
mod stage;

// Names that the files of this folder use: they begin with `use super::*`.
use crate::{
    arch::Arch,
    atomics::{
        AtomicBool,
        AtomicI32,
        AtomicPtr,
        AtomicUsize,
        Ordering, //
    },
    contract::{
        Machine,
        Returns, //
    },
    sys::{
        lock::{
            Guarded,
            Mutex, //
        },
        preempt,
        prelude::*,
        probe::{
            assert_same_layout,
            ClientStruct,
            PreHandlerFn,
            Probe, //
        },
        report,
        this_cpu, //
    }, //
};
use bitmap::{
    Bitmap,
    Ticket, //
};
use core::{
    cell::Cell,
    mem::{
        offset_of,
        ManuallyDrop, //
    },
    ptr::NonNull, //
};
use growth::{
    Lost,
    Totals,
    LINE, //
};
use instance::{
    Instance,
    Link,
    Taken,
    TaskInstances, //
};
use pool::{
    Block,
    Pool, //
};
use probe::{
    ReturnProbe,
    ReturnProbePtr, //
};
use stage::PoolStage;

/// Returns whether this probe is the entry of a return probe.
pub(crate) fn is_return_probe(probe: &Probe) -> bool {
    ReturnProbe::with_entry(probe).is_some()
}

/// Returns whether `is_freed` holds for a handler of the return probe that has this entry.
pub(crate) fn uses_freed(entry: &Probe, is_freed: impl Fn(TextAddr) -> bool) -> bool {
    ReturnProbe::with_entry(entry).is_some_and(|probe| probe.uses_freed(is_freed))
}

/// Gives up the pool of the return probe that this probe is the entry of, if any. A grace period
/// later no handler of the return probe is called any more.
pub(crate) fn leave_pool(entry: &Probe) {
    if let Some(probe) = ReturnProbe::with_entry(entry) {
        probe.leave_pool();
    }
}

/// Asks the worker to look at the pools soon. May be called from any context.
#[cold]
fn queue_service() {
    // SAFETY: Any context may call this function, as it only queues irq work.
    unsafe { bindings::rust_kprobes_queue_service() };
}
