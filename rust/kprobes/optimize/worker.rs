// SPDX-License-Identifier: GPL-2.0

//! The optimizer's worker, and the sysctl `debug.kprobes-optimization`.
//!
//! C counterpart: `kprobe_optimizer()` and `proc_kprobes_optimization_handler()` in
//! [`kernel/kprobes.c`](srctree/kernel/kprobes.c).

use super::remove::{
    undo_redirect,
    Each, //
};
use crate::{
    model::opt_state::Wait,
    registry::{
        optimizer::MAX_READY,
        prelude::*, //
    },
    sys::{
        sort,
        text,
        worker, //
    }, //
};
use core::mem::take;
use kernel::prelude::*;

/// Runs a pass of the worker.
pub(crate) fn pass() {
    let (wait, short) = {
        let optimizer = &mut Registry::lock().optimizer;
        (optimizer.queue.begin_wait(), take(&mut optimizer.retry))
    };
    if wait.is_some() || short {
        worker::wait_for_tasks();
    }
    if let Some(wait) = wait {
        while write_jumps(&wait) {}
    }
    if short {
        Registry::lock().change().try_to_optimize_all();
    }
}

/// Writes the jumps of up to [`MAX_READY`] points whose wait is over. Returns whether there may be
/// more.
fn write_jumps(wait: &Wait) -> bool {
    let Registry {
        points, optimizer, ..
    } = &mut *Registry::lock();
    let mut count = 0;
    while let Some(room) = optimizer.ready.get_mut(count) {
        let Some(at) = optimizer.queue.pop_waited(wait, points) else {
            break;
        };
        let Some(point) = points.get(at) else {
            continue;
        };
        // A point leaves the queue when something prevents its jump. Check again, because a jump
        // over a breakpoint would be fatal.
        if optimizer.allowed && points.may_jump(point) {
            optimizer.queue.set_optimized(at, points);
            points.count_jumps(1);
            *room = at.get();
            count += 1;
        } else {
            undo_redirect(point);
        }
    }
    let ready = optimizer.ready.get_mut(..count).unwrap_or_default();
    if ready.is_empty() {
        return false;
    }
    sort::ascending(ready);
    let addresses = || ready.iter().map(|&at| TextAddr::new(at));
    let detours = |each: &mut Each<'_>| points.each_detour(&mut addresses(), each);
    Arch::optimize(&detours, &mut text::Lock::new());
    count == MAX_READY
}

/// Waits until no point waits for its jump.
pub(crate) fn flush() {
    while !Registry::lock().optimizer.queue.is_empty() {
        worker::wait_for_pass();
    }
}

/// Allows jumps, or forbids them and removes all jumps before it returns.
pub(crate) fn allow(on: bool) {
    let registry = &mut *Registry::lock();
    if registry.optimizer.allowed == on {
        return;
    }
    registry.optimizer.allowed = on;
    if on {
        registry.change().try_to_optimize_all();
        pr_info!("kprobe jump-optimization is enabled. All kprobes are optimized if possible.\n");
    } else {
        let mut change = registry.change();
        let mut points = change.points.iter().peekable();
        while points.peek().is_some() {
            change.remove_jumps(&mut points.by_ref().take(MAX_READY));
        }
        pr_info!(
            "kprobe jump-optimization is disabled. All kprobes are based on software breakpoint.\n"
        );
    }
}
