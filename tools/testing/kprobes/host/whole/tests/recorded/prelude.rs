// SPDX-License-Identifier: GPL-2.0

//! What the tests here use.

pub(crate) use crate::{
    c,
    client::{self, Client},
    cpu::{self, Lost, JUMP, MOVE, STEPPED},
    files, optimize, stepping,
    world::{self, World},
};
pub(crate) use core::{
    cell::{Cell, UnsafeCell},
    ops::Range,
    ptr::NonNull,
    sync::atomic::{Ordering::Relaxed, *},
};
pub(crate) use kernel::{
    bindings::*,
    events::{Event, Lock},
    faults::{Call, Obstacle},
    modules::Layout,
    perf::Record,
    prelude::*,
    tasks::Task,
    *,
};
pub(crate) use std::sync::{Mutex, MutexGuard, Once};
