// SPDX-License-Identifier: GPL-2.0

//! What the modules of this kernel use.

pub(crate) use crate::{
    bindings::{callback_head, llist_head, task_struct},
    events::{Event, Lock},
    faults::Call,
    page::PAGE_SIZE,
    prelude::*,
    text::Write,
    *,
};
pub(crate) use core::{
    any::type_name,
    hint::black_box,
    ops::{Deref, DerefMut, Range},
    ptr::null_mut,
    sync::atomic::{Ordering::Relaxed, *},
};
pub(crate) use std::{
    alloc::Layout,
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};
