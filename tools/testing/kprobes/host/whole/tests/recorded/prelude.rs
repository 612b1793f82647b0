// SPDX-License-Identifier: GPL-2.0

//! What the tests here use.

pub(crate) use crate::{
    c,
    client::{
        self,
        Client, //
    },
    cpu::{
        self,
        Lost,
        JUMP,
        MOVE,
        STEPPED, //
    },
    world::World, //
};
#[cfg(not(miri))]
pub(crate) use crate::{
    files,
    optimize,
    stepping, //
};
pub(crate) use core::{
    cell::{
        Cell,
        UnsafeCell, //
    },
    ffi::{
        c_int,
        c_void, //
    },
    ops::Range,
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        AtomicPtr,
        AtomicU64,
        AtomicUsize,
        Ordering::Relaxed, //
    }, //
};
pub(crate) use kernel::{
    alloc,
    bindings::{
        self,
        jprobe,
        kprobe,
        kprobe_no_jump,
        kretprobe,
        kretprobe_instance,
        llist_node,
        module,
        pt_regs,
        pt_regs__bindgen_ty_1,
        pt_regs__bindgen_ty_2,
        rethook,
        seq_file,
        task_struct, //
    },
    context,
    events::{
        self,
        Event,
        Lock, //
    },
    faults::{
        self,
        Call,
        Obstacle, //
    },
    ftrace,
    modules::{
        self,
        Layout, //
    },
    perf::{
        self,
        Record, //
    },
    prelude::*,
    rcu_tasks,
    tasks::{
        self,
        Task, //
    },
    text,
    worker, //
};
pub(crate) use std::sync::{
    Mutex,
    MutexGuard,
    Once, //
};
