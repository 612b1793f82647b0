// SPDX-License-Identifier: GPL-2.0

//! The names that nearly every file above the registry uses.

pub(crate) use super::{
    points::{
        ArchInsn,
        Kind,
        Point,
        PointRef,
        Points, //
    },
    Change,
    Registry, //
};
pub(crate) use crate::{
    arch::Current,
    contract::{
        Detour,
        Isa,
        Machine, //
    },
    prelude::*,
    sys::{
        flags::Armed,
        lock::Lock,
        preempt::{
            Context,
            Pinned, //
        },
        probe::{
            Flag,
            Probe, //
        },
        Registers, //
    }, //
};
